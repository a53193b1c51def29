"""Companies that are protected from advertising are left out of groups, if the operator says so."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse

from common.contracts.company import Country, Status
from common.contracts.find import FindPosition, FindReply, FindRequest, FoundCompany
from common.contracts.lookup import SuggestReply
from common.contracts.match import MatchEvidence, WeighedCompany, WeighedRecord
from gateway.access.clients import Caller
from gateway.access.keys import Scope
from tests.delivery.waiting import SOON
from tests.fakes.gateway import Gateway, gateway

#: Danish companies, and whether they are protected; of the last the register does not say.
COMPANIES = {"10000009": False, "10000017": True, "10000025": None}
SHOWN = "10000009"
EVERYTHING = frozenset(Scope) - {Scope.PROTECTED}


@dataclass
class StoredFinds:
    """`Finds` over these companies, with the filters of protection and of numbers."""

    asked: list[FindRequest] = field(default_factory=list)

    async def companies(self, request: FindRequest, *, caller: Caller) -> FindReply:  # noqa: ARG002 (a port's)
        self.asked.append(request)
        given = request.numbers
        numbers = {(given or b"")[at : at + 4] for at in range(0, len(given or b""), 4)}
        wanted = request.advertising_protected
        found = [
            number
            for number, value in COMPANIES.items()
            if request.country is Country.DK
            and wanted in (None, value)
            and (given is None or int(number).to_bytes(4, "little") in numbers)
        ]
        page = [
            FoundCompany(
                position=FindPosition(key=number, country=Country.DK, number=int(number)),
                body=orjson.dumps({"vat": number}),
            )
            for number in found[: request.limit]
        ]
        return FindReply(
            companies=tuple(page), total=len(found), has_more=False, limited=given is not None
        )


@pytest.fixture
async def finds() -> StoredFinds:
    return StoredFinds()


@pytest.fixture
async def single(finds: StoredFinds) -> AsyncIterator[Gateway]:
    async with gateway(ports={"finds": finds}, protected_companies="single") as running:
        running.exports.numbers = list(COMPANIES)
        yield running


def left_out(answer: ClientResponse) -> str | None:
    return answer.headers.get("Protected-Left-Out")


async def numbers_of(answer: ClientResponse, part: str) -> list[str]:
    return [one["vat"] for one in (await answer.json())[part]]


@pytest.mark.parametrize(
    "query, shown, missing",
    [
        ("", [SHOWN], "2"),
        ("?country=dk", [SHOWN], "2"),
        ("?country=no", [], "0"),
        ("?advertising_protected=true&country=dk", [], "1"),
        ("?advertising_protected=false&country=dk", [SHOWN], "0"),
    ],
)
async def test_a_list_has_no_protected_company_and_says_how_many(
    single: Gateway, query: str, shown: list[str], missing: str
) -> None:
    key = single.issue(scopes=EVERYTHING)

    for headers in ({}, key):
        answer = await single.get(f"/api/companies{query}", headers=headers)

        assert await numbers_of(answer, "companies") == shown
        assert (await answer.json())["total"] == len(shown)
        assert (left_out(answer), answer.headers["Cache-Control"]) == (missing, "no-store")


async def test_a_key_with_the_scope_and_the_default_policy_get_every_company(
    single: Gateway, finds: StoredFinds
) -> None:
    key = single.issue(scopes=frozenset(Scope))
    with_scope = await single.get("/api/companies?country=dk", headers=key)
    async with gateway(ports={"finds": finds}) as listed:
        by_default = await listed.get("/api/companies?country=dk")

        for answer in (with_scope, by_default):
            assert await numbers_of(answer, "companies") == list(COMPANIES)
            assert left_out(answer) is None


@pytest.mark.parametrize(
    "query, wanted, missing",
    [
        ("country=dk", {"advertising_protected": False, "numbers": None}, "2"),
        ("country=dk&advertising_protected=true", {"numbers": b""}, "1"),
        ("country=no", None, "0"),
    ],
)
async def test_a_copy_has_no_protected_company_and_says_how_many(
    single: Gateway, query: str, wanted: dict[str, Any] | None, missing: str
) -> None:
    key = single.issue(scopes=EVERYTHING)

    answer = await single.get(f"/api/export?{query}", headers=key)
    await answer.read()

    filters = single.exports.asked[0].filter
    assert left_out(answer) == missing
    if wanted is None:
        assert filters is None
    else:
        assert filters is not None
        assert {name: getattr(filters, name) for name in wanted} == wanted


async def test_suggestions_have_no_protected_company(single: Gateway) -> None:
    found = [{"vat": number, "name": "PRØVEN"} for number in COMPANIES]
    body = orjson.dumps({"suggestions": found, "cursor": None})
    single.suggestions.answer = SuggestReply(body=body)

    answer = await single.get("/api/suggest?q=prøv&country=dk")

    assert await numbers_of(answer, "suggestions") == [SHOWN]
    assert left_out(answer) == "2"


def an_event(number: str) -> bytes:
    company = {"country": "dk", "vat": number, "advertising_protected": COMPANIES[number]}
    return orjson.dumps({"vat": number, "data": {"company": company}})


async def test_the_feed_of_all_companies_has_no_protected_one_but_that_of_chosen_ones_has(
    single: Gateway,
) -> None:
    removed = orjson.dumps({"vat": "10000033", "data": {"company": None}})
    single.events.add(*map(an_event, COMPANIES), removed)
    key = single.issue(scopes=EVERYTHING)

    everyones = await single.get("/api/events", headers=key)
    chosen = await single.get("/api/events?companies=dk:10000017", headers=key)

    assert await numbers_of(everyones, "events") == [SHOWN, "10000033"]
    assert (left_out(everyones), left_out(chosen)) == ("2", None)
    assert len(await numbers_of(chosen, "events")) == 4


async def test_reconciliation_has_no_protected_candidate(single: Gateway) -> None:
    key = single.issue(scopes=EVERYTHING)
    single.suggestions.answer = SuggestReply(
        body=orjson.dumps(
            {
                "suggestions": [
                    {"vat": number, "name": "PRØVEN", "city": None, "status": "active"}
                    for number in COMPANIES
                ],
                "cursor": None,
            }
        )
    )

    answer = await single.get("/reconcile/dk/suggest/entity?prefix=prøv", headers=key)

    assert [one["id"] for one in (await answer.json())["result"]] == [SHOWN]
    assert left_out(answer) == "2"


async def test_a_batch_of_reconciliation_has_no_protected_candidate_and_no_data_of_one(
    single: Gateway,
) -> None:
    key = single.issue(scopes=EVERYTHING)
    candidates = tuple(
        WeighedCompany(
            vat=number, name="PRØVEN", status=Status.ACTIVE, evidence=MatchEvidence(), log_odds=0.0
        )
        for number in COMPANIES
    )
    single.matches.of[Country.DK, "0"] = WeighedRecord(candidates=candidates)
    wanted = orjson.dumps({"ids": list(COMPANIES), "properties": [{"id": "name"}]}).decode()

    batch = await single.client.get(
        "/reconcile/dk", params={"queries": '{"q": {"query": "prøven"}}'}, headers=key
    )
    data = await single.client.get("/reconcile/dk", params={"extend": wanted}, headers=key)

    assert [one["id"] for one in (await batch.json())["q"]["result"]] == [SHOWN]
    rows = (await data.json())["rows"]
    assert [number for number, row in rows.items() if row["name"]] == [SHOWN]
    assert (left_out(batch), left_out(data)) == ("2", "2")


async def test_a_stream_of_all_companies_has_no_protected_one(single: Gateway) -> None:
    single.events.add(*map(an_event, COMPANIES))
    key = single.issue(scopes=EVERYTHING)

    answer = await single.get("/api/events/stream?after=oldest", headers=key)
    text = b""
    async with asyncio.timeout(SOON):
        while b"Protected-Left-Out: 2" not in text:
            text += await answer.content.readany()

    assert [number for number in COMPANIES if number.encode() in text] == [SHOWN]
