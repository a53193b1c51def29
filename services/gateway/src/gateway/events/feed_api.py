"""The event feed over HTTP: pages, single events, and a stream of server-sent events."""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Annotated, Any

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from pydantic import Field, PlainValidator, ValidationInfo

from common.contracts.company import CompanyKey, Country
from common.contracts.events import (
    MAX_EVENTS,
    EventRequest,
    EventType,
    FeedEvent,
    FeedFilter,
    FeedPage,
    FeedRequest,
)
from common.contracts.watchlists import MAX_READ, WATCHLIST_ID, WatchlistId
from common.domain.numbers import InvalidIdentifier, read_company
from common.domain.sentences import did_you_mean
from common.domain.written import read_country
from gateway.access.protected import Protection
from gateway.events.feed import (
    Events,
    ReadEvents,
    is_of_all,
    without_protected,
    write_cursor,
)
from gateway.http.middleware import REQUEST_CONTEXT, RequestContext, parameters_of
from gateway.http.parameters import (
    Invalid,
    Parameters,
    Query,
    context_of,
    number,
    read_moment,
    single,
)
from gateway.http.responses import LEFT_OUT, NO_STORE, json_response, with_left_out

EVENTS_PATH = "/api/events"
STREAM_PATH = "/api/events/stream"
EVENT_PATH = "/api/events/{id}"

AFTER, LAST_EVENT_ID = "after", "Last-Event-ID"
#: `after` for a reader of all that is kept, for one that starts at the end, and for a page of the
#: newest events.
OLDEST, LATEST, RECENT = "oldest", "latest", "recent"
DEFAULT_LIMIT = 100
#: Events that a stream reads at once.
STREAM_LIMIT = 100
#: Seconds.
MAX_WAIT = 30
MAX_COMPANIES = 100

#: A position in hexadecimal: cursors sort as text.
_CURSOR = re.compile(r"[0-9a-f]{12}")
#: Each event type, each family (`company.*`), and `*`.
_PATTERNS = frozenset(pattern for event_type in EventType for pattern in event_type.patterns)

#: Milliseconds before a client connects again, and a comment that intermediaries pass on at once.
_HELLO = b"retry: 1000\n\n"
_HEARTBEAT = b": heartbeat\n\n"


def _since(values: Sequence[str], info: ValidationInfo) -> datetime:
    value, faults = single(values), []
    if AFTER in context_of(info)["parameters"]:
        faults.append(f"cannot be given beside {AFTER}")
    try:
        moment = read_moment(value, "must be a time with its offset, such as 2026-03-02T05:00:00Z")
    except Invalid as invalid:
        raise Invalid(*faults, *invalid.faults) from None
    if faults:
        raise Invalid(*faults)
    return moment


def _start(*words: str) -> PlainValidator:
    known = f"{', '.join(words[:-1])} or {words[-1]}"

    def read(values: Sequence[str] | str) -> str:
        value = values if isinstance(values, str) else single(values)
        if value not in words and not _CURSOR.fullmatch(value):
            raise Invalid(f"must be the cursor of an earlier answer, {known}")
        return value

    return PlainValidator(read)


def _separated(values: Sequence[str]) -> list[str]:
    return [part.strip() for part in single(values).split(",")]


def _types(values: Sequence[str]) -> tuple[EventType, ...]:
    chosen: dict[EventType, None] = {}
    for pattern in _separated(values):
        matching = [event_type for event_type in EventType if pattern in event_type.patterns]
        if not matching:
            raise Invalid(
                "must be a comma-separated list of event types (GET /api/event-types lists "
                "them), families such as company.*, or *" + did_you_mean(pattern, _PATTERNS)
            )
        chosen |= dict.fromkeys(matching)
    return tuple(chosen)


def _countries(values: Sequence[str]) -> tuple[Country, ...]:
    found = dict.fromkeys(map(read_country, _separated(values)))
    if None in found:
        raise Invalid(f"must be a comma-separated list of {', '.join(Country)}")
    return tuple(country for country in found if country is not None)


def _companies(values: Sequence[str]) -> tuple[CompanyKey, ...]:
    given = _separated(values)
    form = (
        f"must be a comma-separated list of at most {MAX_COMPANIES} companies, each its "
        "country and registration number, such as dk:12345674,no:123456785"
    )
    if len(given) > MAX_COMPANIES:
        raise Invalid(form)
    try:
        return tuple(dict.fromkeys(map(read_company, given)))
    except InvalidIdentifier as invalid:
        raise Invalid(f"{form} ({invalid})") from None


def _watchlists(values: Sequence[str]) -> tuple[WatchlistId, ...]:
    given = _separated(values)
    if len(given) > MAX_READ or not all(map(WATCHLIST_ID.fullmatch, given)):
        raise Invalid(
            f"must be a comma-separated list of at most {MAX_READ} ids of watchlists; "
            "GET /api/watchlists lists yours"
        )
    return tuple(dict.fromkeys(map(WatchlistId, given)))


