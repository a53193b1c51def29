"""Records of customers matched with companies, over HTTP: one decision over both registers."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import exp
from typing import Any, Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.company import Country
from common.contracts.failures import Failure
from common.contracts.match import (
    MatchCandidate,
    MatchDecision,
    MatchReason,
    MatchRecord,
    MatchReply,
    MatchRequest,
    MatchResult,
    WeighedRecord,
)
from gateway.http.middleware import REQUEST_CONTEXT
from gateway.http.problem_responses import problem_document
from gateway.http.responses import json_body, json_response
from gateway.lookups.batches import Charge
from gateway.lookups.match_queries import (
    RECORD_FIELDS,
    SEARCHED,
    MatchQuery,
    Refused,
    parse_match,
)
from gateway.lookups.persons import may_be_person
from gateway.problems import LookupTimeout, Problem, problem_of

MATCH_PATH = "/api/match"

#: Records of one message to the lookup service; those of other clients go between the messages.
RECORDS_AT_ONCE = 8

#: The least probability of a match, and of a candidate that a person should see (ADR 0052).
MATCHED, REVIEWED = 0.75, 0.05
_DIGITS = 4


class Matches(Protocol):
    """Weighs the companies of one country that records may be."""

    async def match(self, request: MatchRequest, *, request_id: str) -> MatchReply:
        """Returns the candidates of each record, in order; raises as `Lookups.find`."""


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Matches records with the companies of the registers they may be in, concurrently."""

    matches: Matches

    async def __call__(self, query: MatchQuery, *, request_id: str) -> list[MatchResult | Refused]:
        """Returns the result or problem of each record, in order and independent of the others."""
        asked = [record for record in query.records if isinstance(record, MatchRecord)]
        weighed = await asyncio.gather(
            *(self._weighed(country, asked, query.limit, request_id) for country in Country)
        )
        results = iter(
            [
                _result(record, dict(zip(Country, answers, strict=True)), query.limit)
                for record, *answers in zip(asked, *weighed, strict=True)
            ]
        )
        return [
            next(results) if isinstance(record, MatchRecord) else record for record in query.records
        ]

    async def _weighed(
        self, country: Country, records: Sequence[MatchRecord], limit: int, request_id: str
    ) -> list[WeighedRecord | Problem | None]:
        """Returns a register's answer to each record; None to a record of another country."""
        places = [n for n, each in enumerate(records) if each.country in (None, country)]
        starts = range(0, len(places), RECORDS_AT_ONCE)
        parts = [places[start : start + RECORDS_AT_ONCE] for start in starts]
        requests = (
            MatchRequest(country=country, records=tuple(records[n] for n in part), limit=limit)
            for part in parts
        )
        replies = await asyncio.gather(*(self._reply(each, request_id) for each in requests))
        found: list[WeighedRecord | Problem | None] = [None] * len(records)
        for part, reply in zip(parts, replies, strict=True):
            for n, place in enumerate(part):
                found[place] = reply if isinstance(reply, Problem) else _answer(reply.records[n])
        return found

    async def _reply(self, request: MatchRequest, request_id: str) -> MatchReply | Problem:
        try:
            return await self.matches.match(request, request_id=request_id)
        except Problem as problem:
            return problem


def _answer(record: WeighedRecord) -> WeighedRecord | Problem:
    if record.failure is None:
        return record
    failure = Failure(code=record.failure, detail=record.detail, removed_on=record.removed_on)
    return problem_of(failure, deadline=LookupTimeout)


def _result(
    record: MatchRecord, answers: dict[Country, WeighedRecord | Problem | None], limit: int
) -> MatchResult | Refused:
    """Returns the result; a problem if one register did not answer, as that decides nothing."""
    weighed: dict[Country, WeighedRecord] = {}
    for country, answer in answers.items():
        if isinstance(answer, Problem):
            return Refused(record.id, answer)
        if answer is not None:
            weighed[country] = answer
    return decided(record, weighed, limit)


def decided(
    record: MatchRecord, weighed: Mapping[Country, WeighedRecord], limit: int
) -> MatchResult:
    """Returns the decision about a record: of its candidates, or no company, one is right."""
    odds = [
        (exp(company.log_odds), country, company)
        for country, one in weighed.items()
        for company in one.candidates
    ]
    everything = 1.0 + sum(each for each, _, _ in odds)
    everything += sum(one.other_odds for one in weighed.values())
    ranked = sorted(odds, key=lambda one: (-one[0], one[1], one[2].vat))
    candidates = tuple(
        MatchCandidate(
            country=country,
            vat=company.vat,
            name=company.name,
            city=company.city,
            status=company.status,
            score=round(each / everything, _DIGITS),
            evidence=company.evidence,
        )
        for each, country, company in ranked[:limit]
    )
    best = ranked[0][0] / everything if ranked else 0.0
    assumed = next((one.assumed_number for one in weighed.values() if one.assumed_number), None)
    unread = [set(one.unread) for one in weighed.values()]
    # What one register reads is read.
    unread_everywhere = set.intersection(*unread) if unread else set()
    decision = _decision(best, is_certain=assumed is None)
    return MatchResult(
        id=record.id,
        decision=decision,
        reason=_reason(record, unread_everywhere) if decision is MatchDecision.NONE else None,
        candidates=candidates,
        unread=tuple(name for name in RECORD_FIELDS if name in unread_everywhere),
        assumed={"number": assumed} if assumed else {},
    )


def _decision(probability: float, *, is_certain: bool) -> MatchDecision:
    """Returns the decision; a record with an assumed number is no match without a person."""
    if probability >= MATCHED and is_certain:
        return MatchDecision.MATCH
    return MatchDecision.REVIEW if probability >= REVIEWED else MatchDecision.NONE


def _reason(record: MatchRecord, unread: Set[str]) -> MatchReason:
    if may_be_person(record.name or ""):
        return MatchReason.PERSON
    given = {name for name in SEARCHED if getattr(record, name)}
    return MatchReason.UNREADABLE if given <= unread else MatchReason.NOT_FOUND


def match_handler(match_all: MatchAll, charge: Charge) -> Handler:
    """Returns the handler of matches; the request was already counted as the first record."""

    async def match(request: web.Request) -> web.Response:
        query = parse_match(await json_body(request))
        context = request[REQUEST_CONTEXT]
        if context.key is not None:
            context.quota = charge(context.key, len(query.records) - 1)
        results = await match_all(query, request_id=context.request_id)
        return json_response(document(results, context.request_id))

    return match


def document(results: Iterable[MatchResult | Refused], request_id: str) -> bytes:
    """Returns the public answer, in the order of the records."""
    return orjson.dumps({"results": [_member(each, request_id) for each in results]})


def _member(result: MatchResult | Refused, request_id: str) -> dict[str, Any]:
    if isinstance(result, Refused):
        return {"id": result.id, "problem": problem_document(result.problem, request_id)}
    written = result.model_dump(mode="json")
    for candidate in written["candidates"]:
        candidate["evidence"] = {
            field: value for field, value in candidate["evidence"].items() if value is not None
        }
    return written
