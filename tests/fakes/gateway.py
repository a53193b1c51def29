"""Fakes of the gateway's ports, and the application over them."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from uuid import UUID

import orjson
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient
from prometheus_client import CollectorRegistry

from common.contracts.company import CompanyKey, Country
from common.contracts.contract import TraceContext
from common.contracts.events import (
    EventReply,
    EventRequest,
    EventType,
    FeedEvent,
    FeedPage,
    FeedRequest,
)
from common.contracts.find import ExportPage, ExportRequest, FindReply, FindRequest
from common.contracts.lookup import (
    ListedPart,
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    SourcesReply,
    SourcesRequest,
    SuggestReply,
    SuggestRequest,
)
from common.contracts.match import MatchReply, MatchRequest, WeighedRecord
from common.contracts.watchlists import (
    DigestState,
    LinkReply,
    LinkRequest,
    Period,
    WatchedReply,
    WatchedRequest,
    packed,
)
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from common.runtime import tracing
from common.runtime.processes import Workers
from common.runtime.public_port.rates import Rate
from gateway.access.clients import Caller
from gateway.access.keys import ENDED_KEPT, ApiKey, write_key
from gateway.events.notices import FeedNotices
from gateway.http.responses import refusals
from gateway.http.xml_processes import XmlRenderer
from gateway.problems import Problem, ServiceUnavailable, WatchlistNotFound
from gateway.routes import Dependencies, application
from gateway.settings import Policy
from gateway.webhooks import Webhooks
from tests.builders.keys import a_presented_key, an_api_key
from tests.builders.openapi import example
from tests.fakes.public_server import PublicServer

Q = TypeVar("Q")
R = TypeVar("R")

A_REPLY = LookupReply(body=orjson.dumps(example("Company")), tag="1-dk12345674-3", vat="12345674")
#: The example of a page of each list.
PAGES = {
    part: orjson.dumps(example(name))
    for part, name in {
        ListedPart.PRODUCTION_UNITS: "UnitPage",
        ListedPart.EINVOICING: "EinvoicingPage",
        ListedPart.OWNERS: "OwnerPage",
        ListedPart.ROLES: "RolePage",
        ListedPart.HISTORY: "HistoryPage",
        ListedPart.ACCOUNTS: "AccountsPage",
    }.items()
}
A_PAGE = PartReply(body=PAGES[ListedPart.PRODUCTION_UNITS])
A_LIST = SuggestReply(body=orjson.dumps(example("SuggestionList")))
NONE_FOUND = FindReply(total=0, has_more=False)
NO_RECORDS = MatchReply(records=())
THE_SOURCES = SourcesReply.model_validate(example("RegisterSources"))
A_FEED = "wl_5d2f8b1e0c7a4e9f8b6d3a1c2e4f6a8b"
#: Its numbers are text, packed.
A_PORTFOLIO = "wl_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
A_DIGEST = LinkReply(
    address="news@example.com",
    period=Period.DAILY,
    state=DigestState.UNCONFIRMED,
    watchlists=("Customers",),
)
AN_ANSWER = WebhookReply(status=200, body=b"{}")


@dataclass
class ManualClock:
    """A monotonic clock that a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def _open_gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


@dataclass
class FakeService(Generic[Q, R]):
    """A service with a given answer; records the requests."""

    answer: R | Exception
    asked: list[Q] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)
    #: Whose turn each request takes.
    clients: list[str] = field(default_factory=list)

    async def reply(self, request: Q, caller: Caller) -> R:
        self.asked.append(request)
        self.clients.append(caller.client)
        self.request_ids.append(caller.request_id)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class FakeLookups(FakeService[LookupRequest, LookupReply]):
    """`Lookups` with a given answer."""

    answer: LookupReply | Exception = A_REPLY
    traces: list[TraceContext | None] = field(default_factory=list)
    timeouts: list[float | None] = field(default_factory=list)
    #: Cleared, it holds requests back until it is set.
    gate: asyncio.Event = field(default_factory=_open_gate)
    #: Set when a request has come.
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def look_up(
        self, request: LookupRequest, *, caller: Caller, timeout: float | None = None
    ) -> LookupReply:
        self.traces.append(tracing.CURRENT.get())
        self.timeouts.append(timeout)
        self.reached.set()
        await self.gate.wait()
        return await self.reply(request, caller)

    def terms(self) -> list[list[tuple[str, str]]]:
        """The questions of each request."""
        return [[(q.type.value, q.term) for q in request.questions] for request in self.asked]


