"""`GET /api/companies/{country}/{vat}/group`: owners upwards, subsidiaries downwards."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Share
from common.contracts.lookup import (
    GroupAnswer,
    LookupReply,
    LookupRequest,
    Question,
    SearchType,
)
from lookup.answers import group
from lookup.answers.lookups import AnswerLookups
from register_store.documents import CompanyRow, dump, dump_all
from tests.builders.companies import a_company, an_owner
from tests.fakes.lookup import FakeRegister, FakeSearches

DK, NO = Country.DK, Country.NO

#: By company, a letter, the owners with their shares: a letter is a company, a name a person.
Owners = Mapping[str, Sequence[tuple[str, str | None]]]


def vat(letter: str, country: Country = DK) -> str:
    digits = 8 if country is DK else 9
    return f"{ord(letter) - ord('A') + 1:0{digits}d}"


def an_entry(owner: str, share: str | None, country: Country) -> Any:
    is_company = len(owner) == 1
    low, _, high = (share or "").partition("-")
    return an_owner(
        name=f"{owner} ApS" if is_company else owner,
        type="company" if is_company else "person",
        vat=vat(owner, country) if is_company else None,
        share=Share(min=low, max=high or low) if share else None,
    )


async def group_of(
    owners: Owners, root: str, *, country: Country = DK, levels: int = 5, absent: str = ""
) -> GroupAnswer:
    rows = {
        CompanyKey(country, vat(letter, country)): CompanyRow(
            1,
            dump(a_company(country=country, vat=vat(letter, country), name=f"{letter} ApS")),
            dump_all([an_entry(*each, country) for each in held]),
            b"[]",
            None,
        )
        for letter, held in owners.items()
        if letter not in absent
    }
    owned = {
        vat(owner, country): [
            vat(letter, country) for letter, held in owners.items() if owner in dict(held)
        ]
        for owner in owners
    }
    request = LookupRequest(
        country=country,
        questions=(Question(type=SearchType.VAT, term=vat(root, country)),),
        group_levels=levels,
        client="one",
    )
    searches = FakeSearches(owned={owner: found for owner, found in owned.items() if found})
    [reply] = await AnswerLookups(FakeRegister(rows), searches)([request])
    assert isinstance(reply, LookupReply)
    return GroupAnswer.model_validate(orjson.loads(reply.body))


def levels_of(answer: GroupAnswer) -> dict[str, int]:
    return {one.name.removesuffix(" ApS"): one.level for one in answer.companies}


def ultimate(answer: GroupAnswer) -> list[tuple[str, str | None]] | None:
    if answer.ultimate_owners is None:
        return None
    return [
        (one.name.removesuffix(" ApS"), f"{one.share.min}-{one.share.max}" if one.share else None)
        for one in answer.ultimate_owners
    ]


CHAIN: Owners = {
    "A": [("Anna", "50-66.66"), ("Bo", "33.33-49.99")],
    "B": [("A", "66.67-90")],
    "C": [("B", "100"), ("A", "10")],
    "D": [("C", "90-100"), ("Dan", "5-9.99")],
}


async def test_owners_are_above_and_subsidiaries_below() -> None:
    answer = await group_of(CHAIN, "C")

    assert levels_of(answer) == {"C": 0, "A": -1, "B": -1, "D": 1}
    # Of a subsidiary only the owners within the group.
    assert {one.name for one in answer.holders} == {"Anna", "Bo"}
    assert {(one.owner, one.owned) for one in answer.links} == {
        (vat("B"), vat("C")),
        (vat("A"), vat("C")),
        (vat("A"), vat("B")),
        (f"{vat('A')}/0", vat("A")),
        (f"{vat('A')}/1", vat("A")),
        (vat("C"), vat("D")),
    }
    assert (answer.truncated, answer.shareholders_known) == (False, True)


@pytest.mark.parametrize(
    "owners,root,expected",
    [
        # Products along each path: 100 % × 66.67–90 % + 10 %, of which Anna has 50–66.66 %.
        (CHAIN, "C", [("Anna", "38.33-66.66"), ("Bo", "25.55-49.99")]),
        (CHAIN, "A", [("Anna", "50-66.66"), ("Bo", "33.33-49.99")]),
        ({"A": []}, "A", []),
        # A company whose own owners are unknown is the end of a path.
        ({"A": [("B", "60")], "B": []}, "A", [("B", "60-60")]),
        ({"A": [("Z", "60")]}, "A", [("Z", "60-60")]),
        # An unknown share makes the whole unknown.
        ({"A": [("B", None)], "B": [("Anna", "100")]}, "A", [("Anna", None)]),
        # Namesakes in two companies may be two persons.
        (
            {"A": [("B", "50"), ("C", "50")], "B": [("Anna", "100")], "C": [("Anna", "100")]},
            "A",
            [("Anna", "50-50"), ("Anna", "50-50")],
        ),
        # A circle is not followed.
        ({"A": [("B", "60"), ("Anna", "40")], "B": [("A", "100")]}, "A", [("Anna", "40-40")]),
    ],
)
async def test_shares_multiply_along_paths_and_add_up(
    owners: Owners, root: str, expected: list[tuple[str, str | None]]
) -> None:
    assert ultimate(await group_of(owners, root)) == expected


async def test_circles_are_shown() -> None:
    answer = await group_of(
        {"A": [("B", "60"), ("A", "5")], "B": [("C", "50")], "C": [("A", "10")], "D": [("A", "9")]},
        "A",
    )

    circles = {(one.owner, one.owned) for one in answer.links if one.circle}
    assert circles == {(vat(owner), vat(owned)) for owner, owned in ("BA", "AA", "CB", "AC")}
    assert levels_of(answer) == {"A": 0, "B": -1, "C": -2, "D": 1}
    assert not answer.truncated


async def test_a_group_beyond_its_levels_or_size_is_truncated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tall: Owners = {"A": [("B", "60")], "B": [("C", "50")], "C": [("D", "50")], "D": []}
    up, down = await group_of(tall, "A", levels=2), await group_of(tall, "D", levels=2)
    whole = await group_of(tall, "B", levels=2)
    monkeypatch.setattr(group, "MAX_COMPANIES", 3)
    few = await group_of(tall, "B", levels=2)

    assert (levels_of(up), levels_of(down)) == (
        {"A": 0, "B": -1, "C": -2},
        {"D": 0, "C": 1, "B": 2},
    )
    assert [one.truncated for one in (up, down, whole, few)] == [True, True, False, True]
    assert (ultimate(up), ultimate(whole), len(few.companies)) == (None, [("D", "25-25")], 3)


async def test_a_company_that_was_sold_or_removed_is_no_part_of_the_group() -> None:
    answer = await group_of({"A": [], "B": [("A", "100")], "C": [("B", "100")]}, "A", absent="B")

    assert levels_of(answer) == {"A": 0}


async def test_norway_has_partners_only() -> None:
    answer = await group_of({"A": [("B", None)], "B": []}, "A", country=NO)

    assert levels_of(answer) == {"A": 0, "B": -1}
    assert not answer.shareholders_known
    assert ultimate(answer) == [("B", None)]
