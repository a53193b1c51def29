"""Watchlists: portfolios of companies, their latest changes, and the webhooks that follow them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final, Literal, cast
from urllib.parse import quote

from aiohttp import web

from company_registry import (
    ApiError,
    AsyncClient,
    BatchResult,
    CompanyFilter,
    CompanyNotFound,
    CompanyRemoved,
    CursorExpired,
    DigestNotFound,
    Digests,
    DigestsDisabled,
    Event,
    InvalidBody,
    Lookup,
    NoResponse,
    WatchlistInUse,
    WatchlistLimitReached,
)
from company_registry.models import Country
from company_registry.watchlist_models import Watchlist
from portal.adapters.http.context import SIGNED_IN, registry_of
from portal.adapters.http.pages import PASSING, formats_of, is_own, is_scripted, page, redirect
from portal.adapters.http.sessions import add_note, offer_undo
from portal.adapters.http.views.companies import Listed, find_listed
from portal.domain.company_lists import read_company_form
from portal.domain.pasted import companies_in
from portal.domain.portfolios import (
    HEIGHT,
    WIDTH,
    bars,
    first_moment,
    last_changes,
    status_counts,
    week,
)
from portal.domain.wording import NO_RESPONSE, detail, effect, faults

HERE: Final = "/watchlists"

#: Companies of a page of numbers: each is looked up for its name, which counts as a request.
_PAGE: Final = 25
_SHOWN_EVENTS: Final = 10
#: Events of a request for those of the week; requests, and seconds for them.
_READ_EVENTS: Final = 500
_MAX_PAGES: Final = 4
_MAX_SECONDS: Final = 3.0
_RECENT: Final = "recent"

#: The parts of a watchlist's page, the first by default.
TABS: Final = {
    "companies": "Companies",
    "changes": "Changes",
    "alerts": "Alerts",
    "settings": "Settings",
}

_FIELDS: Final = ("name", "description")
#: Errors of a company that its register no longer has.
_GONE: Final = (CompanyNotFound, CompanyRemoved)


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
        return await _page(request, given, _faults(error), error.status, tab="settings")
    await add_note(request, "The watchlist is changed.")
    return redirect(f"{HERE}/{watchlist_id}?tab=settings")


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
        given = {"add": str(posted.get("add", ""))}
        return await _page(request, given, told, error.status, tab="companies")
    back = str(posted.get("back", ""))
    back = back if is_own(back) else f"{HERE}/{watchlist_id}"
    names = dict(str(each).split(" ", 1) for each in posted.getall("named", []) if " " in str(each))
    text = effect(changed, [names[key] for key in remove if key in names])
    await add_note(request, text, is_error=bool(changed.unknown or changed.invalid))
    if changed.removed and changed.removed == len(remove) and not add:
        await offer_undo(
            request,
            f"{HERE}/{quote(watchlist_id, safe='')}/companies",
            [("add", " ".join(remove)), ("back", back)],
        )
    return redirect(back)


async def confirm_renewal(request: web.Request) -> web.Response:
    """Shows the question before the address of a feed is replaced."""
    watchlist = await registry_of(request).get_watchlist(request.match_info["id"])
    return await page(request, "watchlist_renew.html", watchlist=watchlist)


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
    return redirect(f"{HERE}/{watchlist_id}?tab=alerts")


async def add_digest(request: web.Request) -> web.Response:
    """Sends the list's changes to an address, or shows why it was refused."""
    posted, watchlist_id = await request.post(), request.match_info["id"]
    given = {"mail": str(posted.get("mail", "")).strip(), "period": str(posted.get("period", ""))}
    period: Literal["daily", "immediate"] = (
        "immediate" if given["period"] == "immediate" else "daily"
    )
    try:
        digest = await registry_of(request).add_digest(watchlist_id, given["mail"], period=period)
    except (InvalidBody, WatchlistLimitReached, DigestsDisabled) as error:
        told = {"mail": faults(error.errors, {}).get("address") or detail(error)}
        return await _page(request, given, told, error.status, tab="alerts")
    is_asked = digest.state == "unconfirmed"
    note = "is asked to confirm" if is_asked else "receives the changes"
    await add_note(request, f"{digest.address} {note}.")
    return redirect(f"{HERE}/{watchlist_id}?tab=alerts#email")


