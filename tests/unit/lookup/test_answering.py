"""Lookups: the matching company and its alternatives."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from common.contracts.company import Alternative, CompanyKey, Country, Include, UnitKey
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.runtime.tasks import beside
from lookup.answers.lookups import MAX_SIZE, AnswerLookups
from lookup.search.hits import SearchHit
from lookup.store.canonical_json import dump
from lookup.store.documents import CompanyRow
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


def asking(
    *questions: tuple[SearchType, str], inferred: bool = False, include: Sequence[Include] = ()
) -> LookupRequest:
    return LookupRequest(
        country=DK,
        questions=tuple(Question(type=kind, term=term) for kind, term in questions),
        include=tuple(include),
        inferred=inferred,
    )


async def answered(
    request: LookupRequest, register: FakeRegister, searches: FakeSearches | None = None
) -> Mapping[str, Any]:
    [reply] = await AnswerLookups(register, searches or FakeSearches())([request])
    assert isinstance(reply, LookupReply)
    body: dict[str, Any] = orjson.loads(reply.body)
    return body


def numbers(body: Mapping[str, Any]) -> list[str]:
    return [alternative["vat"] for alternative in body["alternatives"]]


def long_rows(size: int) -> dict[CompanyKey, CompanyRow]:
    """One company whose roles take so many bytes."""
    [(company, row)] = rows(1).items()
    return {company: row._replace(roles=b'["%b"]' % (b"x" * size))}


async def test_companies_beyond_the_size_of_a_batch_are_to_be_requested_apart() -> None:
    request = asking((SearchType.VAT, "00000001"), include=[Include.ROLES])
    lookups = AnswerLookups(FakeRegister(long_rows(1024 * 1024)), FakeSearches())

    *replies, short = await lookups([request] * 100 + [asking((SearchType.VAT, "00000001"))])

    bodies = [reply.body for reply in replies if isinstance(reply, LookupReply)]
    others = {reply.code for reply in replies if isinstance(reply, Failure)}
    assert isinstance(short, LookupReply)
    assert MAX_SIZE < sum(map(len, bodies)) < MAX_SIZE + 2 * 1024 * 1024
    assert others == {FailureCode.BATCH_TOO_LARGE}


async def test_a_lookup_has_the_first_hundred_units_and_their_number() -> None:
    units = [a_unit(number=f"{number:010}") for number in range(300)]
    stored = {UnitKey(DK, unit.number): dump(unit) for unit in units}
    register = FakeRegister(rows(1), units=FakeUnits(stored, main=UnitKey(DK, f"{250:010}")))

    body = await answered(
        asking((SearchType.VAT, "00000001"), include=[Include.PRODUCTION_UNITS]), register
    )

    shown = [unit["number"] for unit in body["production_units"]]
    assert shown == [f"{number:010}" for number in (250, *range(99))]
    assert [unit["main"] for unit in body["production_units"]] == [True] + [False] * 99
    assert body["production_units_total"] == 300


async def test_other_lookups_go_on_between_long_companies() -> None:
    request = asking((SearchType.VAT, "00000001"), include=[Include.ROLES])
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
    register, searches = FakeRegister(rows(*range(8))), FakeSearches({"prøven": found})

    body = await answered(
        asking((SearchType.NAME, "prøven"), include=[Include.ALTERNATIVES]), register, searches
    )

    assert body["vat"] == "00000000"
    assert numbers(body) == [f"{number:08}" for number in range(1, 6)]
    first = Alternative.model_validate(body["alternatives"][0])
    assert (first.name, first.city, first.score) == (body["name"], body["address"]["city"], 89)


async def test_alternatives_are_absent_unless_included() -> None:
    register, searches = FakeRegister(rows(1, 2)), FakeSearches({"prøven": hits((1, 90), (2, 80))})

    body = await answered(asking((SearchType.NAME, "prøven")), register, searches)

    assert "alternatives" not in body


async def test_a_removed_company_is_neither_match_nor_alternative() -> None:
    searches = FakeSearches(addresses={"prøvevej 1": hits((1, 90), (2, 80), (3, 79), (4, 78))})

    body = await answered(
        asking((SearchType.ADDRESS, "prøvevej 1"), include=[Include.ALTERNATIVES]),
        FakeRegister(rows(2, 4)),
        searches,
    )

    assert (body["vat"], numbers(body)) == ("00000002", ["00000004"])


async def test_other_companies_with_the_phone_number_are_alternatives() -> None:
    register = FakeRegister(rows(1, 2), {"dk:33369696": [key(1), key(2)]})

    body = await answered(
        asking((SearchType.PHONE, "33369696"), include=[Include.ALTERNATIVES]), register
    )

    assert (body["vat"], numbers(body)) == ("00000001", ["00000002"])


async def test_a_registration_number_has_no_alternatives() -> None:
    body = await answered(
        asking((SearchType.VAT, "00000001"), include=[Include.ALTERNATIVES]),
        FakeRegister(rows(1), {"dk:00000001": [key(1)]}),
    )

    assert body["alternatives"] == []


async def test_an_inferred_registration_number_may_also_be_the_phone_number_of_others() -> None:
    request = asking(
        (SearchType.VAT, "00000001"),
        (SearchType.PHONE, "00000001"),
        inferred=True,
        include=[Include.ALTERNATIVES],
    )
    register = FakeRegister(rows(1, 2), {"dk:00000001": [key(2), key(1)]})

    body = await answered(request, register)

    assert (body["vat"], body["match"]["type"]) == ("00000001", "vat")
    assert numbers(body) == ["00000002"]


async def test_the_next_inferred_type_is_tried_when_the_first_finds_nothing() -> None:
    request = asking(
        (SearchType.ADDRESS, "prøvevej 1, 5000"), (SearchType.NAME, "prøvevej 1, 5000")
    )
    searches = FakeSearches(names={"prøvevej 1, 5000": hits((1, 95))})

    body = await answered(request, FakeRegister(rows(1)), searches)

    assert body["match"] == {"type": "name", "score": 95, "matched_name": None}


async def test_the_matched_trade_or_former_name_is_returned() -> None:
    hit = SearchHit(key(1), 98.0, matched_name="Prøven")

    body = await answered(
        asking((SearchType.NAME, "prøven")),
        FakeRegister(rows(1)),
        FakeSearches(names={"prøven": [hit]}),
    )

    assert body["match"] == {"type": "name", "score": 98, "matched_name": "Prøven"}


NAME_OR_ADDRESS = ((SearchType.NAME, "torggate 16"), (SearchType.ADDRESS, "torggate 16"))


async def test_an_address_counts_when_no_name_matches_well() -> None:
    searches = FakeSearches(
        names={"torggate 16": hits((1, 70))}, addresses={"torggate 16": hits((2, 96.5))}
    )
    request = asking(*NAME_OR_ADDRESS, inferred=True, include=[Include.ALTERNATIVES])

    body = await answered(request, FakeRegister(rows(1, 2)), searches)

    assert (body["vat"], body["match"]["type"]) == ("00000002", "address")
    assert numbers(body) == ["00000001"]


async def test_a_name_that_matches_well_or_better_wins_against_an_address() -> None:
    for named, at_address in ((88.0, 100.0), (85.0, 80.0)):
        searches = FakeSearches(
            names={"torggate 16": hits((1, named))},
            addresses={"torggate 16": hits((2, at_address))},
        )

        body = await answered(asking(*NAME_OR_ADDRESS), FakeRegister(rows(1, 2)), searches)

        assert (body["vat"], body["match"]["type"]) == ("00000001", "name")


async def test_a_company_that_matches_by_name_and_address_has_its_better_match() -> None:
    searches = FakeSearches(
        names={"torggate 16": hits((1, 70))}, addresses={"torggate 16": hits((2, 95), (1, 95))}
    )
    request = asking(*NAME_OR_ADDRESS, include=[Include.ALTERNATIVES])

    body = await answered(request, FakeRegister(rows(1, 2)), searches)

    assert {body["vat"], *numbers(body)} == {"00000001", "00000002"}
    assert body["match"] == {"type": "address", "score": 95, "matched_name": None}


async def test_not_found_points_to_suggestions_when_many_share_the_words() -> None:
    by_name = asking((SearchType.NAME, "holding"), inferred=True)

    shared = await detail_of(by_name, FakeSearches(shared={"holding"}))
    unknown = await detail_of(by_name)

    assert "many companies" in shared
    assert "GET /api/suggest" in shared
    assert "suggest" not in unknown


async def detail_of(request: LookupRequest, searches: FakeSearches | None = None) -> str:
    [failure] = await AnswerLookups(FakeRegister(), searches or FakeSearches())([request])
    assert isinstance(failure, Failure)
    assert failure.code is FailureCode.COMPANY_NOT_FOUND
    return failure.detail


async def test_not_found_names_the_inferred_types() -> None:
    by_name = asking((SearchType.NAME, "prøven"), inferred=True)
    by_number = asking((SearchType.VAT, "12345674"), (SearchType.PHONE, "12345674"), inferred=True)

    assert (await detail_of(by_name)).endswith("; searched as a name")
    assert (await detail_of(by_number)).endswith(
        "; searched as a registration number, then as a phone number"
    )


async def test_not_found_omits_a_requested_type() -> None:
    assert "searched" not in await detail_of(asking((SearchType.NAME, "prøven")))


async def test_each_request_of_a_batch_has_its_own_alternatives() -> None:
    searches = FakeSearches({"prøven": hits((1, 90), (2, 80))})
    plain = asking((SearchType.NAME, "prøven"))
    with_others = asking((SearchType.NAME, "prøven"), include=[Include.ALTERNATIVES])

    replies = await AnswerLookups(FakeRegister(rows(1, 2)), searches)([plain, with_others])

    bodies = [orjson.loads(reply.body) for reply in replies if isinstance(reply, LookupReply)]
    assert ["alternatives" in body for body in bodies] == [False, True]