@dataclass
class FakeSuggestions(FakeService[SuggestRequest, SuggestReply]):
    """`Suggestions` with a given answer."""

    answer: SuggestReply | Exception = A_LIST

    async def suggest(self, request: SuggestRequest, *, caller: Caller) -> SuggestReply:
        return await self.reply(request, caller)


@dataclass
class FakeParts(FakeService[PartRequest, PartReply]):
    """`Parts` with the example of each list, or another given answer."""

    answer: PartReply | Exception = A_PAGE

    async def part(self, request: PartRequest, *, caller: Caller) -> PartReply:
        reply = await self.reply(request, caller)
        return PartReply(body=PAGES[request.part]) if reply is A_PAGE else reply


@dataclass
class FakeSources(FakeService[SourcesRequest, SourcesReply]):
    """`RegisterSources` with a given answer."""

    answer: SourcesReply | Exception = THE_SOURCES

    async def sources(self, *, caller: Caller) -> SourcesReply:
        return await self.reply(SourcesRequest(), caller)


@dataclass
class FakeFinds(FakeService[FindRequest, FindReply]):
    """`Finds` with a given answer for each country."""

    answer: FindReply | Exception = NONE_FOUND
    #: Instead of `answer`.
    of: dict[Country, FindReply] = field(default_factory=dict)

    async def companies(self, request: FindRequest, *, caller: Caller) -> FindReply:
        reply = await self.reply(request, caller)
        limited = reply.model_copy(update={"limited": request.numbers is not None})
        return self.of.get(request.country, limited)


@dataclass
class FakeMatches(FakeService[MatchRequest, MatchReply]):
    """`Matches` that find no company, or the given candidates of each record."""

    answer: MatchReply | Exception = NO_RECORDS
    #: By country and the record's id.
    of: dict[tuple[Country, str], WeighedRecord] = field(default_factory=dict)

    async def match(self, request: MatchRequest, *, caller: Caller) -> MatchReply:
        await self.reply(request, caller)
        return MatchReply(
            records=tuple(
                self.of.get((request.country, record.id), WeighedRecord())
                for record in request.records
            )
        )


@dataclass
class FakeExports:
    """`Exports` in memory: companies by number, each its number on a line."""

    numbers: list[str] = field(default_factory=list)
    #: Companies of a page.
    size: int = 2
    position: int = 42
    #: Raised by the next requests, one by each.
    faults: list[Exception] = field(default_factory=list)
    asked: list[ExportRequest] = field(default_factory=list)
    #: Bytes that make each line longer.
    padding: int = 0
    #: Cleared, it holds pages back until it is set: further ones, or the first as well.
    gate: asyncio.Event = field(default_factory=_open_gate)
    holds_first: bool = False
    #: Requests that it holds back.
    waiting: int = 0
    #: False for a lookup service that knows no numbers.
    is_limited: bool = True

    async def export(self, request: ExportRequest, *, caller: Caller) -> ExportPage:  # noqa: ARG002 (of the port)
        self.asked.append(request)
        if request.after or self.holds_first:
            self.waiting += 1
            try:
                await self.gate.wait()
            finally:
                self.waiting -= 1
        if self.faults:
            raise self.faults.pop(0)
        wanted = request.filter.numbers if request.filter and self.is_limited else None
        left = [
            number
            for number in sorted(self.numbers)
            if number > request.after and (wanted is None or packed([int(number)]) in wanted)
        ]
        page = left[: self.size]
        return ExportPage(
            lines=b"".join(b'"%b"\n' % number.encode().ljust(self.padding) for number in page),
            count=len(page),
            last=page[-1] if len(left) > len(page) else None,
            limited=wanted is not None,
            position=self.position + len(self.asked) - 1,
        )


