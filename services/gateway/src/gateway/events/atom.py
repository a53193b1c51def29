"""The Atom feed of a watchlist (RFC 4287), for readers that have its private address.

The token in the address is the only credential: it gives the latest events of the companies in
that one list. Neither it nor its hash is in a log, a metric, a trace or the feed itself.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple
from uuid import UUID
from xml.etree.ElementTree import Element, SubElement, tostring

import orjson
from aiohttp import hdrs, web

from common.contracts.events import FeedFilter, FeedPage, FeedRequest, rfc3339
from common.contracts.watchlists import WatchedReply, WatchedRequest, WatchlistId
from common.domain.change_words import in_words
from common.domain.displayed import displayed
from common.runtime.public_port.conditional import ETAG, is_unchanged
from gateway.access.authentication import Authenticator, too_many
from gateway.events.feed import Events, Watchlists
from gateway.http.middleware import REQUEST_CONTEXT
from gateway.http.rendering import legal
from gateway.http.responses import public_address
from gateway.problems import WatchlistNotFound

#: Events of a feed, the newest first.
ENTRIES: Final = 50
#: Readers poll several times an hour; nobody between them and this service stores the feed.
CACHE_CONTROL: Final = "private, max-age=60"

_ATOM: Final = "http://www.w3.org/2005/Atom"


@dataclass(frozen=True, slots=True)
class AtomFeeds:
    """The handler of the feeds."""

    events: Events
    watchlists: Watchlists
    authenticator: Authenticator
    #: As in reconciliation: addresses for browsers, or empty.
    public_url: str
    portal_url: str

    async def show(self, request: web.Request) -> web.Response:
        """Shows the feed of the token's list; any other token is answered as an unknown list."""
        watchlist_id = WatchlistId(request.match_info["watchlist_id"])
        token_hash = sha256(request.query.get("token", "").encode("utf-8", "replace")).hexdigest()
        context = request[REQUEST_CONTEXT]
        context.quota = self.authenticator.count_token(request, token_hash)
        if not context.quota.allowed:
            raise too_many(context.quota)
        caller = context.caller._replace(client=f"token:{token_hash[:16]}")
        watchlist = await self.watchlists.watched(
            WatchedRequest(
                owner="", watchlists=(watchlist_id,), companies=(), token_hash=token_hash
            ),
            caller=caller,
        )
        if not watchlist.owner:
            raise WatchlistNotFound("the address of the feed is not valid, or not any more")
        self.authenticator.prove_token(request)
        page = await self.events.page(
            FeedRequest(
                owner=watchlist.owner,
                recent=True,
                filter=FeedFilter(watchlists=(watchlist_id,)),
                limit=ENTRIES,
            ),
            caller=caller,
        )
        links = self._links(request)
        body, updated = atom(watchlist_id, watchlist, page, links)
        headers = {
            hdrs.CONTENT_TYPE: "application/atom+xml; charset=utf-8",
            hdrs.CACHE_CONTROL: CACHE_CONTROL,
            # Browsers show feeds, and would send the address to the sites that they link to.
            hdrs.REFERRER_POLICY: "no-referrer",
            # Weak: the body may be compressed.
            ETAG: f'W/"{sha256(body).hexdigest()[:32]}"',
            hdrs.LAST_MODIFIED: format_datetime(updated, usegmt=True),
        }
        if is_unchanged(request, headers[ETAG], updated):
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, headers=headers)

    def _links(self, request: web.Request) -> "Links":
        api = public_address(request, self.public_url)
        companies = f"{self.portal_url or f'{api}/api'}/companies"
        # Without the token: what shows or passes on the feed does not pass on its credential.
        return Links(f"{api}{request.path}", companies)


class Links(NamedTuple):
    """The addresses in a feed: its own, and that of companies before `/<country>/<number>`."""

    own: str
    companies: str


def atom(
    watchlist_id: WatchlistId, watchlist: WatchedReply, page: FeedPage, links: Links
) -> tuple[bytes, datetime]:
    """Returns the document, and when it was modified: by an event, or as the list was."""
    events: list[dict[str, Any]] = [orjson.loads(event.body) for event in page.events]
    updated = [event["occurred_at"] for event in events]
    if watchlist.updated_at is not None and not updated:
        updated = [rfc3339(watchlist.updated_at)]
    feed = Element("feed", xmlns=_ATOM)
    _add(feed, "id", UUID(watchlist_id.removeprefix("wl_")).urn)
    _add(feed, "title", f"Changes: {watchlist.name}")
    latest = max(updated, key=datetime.fromisoformat)
    _add(feed, "updated", latest)
    SubElement(feed, "link", rel="self", type="application/atom+xml", href=links.own)
    _add(SubElement(feed, "author"), "name", "Company Registry Lookup Service")
    for event in reversed(events):
        entry, words = SubElement(feed, "entry"), in_words(event)
        _add(entry, "id", UUID(event["id"]).urn)
        _add(entry, "title", words.title)
        _add(entry, "updated", event["occurred_at"])
        url = f"{links.companies}/{event['country']}/{event['vat']}"
        SubElement(entry, "link", rel="alternate", href=url)
        number = f"{event['country'].upper()} {event['vat']}"
        lines = filter(None, (number, words.unit, *(line.text for line in words.lines)))
        _add(entry, "content", "\n".join(lines), type="text")
    document: bytes = tostring(feed, encoding="utf-8", xml_declaration=True)
    modified = filter(None, (datetime.fromisoformat(latest), watchlist.updated_at))
    return document, max(modified).astimezone(UTC)


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = displayed(legal(text))
