"""Companies that fit filters, over HTTP: the lists of both countries are merged into one."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.find import FindPosition, FindReply, FindRequest, FoundCompany
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.responses import json_response
from gateway.lookups.find_queries import cursor_of, parse_find
from gateway.lookups.handlers import CACHE_CONTROL

FIND_PATH = "/api/companies"


class Finds(Protocol):
    """Finds the companies of one country that fit filters."""

    async def companies(self, request: FindRequest, *, request_id: str) -> FindReply:
        """Returns a page of one country's companies; raises as `Lookups.find`."""


def find_handler(finds: Finds) -> Handler:
    """Returns the handler of lists; a client may reuse a page for a minute, as a company."""

    async def find(request: web.Request) -> web.Response:
        requests = parse_find(parameters_of(request))
        request_id = request[REQUEST_CONTEXT].request_id
        replies = await asyncio.gather(
            *(finds.companies(each, request_id=request_id) for each in requests)
        )
        return json_response(document(requests[0], replies), cache_control=CACHE_CONTROL)

    return find


def document(query: FindRequest, replies: Sequence[FindReply]) -> bytes:
    """Returns the public answer (`CompanyList`): one page of the lists of all countries.

    `query` is the request of any country; they differ in nothing else.
    """
    found = sorted(chain.from_iterable(reply.companies for reply in replies), key=_place)
    page = found[: query.limit]
    has_more = len(found) > len(page) or any(reply.has_more for reply in replies)
    last = page[-1].position if page and has_more else None
    parts = [
        b'{"companies":[%b]' % b",".join(company.body for company in page if company.body),
        b'"total":%d' % sum(reply.total for reply in replies),
        b'"cursor":%b' % orjson.dumps(last and cursor_of(last, query.sort)),
    ]
    if query.facets:
        parts.append(b'"facets":%b' % orjson.dumps(_facets(query, replies)))
    return b",".join(parts) + b"}"


def _place(company: FoundCompany) -> Any:
    position: FindPosition = company.position
    # Compared as bytes, as in the index.
    key = position.key.encode() if isinstance(position.key, str) else position.key
    return key, position.country, position.number


def _facets(query: FindRequest, replies: Sequence[FindReply]) -> dict[str, list[dict[str, Any]]]:
    counts = {facet.value: Counter[str]() for facet in query.facets}
    for reply in replies:
        for facet, values in reply.facets.items():
            counts[facet].update(values)
    return {
        facet: [
            {"value": value, "count": count}
            for value, count in sorted(values.items(), key=lambda one: (-one[1], one[0]))
        ]
        for facet, values in counts.items()
    }