async def remove_digest(request: web.Request) -> web.Response:
    """Removes an address that the list's changes are sent to."""
    posted, watchlist_id = await request.post(), request.match_info["id"]
    with suppress(DigestNotFound):
        await registry_of(request).delete_digest(watchlist_id, str(posted.get("digest", "")))
    await add_note(request, "The address is removed.")
    return redirect(f"{HERE}/{watchlist_id}?tab=alerts#email")


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
        return redirect(f"{HERE}/{watchlist_id}?tab=alerts#subscribed")
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
    *,
    tab: str | None = None,
) -> web.Response:
    registry, scopes = registry_of(request), request[SIGNED_IN].scopes
    watchlist = await registry.get_watchlist(request.match_info["id"])
    tab = tab or request.query.get("tab", "")
    tab = tab if tab in TABS else next(iter(TABS))
    is_plain = "lookup" not in scopes or "numbers" in request.query
    parts = await asyncio.gather(*(each(request, watchlist) for each in _PARTS_OF[tab]))
    context: dict[str, Any] = {**_NOTHING, "total": watchlist.size}
    for part in parts:
        context |= part
    return await page(
        request,
        "watchlist.html",
        **{
            **context,
            "status": context["status"] if status == HTTPStatus.OK else status,
            "faults": {**context.get("faults", {}), **found},
        },
        watchlist=watchlist,
        here=f"{HERE}/{quote(watchlist.id, safe='')}",
        tabs=TABS,
        tab=tab,
        is_plain=is_plain,
        given={"name": watchlist.name, "description": watchlist.description or "", **given},
    )


#: The variables of the parts that a tab does not have.
_NOTHING: Final = MappingProxyType(
    {"status": HTTPStatus.OK, "gone": 0, "status_counts": (), "bars": (), "week": None}
)


async def _companies(request: web.Request, watchlist: Watchlist) -> dict[str, Any]:
    """The companies of a list as a portfolio; by their numbers if they cannot be looked up."""
    is_plain = "lookup" not in request[SIGNED_IN].scopes or "numbers" in request.query
    return await (_numbers if is_plain else _portfolio)(request, watchlist)


async def _portfolio(request: web.Request, watchlist: Watchlist) -> dict[str, Any]:
    """The companies of a list that fit the form, and the counts of all of them."""
    listed, counts, fault = Listed(read_company_form(request.query), None, {}), None, ""
    try:
        listed, counts = await asyncio.gather(
            find_listed(request, watchlist.id), _counts(request, watchlist)
        )
    except ApiError as error:
        # The list can be changed meanwhile.
        if error.status not in PASSING:
            raise
        fault = detail(error)
    return {
        **(counts or {"total": watchlist.size}),
        **listed.context(default_status="any", columns=("status", "changed")),
        "status": listed.status,
        "list_fault": fault,
        "downloads": f"{HERE}/{quote(watchlist.id, safe='')}/companies",
        "changed": await _last_changes(request, [key for key, _ in listed.companies]),
        "adding": None,
        "tick": {"name": "remove", "form": "members", "label": "Tick"},
    }


async def _counts(request: web.Request, watchlist: Watchlist) -> dict[str, Any]:
    """The numbers of the companies of a list, by status and municipality."""
    whole = await registry_of(request).find_page(
        CompanyFilter(watchlist=watchlist.id), facets=("status", "municipality"), limit=1
    )
    counts = whole.facets or {}
    return {
        "total": whole.total,
        "gone": watchlist.size - whole.total,
        "status_counts": status_counts(counts.get("status", ())),
        "bars": bars(counts.get("municipality", ())),
    }


async def _counts_unless_failed(request: web.Request, watchlist: Watchlist) -> dict[str, Any]:
    if "lookup" not in request[SIGNED_IN].scopes:
        return {}
    try:
        return await _counts(request, watchlist)
    except ApiError as error:
        # The changes can be read meanwhile.
        if error.status not in PASSING:
            raise
        return {}


async def _numbers(request: web.Request, watchlist: Watchlist) -> dict[str, Any]:
    """A page of all companies of a list, by their numbers."""
    registry, after = registry_of(request), request.query.get("after", "")
    watched = await registry.watched_page(watchlist.id, after=after or None, limit=_PAGE)
    may_look_up = "lookup" in request[SIGNED_IN].scopes
    named = await _named(registry, watched.companies) if may_look_up else {}
    gone = {key for key, one in named.items() if isinstance(one.error, _GONE)}
    return {
        "status": HTTPStatus.OK,
        "companies": [
            (key, *key.split(":"), named[key].company if key in named else None)
            for key in watched.companies
        ],
        "gone_keys": gone,
        "unread_keys": {key for key, one in named.items() if one.error} - gone,
        "gone": 0,
        "after": after,
        "cursor": watched.cursor,
        "total": watchlist.size,
        "status_counts": [],
        "bars": [],
    }


