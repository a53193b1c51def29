"""Lookups, suggestions and the lists of a company over HTTP."""

from typing import Protocol

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.contracts.lookup import (
    ListedPart,
    PartReply,
    PartRequest,
    SearchType,
    SuggestReply,
    SuggestRequest,
)
from common.runtime.public_port.conditional import ETAG, etag_matches, if_none_match
from gateway.http.middleware import REQUEST_CONTEXT, accept_of, parameters_of
from gateway.http.parameters import Format, entity_tag
from gateway.http.responses import json_response
from gateway.http.xml_processes import XmlRenderer
from gateway.lookups.batches import Lookups
from gateway.lookups.queries import (
    parse_lookup,
    parse_part,
    parse_suggestion,
    requested_search,
)

SUGGEST_PATH = "/api/suggest"
COMPANY_PATH = "/api/companies/{country}/{vat}"
#: The path of each list of a company.
PART_PATHS = {part: f"{COMPANY_PATH}/{part}" for part in ListedPart}

#: A client may reuse a company for a minute.
CACHE_CONTROL = "private, max-age=60"

MEDIA_TYPE = {Format.JSON: "application/json", Format.XML: "application/xml; charset=utf-8"}


class Parts(Protocol):
    """Reads the lists of a company page by page."""

    async def part(self, request: PartRequest, *, request_id: str) -> PartReply:
        """Returns a page of a list of a company; raises as `Lookups.find`."""


class Suggestions(Protocol):
    """Completes partly typed company names."""

    async def suggest(self, request: SuggestRequest, *, request_id: str) -> SuggestReply:
        """Returns companies whose names complete the text, best first; may be empty.

        Raises ServiceUnavailable (broker, database or lookup service, or its index is still
        being built), LookupTimeout or InternalError; bounded by a timeout.
        """


def lookup_handler(
    lookups: Lookups, renderer: XmlRenderer, typed: SearchType | None = None
) -> Handler:
    """Returns the handler of `/api`, of the endpoint of one search type, or of a company."""

    async def look_up(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        parameters = parameters_of(request)
        if request.match_info:
            # The path of a company has its country and number.
            parameters |= {name: [value] for name, value in request.match_info.items()}
        lookup, format_ = parse_lookup(parameters, typed=typed, accept=accept_of(request))
        context.search_type = requested_search(lookup)
        reply = await lookups.find(lookup, request_id=context.request_id)
        headers = {
            ETAG: entity_tag(reply.tag, format_),
            hdrs.CACHE_CONTROL: CACHE_CONTROL,
        }
        if reply.vat:
            # `COMPANY_PATH`, without the time of a template.
            country = lookup.country.value
            headers[hdrs.LINK] = f'</api/companies/{country}/{reply.vat}>; rel="self"'
        if etag_matches(headers[ETAG], if_none_match(request)):
            return web.Response(status=304, headers=headers)
        headers[hdrs.CONTENT_TYPE] = MEDIA_TYPE[format_]
        is_xml = format_ is Format.XML
        body = await renderer.company(reply.body) if is_xml else reply.body
        return web.Response(body=body, headers=headers)

    return look_up


def suggest_handler(suggestions: Suggestions) -> Handler:
    """Returns the handler of suggestions; a client may reuse a list for a minute."""

    async def suggest(request: web.Request) -> web.Response:
        asked = parse_suggestion(parameters_of(request))
        reply = await suggestions.suggest(asked, request_id=request[REQUEST_CONTEXT].request_id)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return suggest


def part_handler(parts: Parts, part: ListedPart) -> Handler:
    """Returns the handler of a list of a company; a client may reuse a page for a minute."""

    async def page(request: web.Request) -> web.Response:
        path = request.match_info
        asked = parse_part(part, path["country"], path["vat"], parameters_of(request))
        reply = await parts.part(asked, request_id=request[REQUEST_CONTEXT].request_id)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return page
