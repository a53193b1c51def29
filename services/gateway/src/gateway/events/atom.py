"""The Atom feed of a watchlist (RFC 4287), for readers that have its private address.

The token in the address is the only credential: it gives the latest events of the companies in
that one list. Neither it nor its hash is in a log, a metric, a trace or the feed itself.
"""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID
from xml.etree.ElementTree import Element, SubElement, tostring

import orjson
from aiohttp import hdrs, web

from common.contracts.events import FeedFilter, FeedPage, FeedRequest, lines_of, rfc3339, title_of
from common.contracts.watchlists import WatchedReply, WatchedRequest, WatchlistId
from common.runtime.public_port.conditional import ETAG, etag_matches, if_none_match
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
        body = atom(watchlist_id, watchlist, page, self._links(request))
        headers = {
            hdrs.CONTENT_TYPE: "application/atom+xml; charset=utf-8",
            hdrs.CACHE_CONTROL: CACHE_CONTROL,
            # Browsers show feeds, and would send the address to the sites that they link to.
            hdrs.REFERRER_POLICY: "no-referrer",
            # Weak: the body may be compressed.
            ETAG: f'W/"{sha256(body).hexdigest()[:32]}"',
        }
        if etag_matches(headers[ETAG], if_none_match(request)):
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, headers=headers)

    def _links(self, request: web.Request) -> str:
        api = public_address(request, self.public_url)
        return f"{self.portal_url or f'{api}/api'}/companies"


def atom(watchlist_id: WatchlistId, watchlist: WatchedReply, page: FeedPage, links: str) -> bytes:
    """Returns the document, whose entries link to `<links>/<country>/<number>`."""
    events: list[dict[str, Any]] = [orjson.loads(event.body) for event in page.events]
    updated = [event["occurred_at"] for event in events]
    if watchlist.updated_at is not None and not updated:
        updated = [rfc3339(watchlist.updated_at)]
    feed = Element("feed", xmlns=_ATOM)
    _add(feed, "id", UUID(watchlist_id.removeprefix("wl_")).urn)
    _add(feed, "title", f"Changes: {watchlist.name}")
    _add(feed, "updated", max(updated, key=datetime.fromisoformat))
    _add(SubElement(feed, "author"), "name", "Company Registry Lookup Service")
    for event in reversed(events):
        entry = SubElement(feed, "entry")
        _add(entry, "id", UUID(event["id"]).urn)
        _add(entry, "title", title_of(event))
        _add(entry, "updated", event["occurred_at"])
        url = f"{links}/{event['country']}/{event['vat']}"
        SubElement(entry, "link", rel="alternate", href=url)
        _add(entry, "content", "\n".join(lines_of(event)), type="text")
    document: bytes = tostring(feed, encoding="utf-8", xml_declaration=True)
    return document


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = legal(text)