async def _alerts(request: web.Request, watchlist: Watchlist) -> dict[str, Any]:
    """The webhooks that follow a list, and the addresses that its changes are sent to."""
    webhooks, (digests, fault) = await asyncio.gather(
        registry_of(request).list_webhooks(), _digests(request, watchlist)
    )
    followers = [
        each for each in webhooks if each.filter and watchlist.id in each.filter.watchlists
    ]
    return {"subscribed": followers, "digests": digests, "digests_fault": fault}


async def _digests(request: web.Request, watchlist: Watchlist) -> tuple[Digests | None, str]:
    """The addresses that the changes are sent to, or why they are not known.

    None of both of an earlier release.
    """
    try:
        return await registry_of(request).list_digests(watchlist.id), ""
    except ApiError as error:
        # The page has more to show.
        if error.status == HTTPStatus.NOT_FOUND:
            return None, ""
        if error.status not in PASSING:
            raise
        return None, detail(error)


async def _named(registry: AsyncClient, keys: Sequence[str]) -> dict[str, BatchResult]:
    lookups = [Lookup(cast(Country, key[:2]), key[3:]) for key in keys]
    return {
        f"{result.lookup.country}:{result.lookup.term}": result
        async for result in registry.batch(lookups)
    }


async def _changes(request: web.Request, watchlist: Watchlist) -> dict[str, Any]:
    """The changes of the last days, and the latest ones; none for a script, which shows neither."""
    nothing: dict[str, Any] = {"week": None, "events": [], "events_fault": "", "plot_size": ()}
    if "events" not in request[SIGNED_IN].scopes or is_scripted(request):
        return nothing
    registry, now = registry_of(request), datetime.now(formats_of(request).zone)
    try:
        found, is_complete = await _of_week(registry, watchlist.id, first_moment(now))
        recent = found
        if not is_complete or len(found) < _SHOWN_EVENTS:
            limit = _SHOWN_EVENTS if is_complete else _READ_EVENTS
            newest = await registry.event_page(_RECENT, watchlists=[watchlist.id], limit=limit)
            recent = newest.events
    except ApiError as error:
        return {**nothing, "events_fault": detail(error)}
    except NoResponse:
        return {**nothing, "events_fault": NO_RESPONSE}
    return {
        "week": week([*found, *recent], now=now, is_complete=is_complete),
        "plot_size": (WIDTH, HEIGHT),
        "events": list(recent[: -_SHOWN_EVENTS - 1 : -1]),
        "events_fault": "",
    }


_PARTS_OF: Final[Mapping[str, Sequence[Callable[..., Awaitable[dict[str, Any]]]]]] = {
    "companies": (_companies, _changes),
    "changes": (_counts_unless_failed, _changes),
    "alerts": (_alerts,),
    "settings": (),
}


async def _of_week(
    registry: AsyncClient, watchlist_id: str, since: datetime
) -> tuple[Sequence[Event], bool]:
    """The first events since a time, and whether they are all."""
    events: list[Event] = []
    cursor: str | None = None
    with suppress(TimeoutError):
        async with asyncio.timeout(_MAX_SECONDS):
            for _ in range(_MAX_PAGES):
                try:
                    found = await registry.event_page(
                        cursor, since=since, watchlists=[watchlist_id], limit=_READ_EVENTS
                    )
                except CursorExpired as error:
                    cursor = error.oldest
                    continue
                events += found.events
                cursor = found.cursor
                if not found.has_more:
                    return events, True
    if not events:
        raise NoResponse("the feed was not read in time")
    return events, False


async def _last_changes(request: web.Request, companies: Sequence[str]) -> Mapping[str, Event]:
    """The newest event of each company that has one; one request for a page of companies."""
    if not companies or "events" not in request[SIGNED_IN].scopes:
        return {}
    try:
        found = await registry_of(request).event_page(_RECENT, companies=companies, limit=100)
    except ApiError:
        return {}
    return last_changes(found.events)


def _faults(error: InvalidBody | WatchlistLimitReached) -> dict[str, str]:
    found = faults(error.errors, {})
    return found if found and found.keys() <= set(_FIELDS) else {"name": detail(error)}
