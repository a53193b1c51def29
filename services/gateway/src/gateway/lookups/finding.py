"""Companies that fit filters, over HTTP: the lists of both countries are merged into one."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.company import Country
from common.contracts.find import (
    Code,
    Facet,
    FindPosition,
    FindReply,
    FindRequest,
    FoundCompany,
)
from common.domain.known_values import sharing
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.responses import json_response
from gateway.lookups.code_lists import Finds, StoredCodes
from gateway.lookups.codes import code_of
from gateway.lookups.find_queries import cursor_of, parse_find
from gateway.lookups.handlers import CACHE_CONTROL

FIND_PATH = "/api/companies"


def find_handler(finds: Finds, codes: StoredCodes) -> Handler:
    """Returns the handler of lists; a client may reuse a page for a minute, as a company."""

    async def find(request: web.Request) -> web.Response:
        request_id, parameters = request[REQUEST_CONTEXT].request_id, parameters_of(request)
        stored = await codes.explaining(parameters, request_id=request_id)
        requests = parse_find(parameters, stored)
        replies = await asyncio.gather(
            *(finds.companies(each, request_id=request_id) for each in requests)
        )
        return json_response(document(requests, replies), cache_control=CACHE_CONTROL)

    return find


def document(requests: Sequence[FindRequest], replies: Sequence[FindReply]) -> bytes:
    """Returns the public answer (`CompanyList`): one page of the lists of all countries.

    The requests differ in their countries only.
    """
    query = requests[0]
    found = sorted(chain.from_iterable(reply.companies for reply in replies), key=_place)
    page = found[: query.limit]
    has_more = len(found) > len(page) or any(reply.has_more for reply in replies)
    last = page[-1].position if page and has_more else None
    parts = [
        b'{"companies":[%b]' % b",".join(company.body for company in page if company.body),
        b'"total":%d' % sum(reply.total for reply in replies),
        b'"cursor":%b' % orjson.dumps(last and cursor_of(last, query.sort)),
    ]
    facets = _facets(requests, replies)
    if query.facets:
        parts.append(b'"facets":%b' % orjson.dumps(facets))
    if ambiguous := list(_ambiguous(query, facets)):
        parts.append(b'"ambiguous":%b' % orjson.dumps(ambiguous))
    return b",".join(parts) + b"}"


def _ambiguous(
    query: FindRequest, facets: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Yields the names, filtered by or counted, that several municipalities have."""
    counted = [each["value"] for each in facets.get(Facet.MUNICIPALITY, ())]
    for parameter, names in (("municipality", query.municipalities), ("facets", counted)):
        for name in names:
            if codes := sharing(name):
                yield {"parameter": parameter, "value": name, "codes": codes}


def _place(company: FoundCompany) -> Any:
    position: FindPosition = company.position
    # Compared as bytes, as in the index.
    key = position.key.encode() if isinstance(position.key, str) else position.key
    return key, position.country, position.number


def _facets(
    requests: Sequence[FindRequest], replies: Sequence[FindReply]
) -> dict[str, list[dict[str, Any]]]:
    answers = list(zip((request.country for request in requests), replies, strict=True))
    return {facet.value: _counts(facet, answers) for facet in requests[0].facets}


def _counts(facet: Facet, answers: Sequence[tuple[Country, FindReply]]) -> list[dict[str, Any]]:
    """Returns the values of a facet in all countries, with their texts, the most frequent first."""
    found: dict[str, list[Code]] = {}
    for country, reply in answers:
        texts = reply.texts.get(facet, {})
        for value, count in reply.facets.get(facet, {}).items():
            code = code_of(country, facet, value, texts.get(value), count)
            found.setdefault(value, []).append(code)
    counts = [
        {
            "value": value,
            "count": sum(code.companies or 0 for code in codes),
            "text": _joined(code.text for code in codes),
            "text_en": _joined(code.text_en for code in codes),
        }
        for value, codes in found.items()
    ]
    return sorted(counts, key=lambda one: (-one["count"], one["value"]))


def _joined(texts: Iterable[str | None]) -> str | None:
    """Returns the different texts of a code that both registers have."""
    return " / ".join(dict.fromkeys(filter(None, texts))) or None
