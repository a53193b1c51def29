"""Lookups: the matching company and its alternatives."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from common.contracts.company import Alternative, CompanyKey, Country, Include, UnitKey
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.runtime.tasks import beside
from lookup.answers.lookups import MAX_SIZE, AnswerLookups
from lookup.search.results import SearchHit
from register_store.canonical_json import dump
from register_store.documents import CompanyRow
from tests.builders.companies import a_company, a_unit
from tests.fakes.lookup import FakeRegister, FakeSearches, FakeUnits

DK = Country.DK


def key(number: int) -> CompanyKey:
    return CompanyKey(DK, f"{number:08}")


def rows(*numbers: int) -> dict[CompanyKey, CompanyRow]:
    return {
        key(number): CompanyRow(1, dump(a_company(vat=f"{number:08}")), b"[]", b"[]", None)
        for number in numbers
    }


def hits(*ranked: tuple[int, float]) -> list[SearchHit]:
    return [SearchHit(key(number), score) for number, score in ranked]


def asking(*include: Include, inferred: bool = False, **terms: str) -> LookupRequest:
    """A request for terms by their search types."""
    questions = tuple(Question(type=SearchType(kind), term=term) for kind, term in terms.items())
    return LookupRequest(country=DK, questions=questions, include=include, inferred=inferred)


async def answered(
    request: LookupRequest, register: FakeRegister, **found: Any
) -> Mapping[str, Any]:
    """The answer with these hits of `names` and `addresses`."""
    [reply] = await AnswerLookups(register, FakeSearches(**found))([request])
    assert isinstance(reply, LookupReply)
    body: dict[str, Any] = orjson.loads(reply.body)
    return body


def numbers(body: Mapping[str, Any]) -> list[int]:
    """The company, and its alternatives behind it."""
    return [int(one["vat"]) for one in (body, *body.get("alternatives", ()))]


def long_rows(size: int) -> dict[CompanyKey, CompanyRow]:
    """One company whose roles take so many bytes."""
    [(company, row)] = rows(1).items()
    return {company: row._replace(roles=b'["%b"]' % (b"x" * size))}


async def test_companies_beyond_the_size_of_a_batch_are_to_be_requested_apart() -> None:
    request = asking(Include.ROLES, vat="00000001")
    lookups = AnswerLookups(FakeRegister(long_rows(1024 * 1024)), FakeSearches())

    *replies, short = await lookups([request] * 100 + [asking(vat="00000001")])

    bodies = [reply.body for reply in replies if isinstance(reply, LookupReply)]
    others = {reply.code for reply in replies if isinstance(reply, Failure)}
    assert isinstance(short, LookupReply)
    assert MAX_SIZE < sum(map(len, bodies)) < MAX_SIZE + 2 * 1024 * 1024
    assert others == {FailureCode.BATCH_TOO_LARGE}


async def test_a_lookup_has_the_first_hundred_units_and_their_number() -> None:
    units = [a_unit(number=f"{number:010}") for number in range(300)]
    stored = {UnitKey(DK, unit.number): dump(unit) for unit in units}
    register = FakeRegister(rows(1), units=FakeUnits(stored, main=UnitKey(DK, f"{250:010}")))

    body = await answered(asking(Include.PRODUCTION_UNITS, vat="00000001"), register)

    shown = [(int(unit["number"]), unit["main"]) for unit in body["production_units"]]
    assert shown == [(250, True), *((number, False) for number in range(99))]
    assert body["production_units_total"] == 300


async def test_other_lookups_go_on_between_long_companies() -> None:
    request = asking(Include.ROLES, vat="00000001")
    lookups = AnswerLookups(FakeRegister(long_rows(200_000)), FakeSearches())
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with beside(others()):
        before = turns
        await lookups([request] * 20)
        during = turns - before

    assert during >= 20


async def test_alternatives_are_the_next_five_matches() -> None:
    found = hits(*((number, 90.0 - number) for number in range(8)))
    request = asking(Include.ALTERNATIVES, name="prøven")

    body = await answered(request, FakeRegister(rows(*range(8))), names={"prøven": found})

    assert numbers(body) == [0, 1, 2, 3, 4, 5]
    first = Alternative.model_validate(body["alternatives"][0])
    assert (first.name, first.city, first.score) == (body["name"], body["address"]["city"], 89)


async def test_alternatives_are_those_of_each_request_that_includes_them() -> None:
    searches = FakeSearches({"prøven": hits((1, 90), (2, 80))})
    requests = [asking(name="prøven"), asking(Include.ALTERNATIVES, name="prøven")]

    replies = await AnswerLookups(FakeRegister(rows(1, 2)), searches)(requests)

    bodies = [orjson.loads(reply.body) for reply in replies if isinstance(reply, LookupReply)]
    assert ["alternatives" in body for body in bodies] == [False, True]


async def test_a_removed_company_is_neither_match_nor_alternative() -> None:
    request = asking(Include.ALTERNATIVES, address="prøvevej 1")
    found = {"prøvevej 1": hits((1, 90), (2, 80), (3, 79), (4, 78))}

    body = await answered(request, FakeRegister(rows(2, 4)), addresses=found)

    assert numbers(body) == [2, 4]


async def test_other_companies_with_the_phone_number_are_alternatives() -> None:
    register = FakeRegister(rows(1, 2), {"dk:33369696": [key(1), key(2)]})

    body = await answered(asking(Include.ALTERNATIVES, phone="33369696"), register)

    assert numbers(body) == [1, 2]
    assert body["match"]["others"] == 1


@pytest.mark.parametrize(
    "request_,others",
    [
        (asking(vat="00000001"), 0),
        (asking(phone="33369696"), 2),
        (asking(name="prøven"), 10),
        (asking(address="prøvevej 1"), 7),
        (asking(inferred=True, address="prøven", name="prøven"), 10),
        (asking(inferred=True, name="torggate 16", address="torggate 16"), 5),
    ],
    ids=["number", "phone", "name", "address", "second type", "better type"],
)
async def test_the_companies_that_match_as_well_are_counted(
    request_: LookupRequest, others: int
) -> None:
    def first(score: float, count: int) -> list[SearchHit]:
        return [SearchHit(key(1), score, others=count)]

    body = await answered(
        request_,
        FakeRegister(rows(1, 2, 3), {"dk:33369696": [key(1), key(2), key(3)]}),
        names={"prøven": first(100, 10), "torggate 16": first(70, 0)},
        addresses={"prøvevej 1": first(100, 7), "torggate 16": first(95, 5)},
    )

    assert body["match"]["others"] == others


async def test_the_etag_covers_the_number_of_others() -> None:
    tags = set()
    for others in range(3):
        searches = FakeSearches({"prøven": [SearchHit(key(1), 100, others=others)]})
        [reply] = await AnswerLookups(FakeRegister(rows(1)), searches)([asking(name="prøven")])
        assert isinstance(reply, LookupReply)
        tags.add(reply.tag)

    assert len(tags) == 3


async def test_a_name_with_another_figure_is_an_alternative_and_never_the_answer() -> None:
    other = [SearchHit(key(number), 90, is_other=True) for number in (2, 3)]
    names = {"team 7": [*hits((1, 80)), *other], "team 8": other}
    lookups = AnswerLookups(FakeRegister(rows(1, 2, 3)), FakeSearches(names))
    requests = [
        asking(Include.ALTERNATIVES, name="team 7"),
        asking(Include.ALTERNATIVES, inferred=True, name="team 8"),
    ]

    found, missing = await lookups(requests)

    assert isinstance(found, LookupReply)
    assert numbers(orjson.loads(found.body)) == [1, 2, 3]
    assert isinstance(missing, Failure)
    assert missing.code is FailureCode.COMPANY_NOT_FOUND
    assert "Prøvefabrikken ApS (00000002), Prøvefabrikken ApS (00000003)" in missing.detail
    assert missing.detail.endswith("; searched as a name")


async def test_an_address_answers_where_only_a_name_with_another_figure_was_found() -> None:
    request = asking(Include.ALTERNATIVES, inferred=True, name="sal 8", address="sal 8")
    both = {
        "names": {"sal 8": [SearchHit(key(n), 90, is_other=True) for n in (1, 2)]},
        "addresses": {"sal 8": hits((2, 80))},
    }

    body = await answered(request, FakeRegister(rows(1, 2)), **both)

    assert (body["match"]["type"], numbers(body)) == ("address", [2, 1])


async def test_an_inferred_registration_number_may_also_be_the_phone_number_of_others() -> None:
    register = FakeRegister(rows(1, 2), {"dk:00000001": [key(2), key(1)]})
    both = {"vat": "00000001", "phone": "00000001"}

    requested = await answered(asking(Include.ALTERNATIVES, vat="00000001"), register)
    inferred = await answered(asking(Include.ALTERNATIVES, inferred=True, **both), register)

    assert (numbers(requested), numbers(inferred)) == ([1], [1, 2])
    assert inferred["match"]["type"] == "vat"


async def test_the_next_inferred_type_is_tried_when_the_first_finds_nothing() -> None:
    term = "prøvevej 1, 5000"
    register = FakeRegister(rows(1))

    body = await answered(asking(address=term, name=term), register, names={term: hits((1, 95))})

    assert body["match"] == {"type": "name", "score": 95, "matched_name": None, "others": 0}


async def test_the_matched_trade_or_former_name_is_returned() -> None:
    found = {"prøven": [SearchHit(key(1), 98.0, matched_name="Prøven")]}

    body = await answered(asking(name="prøven"), FakeRegister(rows(1)), names=found)

    assert body["match"] == {"type": "name", "score": 98, "matched_name": "Prøven", "others": 0}


@pytest.mark.parametrize(
    "named,at_address,match,companies",
    [
        ([(1, 70)], [(2, 96.5)], ("address", 96.5), [2, 1]),
        ([(1, 88)], [(2, 100)], ("name", 88), [1]),
        ([(1, 85)], [(2, 80)], ("name", 85), [1, 2]),
        ([(1, 70)], [(1, 95), (2, 94)], ("address", 95), [1, 2]),
    ],
    ids=["no good name", "a good name", "a better name", "the same company"],
)
async def test_a_name_that_matches_well_or_better_wins_against_an_address(
    named: list[Any], at_address: list[Any], match: tuple[str, float], companies: list[int]
) -> None:
    request = asking(Include.ALTERNATIVES, inferred=True, name="torggate 16", address="torggate 16")

    body = await answered(
        request,
        FakeRegister(rows(1, 2)),
        names={"torggate 16": hits(*named)},
        addresses={"torggate 16": hits(*at_address)},
    )

    assert (body["match"]["type"], body["match"]["score"]) == match
    assert numbers(body) == companies


@pytest.mark.parametrize(
    "request_,ending",
    [
        (asking(inferred=True, name="prøven"), "; searched as a name"),
        (
            asking(inferred=True, vat="12345674", phone="12345674"),
            "; searched as a registration number, then as a phone number",
        ),
        (asking(name="prøven"), ""),
        (asking(inferred=True, name="holding"), "suggest"),
    ],
    ids=["name", "number", "requested type", "shared word"],
)
async def test_not_found_names_the_inferred_types_and_suggestions_for_shared_words(
    request_: LookupRequest, ending: str
) -> None:
    lookups = AnswerLookups(FakeRegister(), FakeSearches(shared={"holding"}))

    [failure] = await lookups([request_])

    assert isinstance(failure, Failure)
    assert failure.code is FailureCode.COMPANY_NOT_FOUND
    if ending == "suggest":
        assert "many companies" in failure.detail
        assert "GET /api/suggest" in failure.detail
    else:
        assert failure.detail.endswith(ending)
        assert ("searched" in failure.detail) == bool(ending)
        assert "suggest" not in failure.detail


async def test_a_number_whose_check_digit_is_wrong_is_said_to_be_none() -> None:
    wrong, right, either = (
        asking(vat="99999999"),
        asking(vat="12345674"),
        asking(vat="99999999", phone="99999999", inferred=True),
    )

    failures = await AnswerLookups(FakeRegister(), FakeSearches())([wrong, right, either])

    details = [failure.detail for failure in failures if isinstance(failure, Failure)]
    assert ["check digit" in detail for detail in details] == [True, False, False]


async def test_a_site_is_looked_up_as_a_domain_and_then_as_a_name() -> None:
    request = asking(domain="proeven.example", name="proeven.example", inferred=True)
    register = FakeRegister(rows(1, 2))
    site, name = {"proeven.example": hits((1, 100))}, {"proeven.example": hits((2, 90))}

    found = [await answered(request, register, contacts=site, names=name)]
    found.append(await answered(request, register, names=name))

    assert [(numbers(body), body["match"]["type"]) for body in found] == [
        ([1], "domain"),
        ([2], "name"),
    ]
