"""The Danish index of filings, and the host of their documents."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from aiohttp import web

from register_samples.danish_accounts import HOST, Filing, Stored, filings
from register_samples.registers import Document
from register_samples.server.messages import BadRequest, Stamps, iso, json_answer, moment

PREFIX = "/offentliggoerelser"
#: In the real register this is a host of its own.
DOCUMENTS = "/regnskaber"
#: The largest page, `index.max_result_window`.
_MAX_SIZE = 3000
_KNOWN = {"size", "sort", "query", "_source"}


class FilingRegister:
    """The filings of companies; changes by a test take effect immediately."""

    def __init__(self, stamps: Stamps, *, companies: int) -> None:
        self._stamps = stamps
        self.hits: dict[str, Document] = {}
        self.documents: dict[str, Stored] = {}
        for index in range(companies):
            for filing in filings(index):
                self._add(filing)
                stamps.pass_by(datetime.fromisoformat(filing.hit["_source"]["sidstOpdateret"]))

    def _add(self, filing: Filing) -> None:
        self.hits[filing.hit["_id"]] = filing.hit
        self.documents.update(filing.documents)

    def file(self, filing: Filing) -> None:
        """Publishes a filing now, again or for the first time."""
        at = iso(self._stamps.next())
        times = ("offentliggoerelsesTidspunkt", "indlaesningsTidspunkt", "sidstOpdateret")
        source = {**filing.hit["_source"], **dict.fromkeys(times, at)}
        self._add(Filing({**filing.hit, "_source": source}, filing.documents))

    def routes(self) -> list[web.RouteDef]:
        """Returns the table of the interface."""
        return [
            web.post(f"{PREFIX}/_search", self._search),
            web.get(f"{DOCUMENTS}/{{place:.+}}", self._document),
        ]

    async def _search(self, request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        size = body.get("size", 10)
        if body.keys() - _KNOWN or type(size) is not int or not 1 <= size <= _MAX_SIZE:
            raise BadRequest("search: a member is unknown, or size is not from 1 to 3000")
        if body.get("sort") != [{"sidstOpdateret": "asc"}]:
            raise BadRequest("sort: only by sidstOpdateret")
        filters = body["query"]["bool"]["filter"]
        found = [hit for hit in self.hits.values() if all(_matches(hit, one) for one in filters)]
        found.sort(key=lambda hit: str(hit["_source"]["sidstOpdateret"]))
        base = f"{request.scheme}://{request.host}"
        page = [_with_addresses(hit, base) for hit in found[:size]]
        return json_answer(
            {
                "took": 3,
                "timed_out": False,
                "_shards": {"total": 6, "successful": 6, "skipped": 0, "failed": 0},
                "hits": {"total": len(found), "max_score": None, "hits": page},
            }
        )

    async def _document(self, request: web.Request) -> web.Response:
        stored = self.documents.get(f"/{request.match_info['place']}")
        if stored is None:
            raise web.HTTPNotFound
        if stored.location is not None:
            raise web.HTTPFound(stored.location)
        headers = {} if stored.encoding is None else {"Content-Encoding": stored.encoding}
        return web.Response(body=stored.content, headers=headers, content_type="application/xml")


def _matches(hit: Document, condition: Mapping[str, Any]) -> bool:
    source = hit["_source"]
    [(kind, content)] = condition.items()
    [(name, wanted)] = content.items()
    match kind, name:
        case "term", _:
            return bool(source[name] == wanted)
        case "range", "sidstOpdateret":
            at = moment(source[name])
            return moment(wanted["gte"]) <= at < moment(wanted["lt"])
        case "range", "cvrNummer":
            return bool(wanted["gte"] <= source[name] < wanted["lt"])
        case _:
            raise BadRequest(f"{kind} of {name}: unknown here")


def _with_addresses(hit: Document, base: str) -> Document:
    documents = hit["_source"]["dokumenter"]
    listed = [
        {**each, "dokumentUrl": each["dokumentUrl"].replace(f"http://{HOST}", base)}
        for each in documents
    ]
    return {**hit, "_source": {**hit["_source"], "dokumenter": listed}}
