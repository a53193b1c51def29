"""The operations on watchlists."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, Unpack

from company_registry.arguments import texts
from company_registry.http import Request
from company_registry.operations import Operation, get, idempotency, segment
from company_registry.watchlist_models import (
    Digest,
    Digests,
    WatchedPage,
    Watchlist,
    WatchlistChange,
    WatchlistFeed,
    WatchlistFields,
    Watchlists,
)

_WATCHLISTS: Final = "/api/watchlists"

#: Maximum companies of one change.
MAX_CHANGED: Final = 10_000


def list_watchlists(*, company: str | None = None) -> Operation[tuple[Watchlist, ...]]:
    """Returns the key owner's watchlists, newest first; with a company only those that have it.

    `company` is its country and registration number, such as `dk:12345674`.
    """
    request = get(_WATCHLISTS, {"company": company or ""})
    return Operation(request, lambda body: Watchlists.model_validate_json(body).watchlists)


def get_watchlist(watchlist_id: str) -> Operation[Watchlist]:
    """Returns a watchlist. Raises WatchlistNotFound."""
    return Operation(get(_watchlist(watchlist_id)), Watchlist.model_validate_json)


def create_watchlist(
    name: str, *, description: str | None = None, idempotency_key: str | None = None
) -> Operation[Watchlist]:
    """Creates a watchlist without companies. Raises WatchlistLimitReached.

    A request that is repeated with the same `idempotency_key` within 24 h creates nothing.
    """
    body = {"name": name, "description": description}
    request = Request("POST", _WATCHLISTS, body=body, headers=idempotency(idempotency_key))
    return Operation(request, Watchlist.model_validate_json)


def update_watchlist(watchlist_id: str, **changes: Unpack[WatchlistFields]) -> Operation[Watchlist]:
    """Changes the given fields. Raises WatchlistNotFound."""
    request = Request("PATCH", _watchlist(watchlist_id), body=dict(changes))
    return Operation(request, Watchlist.model_validate_json)


def delete_watchlist(watchlist_id: str) -> Operation[None]:
    """Deletes a watchlist. Raises WatchlistNotFound, or WatchlistInUse while a webhook uses it."""
    return Operation(Request("DELETE", _watchlist(watchlist_id)), lambda _body: None)


def renew_feed(watchlist_id: str) -> Operation[WatchlistFeed]:
    """Gives a watchlist's Atom feed a new address, which is shown only here; the old one ends.

    Raises WatchlistNotFound.
    """
    request = Request("POST", f"{_watchlist(watchlist_id)}/feed", repeatable=False)
    return Operation(request, WatchlistFeed.model_validate_json)


def end_feed(watchlist_id: str) -> Operation[None]:
    """Ends a watchlist's Atom feed, if it has one. Raises WatchlistNotFound."""
    return Operation(Request("DELETE", f"{_watchlist(watchlist_id)}/feed"), lambda _body: None)


def list_digests(watchlist_id: str) -> Operation[Digests]:
    """Returns the e-mail addresses that a watchlist's changes are sent to.

    Raises WatchlistNotFound.
    """
    return Operation(get(f"{_watchlist(watchlist_id)}/digests"), Digests.model_validate_json)


def add_digest(
    watchlist_id: str,
    address: str,
    *,
    period: Literal["daily", "immediate"] = "daily",
    events: Sequence[str] = (),
    fields: Sequence[str] = (),
) -> Operation[Digest]:
    """Sends a watchlist's changes to an e-mail address, once it has confirmed.

    `events` are patterns as those of a webhook, and `fields` the changed fields; all if they are
    empty. An address that the list has already gets what is given here.

    Raises WatchlistNotFound, WatchlistLimitReached or DigestsDisabled.
    """
    body: dict[str, object] = {"address": address, "period": period}
    # Left out where they are not given, as an earlier service knows neither.
    body |= {"events": list(events)} if events else {}
    body |= {"fields": list(fields)} if fields else {}
    request = Request("POST", f"{_watchlist(watchlist_id)}/digests", body=body)
    return Operation(request, Digest.model_validate_json)


def delete_digest(watchlist_id: str, digest_id: str) -> Operation[None]:
    """Deletes a digest with its address. Raises WatchlistNotFound or DigestNotFound."""
    path = f"{_watchlist(watchlist_id)}/digests/{segment(digest_id)}"
    return Operation(Request("DELETE", path), lambda _body: None)


def watched_page(
    watchlist_id: str, *, after: str | None = None, limit: int | None = None
) -> Operation[WatchedPage]:
    """Returns a page of a watchlist's companies: 1,000 unless `limit` is given, at most 10,000."""
    query = {"after": after or "", "limit": "" if limit is None else str(limit)}
    return Operation(get(_companies(watchlist_id), query), WatchedPage.model_validate_json)


def change_watched(  # noqa: PLR0913 (the members of the body)
    watchlist_id: str,
    *,
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    country: str | None = None,
    skip_invalid: bool = False,
    idempotency_key: str | None = None,
) -> Operation[WatchlistChange]:
    """Adds and removes companies, at most 10,000 together.

    They are `<country>:<registration number>`, or as people write them; those without a country
    are of `country`. `unknown` of the answer names those that no register has, and `invalid`, with
    `skip_invalid`, those that cannot be read. Without it one of them raises InvalidBody.
    Raises WatchlistLimitReached.
    """
    body: dict[str, object] = {"add": list(texts(add)), "remove": list(texts(remove))}
    if country is not None:
        body["country"] = str(country)
    if skip_invalid:
        body["skip_invalid"] = True
    headers = idempotency(idempotency_key)
    return _change(Request("PATCH", _companies(watchlist_id), body=body, headers=headers))


def replace_watched(watchlist_id: str, companies: Iterable[str]) -> Operation[WatchlistChange]:
    """Gives the list these companies and no others: at most 10,000, add further ones."""
    body = {"companies": list(texts(companies))}
    return _change(Request("PUT", _companies(watchlist_id), body=body))


def _change(request: Request) -> Operation[WatchlistChange]:
    return Operation(request, WatchlistChange.model_validate_json)


def _watchlist(watchlist_id: str) -> str:
    return f"{_WATCHLISTS}/{segment(watchlist_id)}"


def _companies(watchlist_id: str) -> str:
    return f"{_watchlist(watchlist_id)}/companies"
