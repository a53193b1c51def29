"""The interface of the Danish register: Elasticsearch with Basic auth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from aiohttp import web

from register_samples.containers import hit
from register_samples.facts import Document
from register_samples.server import parameters
from register_samples.server.answers import json_answer
from register_samples.server.cvr_queries import WindowTooLarge, duration, read_search
from register_samples.server.danish import DanishRegister, Index

PREFIX = "/cvr-permanent"


@dataclass
class _Scroll:
    """What is left of a search, until it is forgotten."""

    documents: Sequence[Document]
    total: int
    size: int
    source: tuple[str, ...] | None
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
            asked = parameters.read(request.query, {"scroll": duration})
            try:
                search = read_search(await _body(request), index)
            except WindowTooLarge as error:
                return _error("query_phase_execution_exception", str(error), status=500)
            found = search.run(index)
            page = found[search.start : search.start + search.size]
            if "scroll" not in asked:
                return _answer(page, len(found), search.source)
            rest = found[len(page) :]
            scroll = _Scroll(rest, len(found), search.size, search.source, self._now())
            return _answer(page, len(found), search.source, self._keep(scroll, asked["scroll"]))

        return answer

    async def _next(self, request: web.Request) -> web.Response:
        """The next page; asked twice, it gives two pages, as Elasticsearch does."""
        self._check(request)
        parameters.read(request.query, {})
        body = await _body(request)
        if body.keys() - {"scroll", "scroll_id"} or "scroll_id" not in body:
            raise parameters.BadRequest("scroll: it takes scroll and scroll_id")
        scroll = self._scrolls.pop(body["scroll_id"], None)
        if scroll is None or scroll.until < self._now():
            return _error("search_context_missing_exception", "No search context found", status=404)
        page = scroll.documents[: scroll.size]
        scroll.documents = scroll.documents[scroll.size :]
        key = self._keep(scroll, duration(body.get("scroll", "1m")), body["scroll_id"])
        return _answer(page, scroll.total, scroll.source, key)

    def forget_scrolls(self) -> None:
        """As after their time, or when a node of the cluster is restarted."""
        self._scrolls.clear()

    def _keep(self, scroll: _Scroll, span: timedelta, key: str | None = None) -> str:
        if key is None:
            self._opened += 1
            key = f"c2Nyb2xs{self._opened:08d}"
        scroll.until = self._now() + span
        self._scrolls[key] = scroll
        return key

    def _check(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != self._authorization:
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": 'Basic realm="cvr"'})


async def _body(request: web.Request) -> Mapping[str, Any]:
    text = await request.read()
    try:
        body = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        raise parameters.BadRequest("the body is not JSON") from None
    if not isinstance(body, dict):
        raise parameters.BadRequest("the body is not an object")
    return body


def _answer(
    documents: Sequence[Document],
    total: int,
    source: tuple[str, ...] | None,
    scroll: str | None = None,
) -> web.Response:
    hits = [hit(_only(document, source)) for document in documents]
    content = {
        **({"_scroll_id": scroll} if scroll else {}),
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 6, "successful": 6, "skipped": 0, "failed": 0},
        "hits": {"total": total, "max_score": None, "hits": hits},
    }
    return json_answer(content)


def _only(document: Document, source: tuple[str, ...] | None) -> Document:
    """The wanted fields of a document; its own number always among them."""
    if source is None:
        return document
    [(wrapping, content)] = document.items()
    if wrapping in source:
        return document
    wanted = {path.partition(".")[2].partition(".")[0] for path in source} | {"enhedsNummer"}
    return {wrapping: {name: value for name, value in content.items() if name in wanted}}


def _error(kind: str, reason: str, *, status: int) -> web.Response:
    error = {"root_cause": [{"type": kind, "reason": reason}], "type": kind, "reason": reason}
    return json_answer({"error": error, "status": status}, status=status)
