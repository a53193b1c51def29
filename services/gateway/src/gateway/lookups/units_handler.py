"""The production units of a company, in pages."""

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.http.bodies import json_response
from gateway.http.context import REQUEST_CONTEXT, parameters_of
from gateway.lookups.handlers import CACHE_CONTROL
from gateway.lookups.units import parse_units
from gateway.ports import Units

UNITS_PATH = "/api/companies/{country}/{vat}/production_units"


def units_handler(stored: Units) -> Handler:
    """The handler of pages; a client may reuse one for a minute, as a company."""

    async def units(request: web.Request) -> web.Response:
        path = request.match_info
        asked = parse_units(path["country"], path["vat"], parameters_of(request))
        reply = await stored.units(asked, request_id=request[REQUEST_CONTEXT].request_id)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return units
