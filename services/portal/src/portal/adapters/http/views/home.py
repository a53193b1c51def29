"""The home page: the search box, and what is new; a part that fails says so and spoils no other."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import structlog
from aiohttp import web

from company_registry import (
    ApiError,
    AsyncClient,
    CompanyRegistryError,
    NoResponse,
    RegisterSource,
    Unauthorized,
)
from company_registry.watchlist_models import Watchlist
from company_registry.webhook_models import Webhook
from portal.adapters.http.context import DEPENDENCIES, REQUEST_ID, SIGNED_IN, registry_of
from portal.adapters.http.pages import page
from portal.adapters.http.views import search
from portal.domain.home import (
    Freshness,
    Reading,
    WatchedChange,
    freshness,
    newest_of,
    readings_of,
    troubled,
)
from portal.domain.wording import NO_RESPONSE, NOT_UNDERSTOOD, detail

#: Watchlists that the API reads at once.
_READ: Final = 10
#: Up to so many are read each by itself, for the name of the list: each costs a request.
_NAMED: Final = 3
_CHANGES: Final = 10
_TROUBLED: Final = 5
_RECENT: Final = "recent"

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of the page, or a sentence that says why it is missing."""

    content: T | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """The newest changes in the owner's watchlists."""

    watchlists: Sequence[Watchlist]
    #: The lists that were read.
    read: Sequence[Watchlist]
    newest: Sequence[WatchedChange]


@dataclass(frozen=True, slots=True)
class Attention:
    """The owner's webhooks that need attention, the first of them to be shown, and all others."""

    troubled: Sequence[Webhook]
    shown: Sequence[Webhook]
    fine: int


async def show(request: web.Request) -> web.Response:
    """Shows the home page; with a text to search for, the companies that it names."""
    if request.query.get("q", "").strip():
        return await search.search(request)
    scopes, registry = request[SIGNED_IN].scopes, registry_of(request)
    asked: dict[str, Coroutine[Any, Any, object]] = {"registers": _registers(request, registry)}
    if {"webhooks", "events"} <= set(scopes):
        asked["changes"] = _changes(registry)
    if "webhooks" in scopes:
        asked["webhooks"] = _webhooks(registry)
    try:
        async with asyncio.TaskGroup() as group:
            parts = {name: group.create_task(_part(request, each)) for name, each in asked.items()}
    except ExceptionGroup as failures:
        # A key that has ended: the session ends, and the reader signs in.
        raise failures.exceptions[0] from None
    return await page(
        request,
        "home.html",
        country=request.query.get("country", ""),
        countries=search.COUNTRIES,
        now=request.app[DEPENDENCIES].now(),
        registers=parts["registers"].result(),
        changes=parts["changes"].result() if "changes" in parts else None,
        webhooks=parts["webhooks"].result() if "webhooks" in parts else None,
    )


async def _part(request: web.Request, asked: Coroutine[Any, Any, T]) -> Part[T]:
    """A part within the time of one response, whatever the number of its requests and retries."""
    try:
        async with asyncio.timeout(request.app[DEPENDENCIES].registries.timeout):
            return Part(await asked)
    except Unauthorized:
        raise
    except ApiError as error:
        return Part(fault=detail(error))
    except (NoResponse, TimeoutError):
        return Part(fault=NO_RESPONSE)
    except CompanyRegistryError as error:
        log.error("registry.invalid_response", request_id=request[REQUEST_ID], exc_info=error)
        return Part(fault=NOT_UNDERSTOOD)


async def _changes(registry: AsyncClient) -> Changes:
    watchlists = await registry.list_watchlists()
    chosen = readings_of(watchlists, most=_READ, named=_NAMED)
    readings = await asyncio.gather(*(_reading(registry, each) for each in chosen))
    read = [each for lists in chosen for each in lists]
    return Changes(watchlists, read, newest_of(readings, most=_CHANGES))


async def _reading(registry: AsyncClient, watchlists: Sequence[Watchlist]) -> Reading:
    ids = [each.id for each in watchlists]
    found = await registry.event_page(_RECENT, watchlists=ids, limit=_CHANGES)
    return Reading(watchlists, found.events)


async def _webhooks(registry: AsyncClient) -> Attention:
    webhooks = await registry.list_webhooks()
    found = troubled(webhooks)
    return Attention(found, found[:_TROUBLED], len(webhooks) - len(found))


async def _registers(request: web.Request, registry: AsyncClient) -> list[Freshness]:
    sources: Sequence[RegisterSource] = await registry.registers()
    return freshness(sources, request.app[DEPENDENCIES].now())
