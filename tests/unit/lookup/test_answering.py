"""Lookups: the matching company and its alternatives."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from common.contracts.company import Alternative, CompanyKey, Country, Include, UnitKey
from common.contracts.failures import Failure, FailureCode
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.runtime.tasks import background
from lookup.answers.lookups import MAX_SIZE, AnswerLookups
from lookup.search.indexed_company import SearchHit
from register_store.documents import CompanyRow, dump
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
    return {company: row._replace(roles=b'[{"name":"%b"}]' % (b"x" * size))}


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

    async with background(others()):
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


async def test_the_etag_covers_the_number_of_others() -> None:
    tags = set()
    for others in range(3):
        searches = FakeSearches({"prøven": [SearchHit(key(1), 100, others=others)]})
        [reply] = await AnswerLookups(FakeRegister(rows(1)), searches)([asking(name="prøven")])
        assert isinstance(reply, LookupReply)
        tags.add(reply.tag)

    assert len(tags) == 3


def others(*found: int) -> list[SearchHit]:
    """Names with another figure."""
    return [SearchHit(key(number), 90, is_other=True) for number in found]


ALL = Include.ALTERNATIVES
NAMES = {
    "prøven": [SearchHit(key(1), 98.0, matched_name="Prøven", others=10)],
    "torggate 16": hits((1, 70)),
    "torggate 17": hits((1, 88)),
    "torggate 18": hits((1, 85)),
    "torggate 19": hits((1, 70)),
    "prøvevej 5": hits((3, 95)),
    "team 7": [*hits((1, 80)), *others(2, 3)],
    "team 8": others(2, 3),
    "sal 8": others(1, 2),
    "proeven.example": hits((2, 90)),
}
ADDRESSES = {
    "prøvevej 1": hits((9, 90), (2, 80), (8, 79), (4, 78)),
    "torggate 16": [SearchHit(key(2), 96.5, others=5)],
    "torggate 17": hits((2, 100)),
    "torggate 18": hits((2, 80)),
    "torggate 19": hits((1, 95), (2, 94)),
    "sal 8": hits((2, 80)),
}
PHONES = {"dk:33369696": [key(1), key(2), key(3)], "dk:00000001": [key(2), key(1)]}


def both(term: str, *include: Include) -> LookupRequest:
    return asking(*include, inferred=True, name=term, address=term)


@pytest.mark.parametrize(
    "request_,expected",
    [
        (asking(vat="00000001"), "vat 100 +0: 1"),
        (asking(vat="00000001", phone="00000001", inferred=True), "vat 100 +0: 1"),
        (asking(ALL, vat="00000001"), "vat 100 +0: 1"),
        # An inferred number may also be the phone number of others.
        (asking(ALL, vat="00000001", phone="00000001", inferred=True), "vat 100 +0: 1 2"),
        (asking(ALL, phone="33369696"), "phone 100 +2: 1 2 3"),
        (asking(name="prøven"), "name 98 +10 Prøven: 1"),
        # Two of the companies were removed.
        (asking(ALL, address="prøvevej 1"), "address 80 +0: 2 4"),
        (asking(address="prøvevej 5", name="prøvevej 5"), "name 95 +0: 3"),
        # A name that matches well, or better, wins against an address.
        (both("torggate 16", ALL), "address 96.5 +5: 2 1"),
        (both("torggate 17", ALL), "name 88 +0: 1"),
        (both("torggate 18", ALL), "name 85 +0: 1 2"),
        (both("torggate 19", ALL), "address 95 +0: 1 2"),
        # A name with another figure is an alternative, and never the answer.
        (asking(ALL, name="team 7"), "name 80 +0: 1 2 3"),
        (both("sal 8", ALL), "address 80 +0: 2 1"),
        (asking(domain="a.example", name="a.example"), "domain 100 +0: 1"),
        (asking(domain="proeven.example", name="proeven.example"), "name 90 +0: 2"),
    ],
)
async def test_the_best_company_is_the_answer_with_its_match_and_alternatives(
    request_: LookupRequest, expected: str
) -> None:
    register = FakeRegister(rows(1, 2, 3, 4), PHONES)
    contacts = {"a.example": hits((1, 100))}

    body = await answered(request_, register, names=NAMES, addresses=ADDRESSES, contacts=contacts)

    match = body["match"]
    name = f" {match['matched_name']}" if match["matched_name"] else ""
    companies = " ".join(map(str, numbers(body)))
    assert f"{match['type']} {match['score']} +{match['others']}{name}: {companies}" == expected


NONE = "no company in the register matches"
OTHER = "with another number, numeral or letter in the name"


@pytest.mark.parametrize(
    "request_,detail",
    [
        (asking(name="andet"), NONE),
        (asking(inferred=True, name="andet"), f"{NONE}; searched as a name"),
        (
            asking(inferred=True, vat="12345674", phone="12345674"),
            f"{NONE}; searched as a registration number, then as a phone number",
        ),
        (asking(vat="12345674"), NONE),
        (
            asking(vat="99999999"),
            "this is no valid registration number: its check digit is wrong",
        ),
        (
            asking(vat="99999999", phone="99999999", inferred=True),
            f"{NONE}; searched as a registration number, then as a phone number",
        ),
        (
            asking(name="holding"),
            "many companies have these words in their names; GET /api/suggest lists them",
        ),
        (
            asking(ALL, inferred=True, name="team 8"),
            f"{NONE}; {OTHER}: Prøvefabrikken ApS (00000002), Prøvefabrikken ApS (00000003)"
            "; searched as a name",
        ),
    ],
)
async def test_not_found_says_why(request_: LookupRequest, detail: str) -> None:
    searches = FakeSearches(NAMES, shared={"holding"})

    [failure] = await AnswerLookups(FakeRegister(rows(2, 3)), searches)([request_])

    assert failure == Failure(code=FailureCode.COMPANY_NOT_FOUND, detail=detail)
