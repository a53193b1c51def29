"""Adding companies to a watchlist, from each page that shows companies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from company_registry import (
    CompanyRegistryError,
    InvalidBody,
    WatchlistLimitReached,
    WatchlistNotFound,
)
from company_registry.watchlist_models import Watchlist
from portal.adapters.http.context import SIGNED_IN, registry_of
from portal.adapters.http.pages import is_own, redirect
from portal.adapters.http.sessions import add_note
from portal.domain.wording import detail, effect, faults

ADD_PATH: Final = "/watchlists/add"

#: The choice of a list that is to be created.
_NEW: Final = "new"


@dataclass(frozen=True, slots=True)
class Adding:
    """The variables of `_add_to_watchlist.html`."""

    watchlists: Sequence[Watchlist]
    #: Keys and names.
    companies: Sequence[tuple[str, str]]
    #: The page to return to.
    back: str
    #: True if the companies are ticked in a table, and not in the form.
    in_table: bool


async def adding_to_watchlist(
    request: web.Request, companies: Sequence[tuple[str, str]], *, in_table: bool = False
) -> Adding | None:
    """Returns the form that adds these companies; None if the key may not, or lists are unknown."""
    if not companies or "webhooks" not in request[SIGNED_IN].scopes:
        return None
    try:
        watchlists = await registry_of(request).list_watchlists()
    except CompanyRegistryError:
        # The rest of the page is worth more than the form.
        return None
    each = tuple(dict(companies).items())
    return Adding(watchlists, each, request.path_qs, in_table)


async def add(request: web.Request) -> web.Response:
    """Adds companies to a watchlist, maybe a new one, and returns to their page with a note."""
    posted = await request.post()
    back = str(posted.get("back", ""))
    back = back if is_own(back) else "/watchlists"
    companies = [str(each) for each in posted.getall("shown" if "all" in posted else "company", [])]
    if not companies:
        await add_note(request, "Tick the companies to add first.", is_error=True)
        return redirect(back)
    registry = registry_of(request)
    try:
        chosen = str(posted.get("watchlist", _NEW))
        watchlist = await (
            registry.create_watchlist(str(posted.get("name", "")).strip())
            if chosen == _NEW
            else registry.get_watchlist(chosen)
        )
        changed = await registry.change_watched(watchlist.id, add=companies, skip_invalid=True)
    except (InvalidBody, WatchlistLimitReached, WatchlistNotFound) as error:
        told = " ".join(faults(error.errors, {}).values()) or detail(error)
        await add_note(request, f"Nothing was added. {told}", is_error=True)
        return redirect(back)
    is_error = bool(changed.unknown or changed.invalid)
    text = f"Watchlist {watchlist.name}: {effect(changed)}"
    await add_note(request, text, is_error=is_error, link=f"/watchlists/{watchlist.id}")
    return redirect(back)
