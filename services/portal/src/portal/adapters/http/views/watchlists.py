"""Watchlists: lists of companies, their latest changes, and the webhooks that follow them."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Final, cast

from aiohttp import web

from company_registry import (
    ApiError,
    AsyncClient,
    Company,
    CompanyNotFound,
    Event,
    InvalidBody,
    Lookup,
    WatchlistInUse,
    WatchlistLimitReached,
)
from company_registry.models import Country
from portal.adapters.http.context import SIGNED_IN, registry_of
from portal.adapters.http.pages import page, redirect
from portal.adapters.http.sessions import add_note
from portal.domain.pasted import companies_in
from portal.domain.wording import detail, effect, faults

HERE: Final = "/watchlists"

#: Companies of a page: each is looked up for its name, which counts as a request.
_PAGE: Final = 25
_SHOWN_EVENTS: Final = 10
_RECENT: Final = "recent"

_FIELDS: Final = ("name", "description")


async def listing(request: web.Request) -> web.Response:
    """Shows the owner's watchlists, and the form of a new one."""
    return await _listing(request)


async def create(request: web.Request) -> web.Response:
    """Creates a watchlist, or shows why it was refused."""
    posted = await request.post()
    given = {name: str(posted.get(name, "")).strip() for name in _FIELDS}
    try:
        created = await registry_of(request).create_watchlist(
            given["name"], description=given["description"] or None
        )
    except (InvalidBody, WatchlistLimitReached) as error:
        return await _listing(request, given, _faults(error), error.status)
    return redirect(f"{HERE}/{created.id}")


async def show(request: web.Request) -> web.Response:
    """Shows a watchlist with a page of its companies, its latest changes and its webhooks."""
    return await _page(request)


async def change(request: web.Request) -> web.Response:
    """Renames or describes a watchlist, or shows why it was refused."""
    posted, watchlist_id = await request.post(), request.match_info["id"]
    given = {name: str(posted.get(name, "")).strip() for name in _FIELDS}
    try:
        await registry_of(request).update_watchlist(
            watchlist_id, name=given["name"], description=given["description"] or None
        )
    except InvalidBody as error:
        return await _page(request, given, _faults(error), error.status)
    await add_note(request, "The watchlist is changed.")
    return redirect(f"{HERE}/{watchlist_id}")


async def change_companies(request: web.Request) -> web.Response:
    """Adds the companies of a text, and removes those that are ticked."""
    posted, watchlist_id = await request.post(), request.match_info["id"]
    add = companies_in(str(posted.get("add", "")))
    remove = [str(each) for each in posted.getall("remove", [])]
    try:
        changed = await registry_of(request).change_watched(
            watchlist_id, add=add, remove=remove, skip_invalid=True
        )
    except (InvalidBody, WatchlistLimitReached) as error:
        found = faults(error.errors, {"add": add, "remove": remove})
        told = {"add": " ".join(found.values()) or detail(error)}
        return await _page(request, {"add": str(posted.get("add", ""))}, told, error.status)
    await add_note(request, effect(changed), is_error=bool(changed.unknown or changed.invalid))
    return redirect(f"{HERE}/{watchlist_id}")


async def renew_feed(request: web.Request) -> web.Response:
    """Gives the list's Atom feed a new address, shown on the answer to this form alone."""
    registry, watchlist_id = registry_of(request), request.match_info["id"]
    watchlist = await registry.get_watchlist(watchlist_id)
    feed = await registry.renew_feed(watchlist_id)
    return await page(request, "watchlist_feed.html", watchlist=watchlist, feed=feed)


async def end_feed(request: web.Request) -> web.Response:
    """Ends the list's Atom feed."""
    watchlist_id = request.match_info["id"]
    await registry_of(request).end_feed(watchlist_id)
    await add_note(request, "The feed is ended: no address of it works any more.")
    return redirect(f"{HERE}/{watchlist_id}")


async def confirm_delete(request: web.Request) -> web.Response:
    """Shows the question before a watchlist is deleted."""
    watchlist = await registry_of(request).get_watchlist(request.match_info["id"])
    return await page(request, "watchlist_delete.html", watchlist=watchlist)


async def delete(request: web.Request) -> web.Response:
    """Deletes a watchlist that no webhook uses."""
    watchlist_id = request.match_info["id"]
    try:
        await registry_of(request).delete_watchlist(watchlist_id)
    except WatchlistInUse as error:
        await add_note(request, f"Not deleted. {detail(error)}", is_error=True)
        return redirect(f"{HERE}/{watchlist_id}#subscribed")
    await add_note(request, "The watchlist is deleted.")
    return redirect(HERE)


async def _listing(
    request: web.Request,
    given: Mapping[str, str] = MappingProxyType({}),
    found: Mapping[str, str] = MappingProxyType({}),
    status: int = HTTPStatus.OK,
) -> web.Response:
    watchlists = await registry_of(request).list_watchlists()
    return await page(
        request,
        "watchlists.html",
        status=status,
        watchlists=watchlists,
        given=given,
        faults=found,
    )


async def _page(
    request: web.Request,
    given: Mapping[str, str] = MappingProxyType({}),
    found: Mapping[str, str] = MappingProxyType({}),
    status: int = HTTPStatus.OK,
) -> web.Response:
    registry, after = registry_of(request), request.query.get("after", "")
    watchlist = await registry.get_watchlist(request.match_info["id"])
    watched = await registry.watched_page(watchlist.id, after=after or None, limit=_PAGE)
    scopes = request[SIGNED_IN].scopes
    named, gone = await _named(registry, watched.companies) if "lookup" in scopes else ({}, set())
    events = await _latest(registry, watchlist.id) if "events" in scopes else ([], "")
    webhooks = await registry.list_webhooks()
    return await page(
        request,
        "watchlist.html",
        status=status,
        watchlist=watchlist,
        companies=[(key, *key.split(":"), named.get(key)) for key in watched.companies],
        gone=gone,
        after=after,
        cursor=watched.cursor,
        events=events[0],
        events_fault=events[1],
        subscribed=[
            each for each in webhooks if each.filter and watchlist.id in each.filter.watchlists
        ],
        given={"name": watchlist.name, "description": watchlist.description or "", **given},
        faults=found,
    )


async def _named(registry: AsyncClient, keys: Sequence[str]) -> tuple[dict[str, Company], set[str]]:
    lookups = [Lookup(cast(Country, key[:2]), key[3:]) for key in keys]
    found: dict[str, Company] = {}
    gone: set[str] = set()
    async for result in registry.batch(lookups):
        key = f"{result.lookup.country}:{result.lookup.term}"
        if result.company is not None:
            found[key] = result.company
        elif isinstance(result.error, CompanyNotFound):
            gone.add(key)
    return found, gone


async def _latest(registry: AsyncClient, watchlist_id: str) -> tuple[list[Event], str]:
    try:
        found = await registry.event_page(_RECENT, watchlists=[watchlist_id], limit=_SHOWN_EVENTS)
    except ApiError as error:
        return [], detail(error)
    return list(found.events[::-1]), ""


def _faults(error: InvalidBody | WatchlistLimitReached) -> dict[str, str]:
    found = faults(error.errors, {})
    return found if found and found.keys() <= set(_FIELDS) else {"name": detail(error)}