@dataclass
class FakeLeases:
    """The leases of all gateways; each `Lease` has a holder of its own."""

    held: dict[str, int] = field(default_factory=dict)
    fault: Exception | None = None
    _holders: Iterator[int] = field(default_factory=lambda: count(1))

    def new(self) -> "FakeLease":
        return FakeLease(self, next(self._holders))


@dataclass
class FakeLease:
    """`Lease` in memory, without a span."""

    leases: FakeLeases
    holder: int

    async def take(self, job: str, *, span: timedelta) -> bool:  # noqa: ARG002 (of the port)
        if self.leases.fault is not None:
            raise self.leases.fault
        return self.leases.held.setdefault(job, self.holder) == self.holder

    async def give_up(self, job: str) -> None:
        if self.leases.held.get(job) == self.holder:
            del self.leases.held[job]


@dataclass
class FakeWebhooks(FakeService[WebhookRequest, WebhookReply]):
    """`Webhooks` with a given answer."""

    answer: WebhookReply | Exception = AN_ANSWER

    async def do(self, request: WebhookRequest, *, caller: Caller) -> WebhookReply:
        return await self.reply(request, caller)


@dataclass
class FakeWatchlists:
    """`Watchlists` with given lists, whose owners do not matter, and one with a feed."""

    lists: dict[str, set[CompanyKey]] = field(
        default_factory=lambda: {
            A_FEED: {CompanyKey.parse("dk:12345674")},
            A_PORTFOLIO: {CompanyKey.parse(key) for key in ("dk:37896004", "no:923609016")},
        }
    )
    #: The SHA-256 of the tokens of feeds.
    feeds: dict[str, str] = field(default_factory=lambda: {A_FEED: sha256(b"invented").hexdigest()})

    async def watched(
        self,
        request: WatchedRequest,
        *,
        caller: Caller,  # noqa: ARG002
    ) -> WatchedReply:
        if not self.lists.keys() >= set(request.watchlists):
            raise WatchlistNotFound("you have no watchlist with this id")
        if request.token_hash is not None:
            if request.token_hash != self.feeds.get(request.watchlists[0]):
                raise WatchlistNotFound("you have no watchlist with this id")
            at = datetime(2026, 3, 2, 12, tzinfo=UTC)
            return WatchedReply(companies=(), name="Customers", owner="acme", updated_at=at)
        companies = set().union(*(self.lists[one] for one in request.watchlists))
        if request.numbers:
            numbers = {
                country: packed(int(key.vat) for key in companies if key.country is country)
                for country in Country
            }
            return WatchedReply(companies=None, numbers=numbers)
        if request.companies is not None:
            companies &= set(request.companies)
        return WatchedReply(companies=tuple(companies))


@dataclass
class FakeDigestLinks(FakeService[LinkRequest, LinkReply]):
    """`DigestLinks` with a given answer."""

    answer: LinkReply | Exception = A_DIGEST

    async def use_link(self, request: LinkRequest, *, caller: Caller) -> LinkReply:
        return await self.reply(request, caller)


