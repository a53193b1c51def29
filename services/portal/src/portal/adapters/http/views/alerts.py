"""Alerts about a company or a watchlist: by e-mail, by a feed, by a webhook; one form each."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import urlencode

from aiohttp import web

from company_registry import (
    ApiError,
    AsyncClient,
    CompanyRegistryError,
    DigestsDisabled,
    InvalidBody,
    NoResponse,
    Unauthorized,
    WatchlistLimitReached,
    WatchlistNotFound,
)
from company_registry.models import Event
from company_registry.watchlist_models import Digest, Watchlist
from company_registry.webhook_models import Webhook
from portal.adapters.http.context import DEPENDENCIES, SIGNED_IN, registry_of
from portal.adapters.http.pages import company_path, is_own, page, redirect
from portal.adapters.http.sessions import add_note
from portal.domain.alerts import EVERYTHING, TOPICS, chosen, first_moment, followers, frequency
from portal.domain.alerts import is_about as is_of_topics
from portal.domain.wording import detail, faults

HERE: Final = "/alerts"
#: The choice of a list that is to be created.
_NEW: Final = "new"
#: Events of a request for a frequency, and lists whose recipients are read.
_READ: Final = 500
_MAX_LISTS: Final = 5


@dataclass(frozen=True, slots=True)
class Received:
    """What a reader receives about a company already."""

    lists: Sequence[Watchlist] = ()
    webhooks: Sequence[Webhook] = ()
    #: With the list of each.
    digests: Sequence[tuple[Watchlist, Digest]] = ()

    def __bool__(self) -> bool:
        return bool(self.lists or self.webhooks)


async def received(request: web.Request, company: str) -> Received | None:
    """Returns what is received about a company, `dk:12345674`; None if it is not known."""
    if "webhooks" not in request[SIGNED_IN].scopes:
        return None
    registry = registry_of(request)
    try:
        lists, webhooks = await asyncio.gather(
            registry.list_watchlists(company=company), registry.list_webhooks()
        )
        digests = await asyncio.gather(*(_digests(registry, each) for each in lists[:_MAX_LISTS]))
    except Unauthorized:
        raise
    except CompanyRegistryError:
        # The rest of a page is worth more.
        return None
    found = followers(webhooks, company=company, lists=[each.id for each in lists])
    return Received(lists, found, [one for each in digests for one in each])


async def _digests(registry: AsyncClient, watchlist: Watchlist) -> list[tuple[Watchlist, Digest]]:
    found = await registry.list_digests(watchlist.id)
    return [(watchlist, each) for each in found.digests if each.state != "ended"]


async def new(request: web.Request) -> web.Response:
    """Shows the forms: `?company=dk:12345674&name=…`, or `?watchlist=wl_…`."""
    return await _page(request, request.query)


async def send_mail(request: web.Request) -> web.Response:
    """Sends changes to an e-mail address, of a list that is created or gets the company first."""
    posted = {name: str(each) for name, each in (await request.post()).items()}
    about = [str(each) for each in (await request.post()).getall("about", [])]
    period: Literal["daily", "immediate"] = (
        "immediate" if posted.get("period") == "immediate" else "daily"
    )
    events, fields = chosen(about)
    registry = registry_of(request)
    try:
        watchlist = await _list_of(registry, posted)
        digest = await registry.add_digest(
            watchlist.id,
            posted.get("mail", "").strip(),
            period=period,
            events=events,
            fields=fields,
        )
    except (InvalidBody, WatchlistLimitReached, WatchlistNotFound, DigestsDisabled) as error:
        told = faults(error.errors, {})
        shown = {"mail": told.get("address") or " ".join(told.values()) or detail(error)}
        return await _page(request, posted, shown, about, status=error.status)
    is_asked = digest.state == "unconfirmed"
    said = "is asked to confirm" if is_asked else "receives the changes"
    await add_note(
        request,
        f"{digest.address} {said} of {watchlist.name}.",
        link=f"/watchlists/{watchlist.id}?tab=alerts",
    )
    return redirect(_back(posted))


async def get_feed(request: web.Request) -> web.Response:
    """Gives the feed of a list an address, which is shown on the answer to this form alone."""
    posted = {name: str(each) for name, each in (await request.post()).items()}
    registry = registry_of(request)
    try:
        watchlist = await _list_of(registry, posted)
        if watchlist.has_feed:
            # A new address would end the one that a reader has.
            return redirect(f"/watchlists/{watchlist.id}/feed")
        feed = await registry.renew_feed(watchlist.id)
    except (InvalidBody, WatchlistLimitReached, WatchlistNotFound) as error:
        told = {"feed": " ".join(faults(error.errors, {}).values()) or detail(error)}
        return await _page(request, posted, told, status=error.status)
    return await page(request, "watchlist_feed.html", watchlist=watchlist, feed=feed)


async def to_webhook(request: web.Request) -> web.Response:
    """Leads to the form of a webhook with what was chosen."""
    query = request.query
    events, fields = chosen(query.getall("about", []))
    pairs = [(name, query[name]) for name in ("company", "watchlist", "name") if query.get(name)]
    pairs += [("type", each) for each in events] + [("field", each) for each in fields]
    return redirect(f"/webhooks/new?{urlencode(pairs)}")


async def _list_of(registry: AsyncClient, posted: Mapping[str, str]) -> Watchlist:
    """Returns the list of a form, which has the company then."""
    company, chosen_list = posted.get("company", ""), posted.get("list", _NEW)
    if chosen_list == _NEW:
        watchlist = await registry.create_watchlist(posted.get("name", "").strip())
    else:
        watchlist = await registry.get_watchlist(chosen_list)
    if company:
        await registry.change_watched(watchlist.id, add=[company], skip_invalid=True)
    return watchlist


def _back(posted: Mapping[str, str]) -> str:
    back = posted.get("back", "")
    return back if is_own(back) else "/watchlists"


async def _page(
    request: web.Request,
    given: Mapping[str, str],
    found: Mapping[str, str] = MappingProxyType({}),
    about: Sequence[str] = (),
    status: int = HTTPStatus.OK,
) -> web.Response:
    registry, company = registry_of(request), given.get("company", "")
    watchlist_id = given.get("watchlist", "")
    watchlists, of_company = await asyncio.gather(
        registry.list_watchlists(), received(request, company) if company else _nothing()
    )
    watchlist = next((each for each in watchlists if each.id == watchlist_id), None)
    name = watchlist.name if watchlist else given.get("name", "")[:100]
    back = f"/watchlists/{watchlist_id}?tab=alerts" if watchlist else "/watchlists"
    if company:
        back = company_path(*company.partition(":")[::2])
    having = {each.id for each in of_company.lists} if of_company else set()
    return await page(
        request,
        "alerts.html",
        status=status,
        company=company,
        watchlist=watchlist,
        name=name,
        back=given.get("back", "") or back,
        lists=[each for each in watchlists if each.id in having]
        + [each for each in watchlists if each.id not in having],
        having=having,
        received=of_company,
        topics=TOPICS,
        everything=EVERYTHING,
        about=about or [EVERYTHING],
        frequencies=await _frequencies(request, company, watchlist),
        given=given,
        faults=found,
    )


async def _nothing() -> None:
    return None


async def _frequencies(
    request: web.Request, company: str, watchlist: Watchlist | None
) -> Mapping[str, str]:
    """Returns how often each topic would have come in the last 30 days; empty if unknown."""
    if "events" not in request[SIGNED_IN].scopes or not (company or watchlist):
        return {}
    since = first_moment(request.app[DEPENDENCIES].now())
    of_list = {"watchlists": [watchlist.id]} if watchlist else {"companies": [company]}
    filters: Mapping[str, Any] = of_list
    try:
        found = await registry_of(request).event_page(since=since, limit=_READ, **filters)
    except Unauthorized:
        raise
    except (ApiError, NoResponse):
        return {}

    def often(events: Sequence[Event]) -> str:
        return frequency(len(events), is_complete=not found.has_more)

    by_topic = {
        name: often([each for each in found.events if is_of_topics(each, one.events, one.fields)])
        for name, one in TOPICS.items()
    }
    return {**by_topic, EVERYTHING: often(found.events)}