class _FeedQuery(Query):
    since: Annotated[datetime | None, PlainValidator(_since)] = None
    after: Annotated[str | None, _start(OLDEST, LATEST)] = None
    last_event_id: Annotated[str | None, _start(OLDEST, LATEST)] = Field(None, alias=LAST_EVENT_ID)
    types: Annotated[tuple[EventType, ...], PlainValidator(_types)] = ()
    countries: Annotated[tuple[Country, ...], PlainValidator(_countries)] = ()
    companies: Annotated[tuple[CompanyKey, ...], PlainValidator(_companies)] = ()
    watchlist: Annotated[tuple[WatchlistId, ...], PlainValidator(_watchlists)] = ()

    def request(self, owner: str, after: str | None, limit: int, **fields: Any) -> FeedRequest:
        """Returns the request of an owner for the events after a cursor or word."""
        return FeedRequest(
            owner=owner,
            after=None if after in (None, OLDEST, LATEST, RECENT) else int(after, 16),
            latest=after == LATEST,
            recent=after == RECENT,
            filter=FeedFilter(
                types=self.types,
                countries=self.countries,
                companies=self.companies,
                watchlists=self.watchlist,
            ),
            limit=limit,
            **fields,
        )


class _PageQuery(_FeedQuery):
    after: Annotated[str | None, _start(OLDEST, LATEST, RECENT)] = None
    limit: Annotated[int, number(1, MAX_EVENTS)] = DEFAULT_LIMIT
    wait: Annotated[int, number(0, MAX_WAIT)] = 0


def parse_events(parameters: Parameters, *, owner: str) -> tuple[FeedRequest, int]:
    """Returns the request for a page, and the seconds to wait for its first event.

    Raises InvalidParameter.
    """
    query = _PageQuery.parse(parameters)
    request = query.request(owner, query.after, query.limit, since=query.since)
    return request, query.wait


def parse_stream(parameters: Parameters, *, last_event_id: str | None, owner: str) -> FeedRequest:
    """Returns the request for a stream, by default from the end; raises InvalidParameter."""
    given: Mapping[str, Any] = parameters
    if last_event_id is not None:
        given = {**parameters, LAST_EVENT_ID: last_event_id}
    query = _FeedQuery.parse(given)
    if last_event_id is not None:
        # A client that connects again sends the query of its first request.
        return query.request(owner, last_event_id, STREAM_LIMIT)
    begin = LATEST if query.since is None else OLDEST
    return query.request(owner, query.after or begin, STREAM_LIMIT, since=query.since)


def events_handler(read: ReadEvents, protection: Protection) -> Handler:
    """Returns the handler of pages."""

    async def events(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        key = context.required_key
        feed_request, wait = parse_events(parameters_of(request), owner=key.owner)
        page = await read.page(
            feed_request,
            key,
            wait=wait,
            caller=context.caller,
            is_abandoned=lambda: request.transport is None,
        )
        if not _is_limited(protection, context, feed_request):
            return json_response(_document(page))
        shown = page.model_copy(update={"events": tuple(without_protected(page.events))})
        return with_left_out(json_response(_document(shown)), len(page.events) - len(shown.events))

    return events


def _is_limited(protection: Protection, context: RequestContext, request: FeedRequest) -> bool:
    return is_of_all(request.filter) and protection.leaves_out(context.key)


def event_handler(events: Events) -> Handler:
    """Returns the handler of single events."""

    async def event(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        event_request = EventRequest(owner=context.required_key.owner, id=request.match_info["id"])
        reply = await events.event(event_request, caller=context.caller)
        return json_response(reply.body)

    return event


def stream_handler(read: ReadEvents, protection: Protection) -> Handler:
    """Returns the handler of the stream; problems before its start are ordinary responses."""

    async def stream(request: web.Request) -> web.StreamResponse:
        context = request[REQUEST_CONTEXT]
        key = context.required_key
        feed_request = parse_stream(
            parameters_of(request),
            last_event_id=request.headers.get(LAST_EVENT_ID),
            owner=key.owner,
        )
        pages = read.stream(feed_request, key, caller=context.caller)
        await anext(pages)
        is_limited = _is_limited(protection, context, feed_request)
        return ServerSentEvents(pages, is_limited=is_limited)

    return stream


class ServerSentEvents(web.StreamResponse):
    """A response that is sent while its events arrive."""

    def __init__(
        self, pages: AsyncGenerator[Sequence[FeedEvent]], *, is_limited: bool = False
    ) -> None:
        """`is_limited` leaves out the events of protected companies."""
        super().__init__(
            headers={hdrs.CONTENT_TYPE: "text/event-stream", hdrs.CACHE_CONTROL: NO_STORE}
        )
        self._pages = pages
        self._is_limited = is_limited

    async def write_eof(self, data: bytes = b"") -> None:
        """Sends the events; aiohttp calls it when the middleware has added its headers."""
        async with aclosing(self._pages) as pages:
            await self.write(_HELLO)
            async for page in pages:
                await self.write(self._frames(page) or _HEARTBEAT)
        await super().write_eof(data)

    def _frames(self, page: Sequence[FeedEvent]) -> bytes:
        """Returns the events of a page; a comment says how many were left out."""
        shown = without_protected(page) if self._is_limited else page
        left_out = len(page) - len(shown)
        comment = f": {LEFT_OUT}: {left_out}\n\n".encode() if left_out else b""
        return b"".join(map(_frame, shown)) + comment


def _document(page: FeedPage) -> bytes:
    return b'{"events":[%b],"cursor":"%b","has_more":%b}' % (
        b",".join(event.body for event in page.events),
        write_cursor(page.position).encode(),
        b"true" if page.has_more else b"false",
    )


def _frame(event: FeedEvent) -> bytes:
    # An event's JSON has no line breaks.
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        write_cursor(event.position).encode(),
        event.type.encode(),
        event.body,
    )
