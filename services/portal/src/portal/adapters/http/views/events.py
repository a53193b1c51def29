"""The feed of events, as pages and live."""

import asyncio
import json
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from company_registry import (
    ApiError,
    AsyncClient,
    CursorExpired,
    EventPage,
    InvalidParameter,
    NoResponse,
    RateLimited,
)
from portal.adapters.http.context import DEPENDENCIES, SIGNED_IN, registry_of
from portal.adapters.http.middleware import set_headers
from portal.adapters.http.pages import fragment, page
from portal.adapters.http.views.search import COUNTRIES
from portal.domain.pasted import REGISTERS
from portal.domain.webhooks import EventFilter, read_filter
from portal.domain.wording import faults

_PAGE: Final = 25
_LATEST: Final = "latest"
_RECENT: Final = "recent"

#: Seconds that the API holds a request of a live page.
_WAIT: Final = 20
#: Seconds after which a live page connects again, and its session is checked.
_STREAM_LIFETIME: Final = 600.0
#: Seconds after an outage of the API.
_PAUSE: Final = 2.0


async def listing(request: web.Request) -> web.Response:
    """Returns the events that follow a cursor, by default the most recent ones."""
    chosen = read_filter(request.query)
    registry = registry_of(request)
    expired = False
    found: dict[str, str] = {}
    events = None
    try:
        events = await _page(registry, chosen, request.query.get("after", _RECENT))
    except CursorExpired as error:
        events, expired = await _page(registry, chosen, error.oldest), True
    except InvalidParameter as error:
        found = faults(error.errors, {"companies": chosen.companies})
        if not found or not found.keys() <= {"types", "countries", "companies"}:
            raise
    return await page(
        request,
        "events.html",
        status=HTTPStatus.BAD_REQUEST if found else HTTPStatus.OK,
        events=events,
        # Newest first, as live events are added.
        shown=() if events is None else events.events[::-1],
        filter=chosen,
        faults=found,
        expired=expired,
        types=await registry.event_types(),
        watchlists=await registry.list_watchlists()
        if "webhooks" in request[SIGNED_IN].scopes
        else (),
        countries=COUNTRIES,
    )


async def live(request: web.Request) -> web.StreamResponse:
    """Returns the events that follow a cursor as server-sent events: each is a part of the page."""
    after = request.headers.get("Last-Event-ID") or request.query.get("after", _LATEST)
    response = web.StreamResponse(
        headers={hdrs.CONTENT_TYPE: "text/event-stream", hdrs.CACHE_CONTROL: "no-store"}
    )
    set_headers(request, response)
    with request.app[DEPENDENCIES].live.reading(request[SIGNED_IN].key):
        await response.prepare(request)
        await response.write(b"retry: 2000\n\n")
        # Also ends a page that does not read what is written to it.
        with suppress(TimeoutError):
            async with asyncio.timeout(_STREAM_LIFETIME):
                await _follow(request, response, read_filter(request.query), after)
    return response


async def _follow(
    request: web.Request, response: web.StreamResponse, chosen: EventFilter, after: str
) -> None:
    registry = registry_of(request)
    while True:
        try:
            found = await _page(registry, chosen, after, wait=_WAIT)
        except CursorExpired as error:
            after = error.oldest
            continue
        except (NoResponse, ApiError) as error:
            passes = isinstance(error, NoResponse | RateLimited) or error.status >= 500
            if not passes:
                # The response has begun, so no page can say it.
                await response.write(b"event: end\ndata:\n\n")
                return
            await response.write(b": the API is unavailable\n\n")
            await asyncio.sleep(_PAUSE)
            continue
        for event in found.events:
            shown = fragment(request, "_event_item.html", event=event)
            await response.write(f"data: {json.dumps(shown)}\n\n".encode())
        after = found.cursor
        await response.write(f"id: {after}\n\n".encode())


async def _page(
    registry: AsyncClient, chosen: EventFilter, after: str, *, wait: int = 0
) -> EventPage:
    return await registry.event_page(
        None if after == "oldest" else after,
        types=chosen.types,
        countries=[each for each in REGISTERS if each in chosen.countries],
        companies=chosen.companies,
        watchlists=chosen.watchlists,
        limit=_PAGE,
        wait=wait,
    )
