"""Lookups over HTTP: one company as JSON or XML."""

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from common.contracts.lookup import SearchType
from common.runtime.public_port.conditional import ETAG, etag_matches, if_none_match
from gateway.http.context import REQUEST_CONTEXT, accept_of, parameters_of
from gateway.http.formats import Format, entity_tag
from gateway.http.xml_processes import XmlRenderer
from gateway.lookups.queries import parse_lookup
from gateway.ports import Lookups

#: A client may reuse a company for a minute.
CACHE_CONTROL = "private, max-age=60"

MEDIA_TYPE = {Format.JSON: "application/json", Format.XML: "application/xml; charset=utf-8"}


def lookup_handler(
    lookups: Lookups, renderer: XmlRenderer, typed: SearchType | None = None
) -> Handler:
    """The handler of `/api`, or of the endpoint of one search type."""

    async def look_up(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        query = parse_lookup(parameters_of(request), typed=typed, accept=accept_of(request))
        context.search_type = query.search_type
        reply = await lookups.find(query.request, request_id=context.request_id)
        headers = {
            ETAG: entity_tag(reply.tag, query.format),
            hdrs.CACHE_CONTROL: CACHE_CONTROL,
        }
        if etag_matches(headers[ETAG], if_none_match(request)):
            return web.Response(status=304, headers=headers)
        headers[hdrs.CONTENT_TYPE] = MEDIA_TYPE[query.format]
        is_xml = query.format is Format.XML
        body = await renderer.company(reply.body) if is_xml else reply.body
        return web.Response(body=body, headers=headers)

    return look_up