@dataclass
class FakeEvents:
    """`Events` in memory; the position of an event is its place in the list."""

    stored: list[FeedEvent] = field(default_factory=list)
    #: The position of the newest event that has expired.
    expired: int = 0
    #: Positions without an event that matches, ahead of the events; a read covers one of them.
    unmatched: int = 0
    fault: Exception | None = None
    asked: list[FeedRequest] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)
    #: Set by each request.
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, *bodies: bytes, kind: EventType = EventType.COMPANY_UPDATED) -> None:
        for body in bodies:
            event = FeedEvent(position=len(self.stored) + 1, type=kind, body=body)
            self.stored.append(event)

    async def page(self, request: FeedRequest, *, caller: Caller) -> FeedPage:
        self.asked.append(request)
        self.request_ids.append(caller.request_id)
        self.reached.set()
        if self.fault is not None:
            raise self.fault
        if self.unmatched:
            await asyncio.sleep(0)  # as any real read, it lets others run
            after = request.after or 0
            return FeedPage(position=after + 1, has_more=after + 1 < self.unmatched)
        newest = len(self.stored)
        after = newest if request.latest else request.after or self.expired
        if request.recent:
            after = max(newest - request.limit, 0)
        if after < self.expired:
            return FeedPage(position=self.expired, expired=True)
        events = tuple(self.stored[after : after + request.limit])
        position = after + len(events)
        return FeedPage(events=events, position=position, has_more=position < newest)

    async def event(self, request: EventRequest, *, caller: Caller) -> EventReply:
        self.request_ids.append(caller.request_id)
        if self.fault is not None:
            raise self.fault
        return EventReply(body=b'{"id": "' + request.id.encode() + b'"}')


@dataclass
class FakeApiKeys:
    """`ApiKeys` in memory; `fault` is raised instead of finding, and reads are counted.

    Reads wait while `gate` is clear.
    """

    keys: dict[str, ApiKey] = field(default_factory=dict)
    fault: Exception | None = None
    #: Raised by the operations on an owner's keys.
    owned_fault: Exception | None = None
    reads: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=_open_gate)

    async def get(self, key_id: str) -> ApiKey | None:
        self.reads.append(key_id)
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        return self.keys.get(key_id)

    async def add(self, key: ApiKey) -> None:
        self.keys[key.id] = key

    async def of_owner(self, owner: str, *, at: datetime) -> list[ApiKey]:
        self._check()
        long_ago = at - ENDED_KEPT
        return sorted(
            (
                key
                for key in self.keys.values()
                if key.owner == owner
                and (key.revoked_at or at) >= long_ago
                and (key.expires_at or at) >= long_ago
            ),
            key=lambda key: (-key.created_at.timestamp(), key.id),
        )

    async def add_within(self, key: ApiKey, maximum: int, *, at: datetime) -> bool:
        is_room = len(await self.of_owner(key.owner, at=at)) < maximum
        if is_room:
            self.keys[key.id] = key
        return is_room

    async def end(self, owner: str, key_id: str, *, at: datetime, by: str) -> bool:
        self._check()
        key = self.keys.get(key_id)
        if key is None or key.owner != owner:
            return False
        if key.revoked_at is None:
            self.keys[key_id] = replace(key, revoked_at=at, ended_by=by)
        return True

    async def expire(self, owner: str, key_id: str, *, at: datetime, by: str) -> bool:
        self._check()
        key = self.keys.get(key_id)
        if key is None or key.owner != owner:
            return False
        if key.revoked_at is None and (key.expires_at is None or key.expires_at > at):
            self.keys[key_id] = replace(key, expires_at=at, ended_by=by)
        return True

    def _check(self) -> None:
        if self.owned_fault is not None:
            raise self.owned_fault

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        key = self.keys.get(key_id)
        if key is not None and key.revoked_at is None:
            self.keys[key_id] = replace(key, revoked_at=at)
        return key is not None


def database_unavailable() -> Problem:
    return ServiceUnavailable("the API key cannot be checked now")


