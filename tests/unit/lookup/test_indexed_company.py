"""The searched data of a company, and the choice among several companies."""

from datetime import date

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Employees, Status
from lookup.search.indexed_company import (
    AddressType,
    NameType,
    indexed_core,
    order_of,
    rank_order,
    searched_core,
)
from register_store.documents import Rank, dump, rank_of
from tests.builders.companies import a_company, an_address


def a_rank(
    *,
    status: Status = Status.ACTIVE,
    employees: int = 10,
    founded: date | None = date(1990, 1, 1),
    number: int = 20_000_000,
    is_foreign: bool = False,
) -> Rank:
    return Rank(status, employees, founded, number, is_foreign)


def test_the_weight_of_a_kind_decides_between_exact_names() -> None:
    ended, active = rank_order(a_rank(status=Status.ENDED)), rank_order(a_rank())

    assert order_of(NameType.CURRENT, ended) > order_of(NameType.TRADE, active)
    assert order_of(NameType.TRADE, ended) > order_of(NameType.FORMER, active)
    assert order_of(AddressType.BUSINESS, ended) > order_of(AddressType.POSTAL, active)


@pytest.mark.parametrize(
    "better,worse",
    [
        (a_rank(employees=0), a_rank(status=Status.BANKRUPT)),
        (a_rank(status=Status.BANKRUPT, employees=0), a_rank(status=Status.ENDED)),
        (a_rank(employees=11, founded=None), a_rank(employees=10)),
        (a_rank(founded=date(1899, 5, 1), number=99_999_999), a_rank()),
        (a_rank(number=99_999_999), a_rank(founded=None)),
        (a_rank(number=20_000_000), a_rank(number=20_000_001)),
        (a_rank(number=810_000_000), a_rank(number=999_999_999)),
        (a_rank(number=999_999_998), a_rank(number=999_999_999)),
        (a_rank(employees=0), a_rank(is_foreign=True)),
        (a_rank(is_foreign=True), a_rank(status=Status.ENDED)),
    ],
)
def test_equal_matches_are_ranked_active_larger_older_lower(better: Rank, worse: Rank) -> None:
    assert rank_order(better) > rank_order(worse)


@given(
    st.integers(0, 40_000),
    st.one_of(st.none(), st.dates(date(1500, 1, 1), date(2400, 1, 1))),
    st.integers(0, 999_999_999),
    st.sampled_from(list(Status)),
)
def test_every_rank_fits_into_64_bits(
    employees: int, founded: date | None, number: int, status: Status
) -> None:
    rank = Rank(status=status, employees=employees, founded=founded, number=number)

    assert 0 <= order_of(NameType.CURRENT, rank_order(rank)) < 2**64


def test_a_company_is_searched_by_all_its_names_and_places() -> None:
    company = a_company(
        name="Nordlys ApS",
        trade_names=("Lyset",),
        former_names=("Aurora ApS",),
        postal_address=an_address("Postboks 7, 1112 København K"),
        employees=Employees(min=20, max=49),
        founded="1999-11-15",
    )

    indexed = indexed_core(dump(company))

    assert indexed.names == (
        ("Nordlys ApS", NameType.CURRENT),
        ("Lyset", NameType.TRADE),
        ("Aurora ApS", NameType.FORMER),
    )
    assert [address.type for address in indexed.addresses] == list(AddressType)
    assert indexed.rank == Rank(Status.ACTIVE, 20, date(1999, 11, 15), 12345674)


@pytest.mark.parametrize("founded", [None, "1999-02-30"])
def test_a_company_without_a_possible_founding_day_has_none(founded: str | None) -> None:
    company = a_company(founded=founded)

    assert indexed_core(dump(company)).rank.founded is None
    assert rank_of(company).founded is None


@pytest.mark.parametrize(
    "stored, searched",
    [
        ({"former_names": []}, ["Held"]),
        ({}, ["Held"]),  # as an earlier release stored it
        ({"former_names": ["Told"]}, ["Told"]),
        ({"remarks": [{"former_names": []}], "former_names": []}, ["Held"]),
    ],
)
def test_held_names_are_searched_where_the_register_lists_no_former_ones(
    stored: dict[str, object], searched: list[str]
) -> None:
    core = orjson.loads(searched_core(orjson.dumps(stored), ["Held"]))

    assert core == {**stored, "former_names": searched}
