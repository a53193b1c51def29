"""The event feed over HTTP: pages, single events, and a stream of server-sent events."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.contracts.feed import EventRequest, FeedEvent, FeedPage
from gateway.events.queries import LAST_EVENT_ID, parse_events, parse_stream, write_cursor
from gateway.events.readers import Events, ReadEvents
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.responses import NO_STORE, json_response

EVENTS_PATH = "/api/events"
STREAM_PATH = "/api/events/stream"
EVENT_PATH = "/api/events/{id}"

#: Milliseconds before a client connects again, and a comment that intermediaries pass on at once.
_HELLO = b"retry: 1000\n\n"
_HEARTBEAT = b": heartbeat\n\n"


def events_handler(read: ReadEvents) -> Handler:
    """Returns the handler of pages."""

    async def events(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        key = context.required_key
        query = parse_events(parameters_of(request), owner=key.owner)
        page = await read.page(
            query.request,
            key,
            wait=query.wait,
            request_id=context.request_id,
            is_abandoned=lambda: request.transport is None,
        )
        return json_response(_document(page))

    return events


def event_handler(events: Events) -> Handler:
    """Returns the handler of single events."""

    async def event(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        asked = EventRequest(owner=context.required_key.owner, id=request.match_info["id"])
        reply = await events.event(asked, request_id=context.request_id)
        return json_response(reply.body)

    return event


def stream_handler(read: ReadEvents) -> Handler:
    """Returns the handler of the stream; problems before its start are ordinary responses."""

    async def stream(request: web.Request) -> web.StreamResponse:
        context = request[REQUEST_CONTEXT]
        key = context.required_key
        asked = parse_stream(
            parameters_of(request),
            last_event_id=request.headers.get(LAST_EVENT_ID),
            owner=key.owner,
        )
        pages = read.stream(asked, key, request_id=context.request_id)
        await anext(pages)
        return ServerSentEvents(pages)

    return stream


class ServerSentEvents(web.StreamResponse):
    """A response that is sent while its events arrive."""

    def __init__(self, pages: AsyncGenerator[Sequence[FeedEvent]]) -> None:
        super().__init__(
            headers={hdrs.CONTENT_TYPE: "text/event-stream", hdrs.CACHE_CONTROL: NO_STORE}
        )
        self._pages = pages

    async def write_eof(self, data: bytes = b"") -> None:
        """Sends the events; aiohttp calls it when the middleware has added its headers."""
        async with aclosing(self._pages) as pages:
            await self.write(_HELLO)
            async for page in pages:
                await self.write(b"".join(map(_frame, page)) or _HEARTBEAT)
        await super().write_eof(data)


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