@dataclass
class Fakes:
    """Stands for everything outside of the application."""

    lookups: FakeLookups = field(default_factory=FakeLookups)
    suggestions: FakeSuggestions = field(default_factory=FakeSuggestions)
    parts: FakeParts = field(default_factory=FakeParts)
    finds: FakeFinds = field(default_factory=FakeFinds)
    matches: FakeMatches = field(default_factory=FakeMatches)
    sources: FakeSources = field(default_factory=FakeSources)
    webhooks: FakeWebhooks = field(default_factory=FakeWebhooks)
    events: FakeEvents = field(default_factory=FakeEvents)
    exports: FakeExports = field(default_factory=FakeExports)
    leases: FakeLeases = field(default_factory=FakeLeases)
    watchlists: FakeWatchlists = field(default_factory=FakeWatchlists)
    digest_links: FakeDigestLinks = field(default_factory=FakeDigestLinks)
    notices: FeedNotices = field(default_factory=FeedNotices)
    keys: FakeApiKeys = field(default_factory=FakeApiKeys)
    clock: ManualClock = field(default_factory=ManualClock)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def dependencies(self, *, webhooks: Webhooks | None = None) -> Dependencies:
        ids, calls = count(1), count(1)
        return Dependencies(
            lookups=self.lookups,
            suggestions=self.suggestions,
            parts=self.parts,
            finds=self.finds,
            matches=self.matches,
            register_sources=self.sources,
            webhooks=webhooks or self.webhooks,
            events=self.events,
            exports=self.exports,
            new_lease=self.leases.new,
            watchlists=self.watchlists,
            digest_links=self.digest_links,
            signals=self.notices,
            keys=self.keys,
            owned_keys=self.keys,
            renderer=XmlRenderer(Workers(1), inline=1_000_000),
            clock=self.clock,
            new_id=lambda: f"id-{next(ids)}",
            new_call_id=lambda: UUID(int=next(calls)),
            registry=self.registry,
        )


@dataclass
class Gateway(Fakes):
    """The real application on fakes, and a client that talks HTTP to it."""

    client: TestClient[web.Request, web.Application] = field(init=False)

    async def get(self, path: str, **options: Any) -> ClientResponse:
        """The answer as it came: redirects are not followed."""
        return await self.client.get(path, allow_redirects=False, **options)

    def issue(self, **fields: Any) -> dict[str, str]:
        """A key in the store, as the header that presents it."""
        presented = a_presented_key(len(self.keys.keys) + 1)
        key = an_api_key(presented, **fields)
        self.keys.keys[key.id] = key
        return {"X-API-Key": write_key(presented)}


@asynccontextmanager
async def gateway(
    *,
    lookups: FakeLookups | None = None,
    registrar: Webhooks | None = None,
    ports: Mapping[str, Any] = MappingProxyType({}),
    **policy: Any,
) -> AsyncIterator[Gateway]:
    """A gateway for the body's time; `policy` replaces the limit of 1,000 requests a minute.

    `registrar` stands in place of the fake `webhooks`, and `ports` of others by their names.
    """
    running = Gateway(lookups or FakeLookups())
    app = application(
        replace(running.dependencies(webhooks=registrar), **ports),
        Policy(**{"anonymous_rate": Rate(1000, 60), "key_rate": Rate(1000, 60), **policy}),
    )
    async with TestClient(PublicServer(app, refusals(lambda: "unread"))) as running.client:
        yield running


async def problem_of(answer: ClientResponse) -> dict[str, Any]:
    """The problem document of a response; asserts what all of them have in common."""
    assert answer.content_type == "application/problem+json"
    body: dict[str, Any] = orjson.loads(await answer.read())
    assert body["status"] == answer.status
    assert body["type"] == "urn:problem:" + body["code"].replace("_", "-")
    assert body["request_id"] == answer.headers["X-Request-Id"]
    assert body["title"]
    assert body["detail"]
    assert answer.headers["Cache-Control"] == "no-store"
    return body


async def code_of(answer: ClientResponse) -> tuple[int, str]:
    """Status and code of a problem."""
    return answer.status, (await problem_of(answer))["code"]
