"""Lookups: a batch of requests needs as many database reads as one request."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import structlog

from common.contracts.company import CompanyKey, Country, Include, UnitKey
from common.contracts.failures import Failure, FailureCode
from common.contracts.find import ExportRequest, FindRequest
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    PartRequest,
    SearchType,
    SuggestRequest,
)
from common.contracts.match import MatchRequest
from common.contracts.watchlists import KnownRequest
from common.domain.countries import day_of
from common.domain.numbers import InvalidIdentifier, parse_participant
from common.messaging.rpc import Result, RpcRequest
from lookup.answers.group import GROUP_LIMITS, GroupLimits, group_body
from lookup.answers.history import on_day
from lookup.answers.parts import NO_EXTRAS, READ_APART, read_parts
from lookup.answers.rendering import Candidate, Extras, answer, not_found, removed
from lookup.search.indexed_company import SearchHit
from lookup.search.scheduling import FairQueue
from lookup.search.searcher import IndexSearches
from register_store.reads import StoredRegister

#: Maximum alternatives to the company that is returned.
MAX_ALTERNATIVES = 5

#: The score of a name with every queried word; below it an address may be meant.
WELL_MATCHED = 88.0

#: Maximum bytes of a batch's companies; further ones fail and are to be requested apart.
MAX_SIZE = 12 * 1024 * 1024
#: Bytes of a company that takes a millisecond to write.
_LONG = 100_000

_EXACT = 100.0
#: The type in the log of a request that is no lookup.
_LOGGED_AS: Final[dict[type, str]] = {
    SuggestRequest: "suggest",
    FindRequest: "find",
    MatchRequest: "match",
    KnownRequest: "known",
    ExportRequest: "export",
}

#: Questions with the same group are answered by one search or read: country and type, the number of
#: companies that each needs, and the client.
Group = tuple[Country, SearchType, int, str]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AnswerLookups:
    """Answers batches of lookups from the stored registers and the search index."""

    register: StoredRegister
    searches: IndexSearches
    #: The turns of the reads of parts, which are slow for a large company.
    queue: FairQueue = field(default_factory=lambda: FairQueue(per_client=2, others=2))
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    group_limits: GroupLimits = GROUP_LIMITS

    async def __call__(self, requests: Sequence[LookupRequest]) -> list[LookupReply | Failure]:
        """Returns one result per request, in order; may raise `Unavailable`."""
        found = await self._find_all(requests)
        candidates = [[one for one in each if not one.hit.is_other] for each in found]
        details = (
            [_NO_DETAILS] * len(requests)  # without a task for each lookup by number
            if all(candidates) and not any(map(_is_detailed, requests))
            else await asyncio.gather(*map(self._details, requests, candidates, found))
        )
        gone = await self._removed(requests, candidates)
        replies: list[LookupReply | Failure] = []
        size = 0
        for request, ranked, every, its_details, removed_on in zip(
            requests, candidates, found, details, gone, strict=True
        ):
            reply: LookupReply | Failure
            is_failed = isinstance(its_details.earlier, Failure)
            if ranked and request.include and size > MAX_SIZE and not is_failed:
                reply = Failure(code=FailureCode.BATCH_TOO_LARGE)
            elif ranked:
                reply = _reply(request, ranked[0], every, its_details)
            elif removed_on is not None:
                reply = removed(removed_on)
            else:
                reply = not_found(request, every, is_shared=its_details.is_shared)
            if isinstance(reply, LookupReply):
                size += len(reply.body)
                if len(reply.body) > _LONG:
                    await asyncio.sleep(0)  # the lookups of other messages do not wait for all
            replies.append(reply)
        return replies

    async def _find_all(self, requests: Sequence[LookupRequest]) -> list[list[Candidate]]:
        """Returns the companies that match each request, best first, each once.

        Names with other figures are among them, last.
        """
        found: list[dict[CompanyKey, Candidate]] = [{} for _ in requests]
        for turn in range(max(len(request.questions) for request in requests)):
            still = [
                number
                for number, request in enumerate(requests)
                if _is_open(request, turn, found[number].values())
            ]
            results = await self._hits([requests[number] for number in still], turn)
            wanted = {hit.key for hits in results for hit in hits}
            rows = await self.register.companies(wanted) if wanted else {}
            for number, hits in zip(still, results, strict=True):
                for hit in hits:
                    if hit.key in rows:
                        question = requests[number].questions[turn]
                        candidate = Candidate(question.type, hit, rows[hit.key])
                        before = found[number].get(hit.key, candidate)
                        better = max(before, candidate, key=_goodness)
                        found[number][hit.key] = better
        return [_best_first(candidates.values()) for candidates in found]

    async def _removed(
        self, requests: Sequence[LookupRequest], candidates: Sequence[Sequence[Candidate]]
    ) -> Sequence[str | None]:
        numbers = [
            next(
                (
                    CompanyKey(request.country, one.term)
                    for one in (() if ranked else request.questions)
                    if one.type is SearchType.VAT
                ),
                None,
            )
            for request, ranked in zip(requests, candidates, strict=True)
        ]
        wanted = {number for number in numbers if number is not None}
        days = await self.register.removed(wanted) if wanted else {}
        return [None if number is None else days.get(number) for number in numbers]

    async def _hits(
        self, requests: Sequence[LookupRequest], turn: int
    ) -> list[Sequence[SearchHit]]:
        """Returns the hits of one question of each request; a group is searched together."""
        searches = [(_group(request, turn), request.questions[turn].term) for request in requests]
        terms: defaultdict[Group, list[str]] = defaultdict(list)
        for group, term in searches:
            terms[group].append(term)
        answers = await asyncio.gather(*(self._hits_of(*each) for each in terms.items()))
        hits = dict(zip(terms, answers, strict=True))
        return [hits[group].get(term, ()) for group, term in searches]

    async def _hits_of(
        self, group: Group, terms: Sequence[str]
    ) -> Mapping[str, Sequence[SearchHit]]:
        country, search_type, limit, _ = group
        match search_type:
            case SearchType.VAT:
                return _exact({term: CompanyKey(country, term) for term in terms})
            case SearchType.PRODU:
                units = {UnitKey(country, term): term for term in terms}
                companies = await self.register.companies_of_units(units)
                return _exact({units[unit]: company for unit, company in companies.items()})
            case SearchType.PHONE:
                phones = await self.register.companies_of_phones(country, set(terms))
                return {phone: _of_phone(keys, limit) for phone, keys in phones.items()}
            case SearchType.EAN:
                return _exact(await self._by_identifier(country, terms))
            case SearchType.NAME | SearchType.ADDRESS | SearchType.EMAIL | SearchType.DOMAIN:
                return await self._searched(group, terms)

    async def _by_identifier(
        self, country: Country, identifiers: Sequence[str]
    ) -> Mapping[str, CompanyKey]:
        listed = await self.register.holders(identifiers)
        holders: dict[str, CompanyKey | UnitKey] = {}
        for identifier in identifiers:
            holder = listed.get(identifier) or _named_by(identifier)
            if holder is not None:
                holders[identifier] = holder
        of_units = await self.register.companies_of_units(
            {UnitKey.parse(h) for h in holders.values()}
        )
        companies = {
            # A holder that is not a unit is a company; an unknown one matches nothing.
            identifier: of_units.get(UnitKey.parse(holder), CompanyKey.parse(holder))
            for identifier, holder in holders.items()
        }
        return {identifier: key for identifier, key in companies.items() if key.country is country}

    async def _searched(
        self, group: Group, terms: Sequence[str]
    ) -> Mapping[str, Sequence[SearchHit]]:
        country, search_type, limit, client = group
        search = {
            SearchType.NAME: self.searches.by_name,
            SearchType.ADDRESS: self.searches.by_address,
        }.get(search_type, self.searches.by_contact)
        different = list(dict.fromkeys(terms))
        hits = await asyncio.gather(
            *(search(country, term, limit, client=client) for term in different)
        )
        return dict(zip(different, hits, strict=True))

    async def _details(
        self, request: LookupRequest, ranked: Sequence[Candidate], every: Sequence[Candidate]
    ) -> "_Details":
        names = [one.term for one in request.questions if one.type is SearchType.NAME]
        if not every and names:
            shared = self.searches.many_share(request.country, names[0], client=request.client)
            return _NO_DETAILS._replace(is_shared=await shared)
        if not ranked or not _is_detailed(request):
            return _NO_DETAILS
        best, levels = ranked[0], request.group_levels
        async with self.queue.turn(request.client):
            return _Details(
                await read_parts(self.register, self.searches, best, request),
                await on_day(self.register.history, best, request.as_of, day_of(self.now()))
                if request.as_of
                else None,
                await self._group(best, levels, request.client) if levels else None,
            )

    async def _group(self, found: Candidate, levels: int, client: str) -> bytes:
        limits = self.group_limits
        return await group_body(
            self.register, self.searches, found, levels=levels, client=client, limits=limits
        )


class _Details(NamedTuple):
    """The details of a company that are read after it has been found."""

    extras: Extras = NO_EXTRAS
    #: The company as it was on a day, if one is given, or why it is not known.
    earlier: tuple[Candidate, tuple[str, str]] | Failure | None = None
    group: bytes | None = None
    #: True if no company was found, and many have the words of the name.
    is_shared: bool = False


_NO_DETAILS: Final = _Details()


def _is_detailed(request: LookupRequest) -> bool:
    return not READ_APART.isdisjoint(request.include) or bool(request.as_of or request.group_levels)


def _reply(
    request: LookupRequest, best: Candidate, every: Sequence[Candidate], details: _Details
) -> LookupReply | Failure:
    extras, earlier, group, _ = details
    if isinstance(earlier, Failure):
        return earlier
    if group is not None:
        return LookupReply(body=group, tag="", vat=best.hit.key.vat)
    if Include.ALTERNATIVES in request.include:
        others = [one for one in every if one is not best][:MAX_ALTERNATIVES]
        extras = extras._replace(alternatives=[(one.hit.score, one.row.core) for one in others])
    if earlier is not None:
        best, day = earlier
        extras = extras._replace(as_of=day)
    return answer(best, request.include, extras)


def _named_by(identifier: str) -> CompanyKey | UnitKey | None:
    try:
        return parse_participant(identifier).holder
    except InvalidIdentifier:
        return None


def _group(request: LookupRequest, turn: int) -> Group:
    limit = 1 + MAX_ALTERNATIVES if Include.ALTERNATIVES in request.include else 1
    return request.country, request.questions[turn].type, limit, request.client


def _is_open(request: LookupRequest, turn: int, candidates: Iterable[Candidate]) -> bool:
    """Returns True if the next reading of a request is to be looked up.

    A number whose inferred type matches may also be a phone number: an alternative. A text that
    some name resembles may be an address.
    """
    if turn >= len(request.questions):
        return False
    found = next((one for one in candidates if not one.hit.is_other), None)
    if found is None:
        return True
    match request.questions[turn].type:
        case SearchType.PHONE:
            return Include.ALTERNATIVES in request.include
        case SearchType.ADDRESS:
            return found.hit.score < WELL_MATCHED
        case _:
            return False


def _goodness(candidate: Candidate) -> tuple[bool, float]:
    return not candidate.hit.is_other, candidate.hit.score


def _best_first(candidates: Collection[Candidate]) -> list[Candidate]:
    if {SearchType.NAME, SearchType.ADDRESS} <= {one.type for one in candidates}:
        return sorted(candidates, key=_goodness, reverse=True)
    return list(candidates)


def _of_phone(keys: Sequence[CompanyKey], limit: int) -> Sequence[SearchHit]:
    hits = [SearchHit(key, _EXACT) for key in keys[:limit]]
    return [hits[0]._replace(others=len(keys) - 1), *hits[1:]] if hits else []


def _exact(keys: Mapping[str, CompanyKey]) -> Mapping[str, Sequence[SearchHit]]:
    return {term: (SearchHit(key, _EXACT),) for term, key in keys.items()}


def _logged_as(request: Any) -> str:
    match request:
        case LookupRequest():
            return request.questions[0].type
        case PartRequest():
            return request.part
        case _:
            return _LOGGED_AS[type(request)]


#: Failures of the service itself; the others are answers.
_FAULTS: Final = frozenset(
    {FailureCode.UNAVAILABLE, FailureCode.INTERNAL, FailureCode.DEADLINE_EXCEEDED}
)


def report(
    asked: Sequence[RpcRequest[Any]],
    results: Sequence[Result],
    seconds: float,
    *,
    slow: float,
) -> None:
    """Logs requests that failed or took `slow` seconds, without their terms.

    The gateway has a line for each request; a term may be a person's name.
    """
    milliseconds = round(seconds * 1000, 2)
    for item, result in zip(asked, results, strict=True):
        is_fault = isinstance(result, Failure) and result.code in _FAULTS
        if seconds < slow and not is_fault:
            continue
        request = item.request
        log.info(
            "lookup.done",
            **item.ids,
            country=request.country,
            search_type=_logged_as(request),
            result=result.code if isinstance(result, Failure) else "found",
            duration_ms=milliseconds,
            list_size=len(asked),
        )
