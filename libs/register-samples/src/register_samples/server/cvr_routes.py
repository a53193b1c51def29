"""The interface of the Danish register: scrolled Elasticsearch searches with Basic auth.

Of the query language it understands the search that the lookup service sends: documents changed
at a time or later, the oldest change first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from aiohttp import web

from register_samples.facts import Document
from register_samples.server import parameters
from register_samples.server.answers import json_answer
from register_samples.server.danish import DanishRegister, Index

PREFIX = "/cvr-permanent"

#: The largest page.
MAX_SIZE = 3000


@dataclass
class _Scroll:
    """The rest of a search, and when it expires."""

    documents: Sequence[Document]
    total: int
    size: int
    until: datetime


class CvrRoutes:
    def __init__(
        self, register: DanishRegister, authorization: str, now: Callable[[], datetime]
    ) -> None:
        self._register = register
        self._authorization = authorization
        self._now = now
        self._scrolls: dict[str, _Scroll] = {}
        self._opened = 0

    def routes(self) -> list[web.RouteDef]:
        found = [web.post("/_search/scroll", self._next)]
        for index in self._register.indexes:
            found.append(web.post(f"{PREFIX}/{index.name}/_search", self._searching(index)))
        return found

    def _searching(self, index: Index) -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            self._check(request)
            span = parameters.read(request.query, {"scroll": _duration}).get("scroll")
            since, size = _search(await _body(request), f"{index.wrapping}.sidstOpdateret")
            if span is None:
                raise parameters.BadRequest("scroll: it is required")
            found = [each for each in index.documents.values() if index.updated(each) >= since]
            found.sort(key=index.updated)
            self._opened += 1
            scroll = _Scroll(found, len(found), size, self._now())
            return self._page(f"c2Nyb2xs{self._opened:08d}", scroll, span)

        return answer

    async def _next(self, request: web.Request) -> web.Response:
        """The next page; two requests return two pages, as in Elasticsearch."""
        self._check(request)
        body = await _body(request)
        key, span = str(body.get("scroll_id")), _duration(str(body.get("scroll")))
        scroll = self._scrolls.pop(key, None)
        if scroll is None or scroll.until < self._now():
            kind = "search_context_missing_exception"
            return json_answer({"error": {"type": kind}, "status": 404}, status=404)
        return self._page(key, scroll, span)

    def forget_scrolls(self) -> None:
        """As after they expired, or when a node of the cluster is restarted."""
        self._scrolls.clear()

    def _page(self, key: str, scroll: _Scroll, span: timedelta) -> web.Response:
        page, scroll.documents = scroll.documents[: scroll.size], scroll.documents[scroll.size :]
        scroll.until = self._now() + span
        self._scrolls[key] = scroll
        hits = {"total": scroll.total, "max_score": None, "hits": [_hit(each) for each in page]}
        return json_answer(
            {
                "_scroll_id": key,
                "took": 3,
                "timed_out": False,
                "_shards": {"total": 6, "successful": 6, "skipped": 0, "failed": 0},
                "hits": hits,
            }
        )

    def _check(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != self._authorization:
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": 'Basic realm="cvr"'})


def _search(body: Mapping[str, Any], field: str) -> tuple[datetime, int]:
    """The time and the page size of a search; raises BadRequest for any other search."""
    try:
        at, size = body["query"]["range"][field]["gte"], body["size"]
        since = parameters.moment(at)
    except (KeyError, TypeError, ValueError):
        raise parameters.BadRequest("query: it is a range of times") from None
    known = {"query": {"range": {field: {"gte": at}}}, "sort": [{field: "asc"}], "size": size}
    if body != known or type(size) is not int or not 1 <= size <= MAX_SIZE:
        raise parameters.BadRequest("search: only a range of times, oldest first")
    return since, size


def _duration(text: str) -> timedelta:
    """`1m`, `30s`."""
    units = {"s": 1, "m": 60, "h": 3600}
    if not text[:-1].isdecimal() or text[-1:] not in units:
        raise parameters.BadRequest(f"scroll: {text} is not a time")
    return timedelta(seconds=int(text[:-1]) * units[text[-1]])


async def _body(request: web.Request) -> Mapping[str, Any]:
    try:
        body = orjson.loads(await request.read())
    except orjson.JSONDecodeError:
        raise parameters.BadRequest("the body is not JSON") from None
    if not isinstance(body, dict):
        raise parameters.BadRequest("the body is not an object")
    return body


def _hit(document: Document) -> Document:
    (content,) = document.values()
    return {
        "_index": "cvr-permanent",
        "_type": "_doc",
        "_id": str(content["enhedsNummer"]),
        "_score": 1.0,
        "_source": document,
    }
