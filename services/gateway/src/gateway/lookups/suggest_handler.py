"""Suggestions while a name is typed."""

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.http.bodies import json_response
from gateway.http.context import REQUEST_CONTEXT, parameters_of
from gateway.lookups.handlers import CACHE_CONTROL
from gateway.lookups.suggesting import parse_suggestion
from gateway.ports import Suggestions

SUGGEST_PATH = "/api/suggest"


def suggest_handler(suggestions: Suggestions) -> Handler:
    """The handler of suggestions; a client may reuse a list for a minute."""

    async def suggest(request: web.Request) -> web.Response:
        asked = parse_suggestion(parameters_of(request))
        reply = await suggestions.suggest(asked, request_id=request[REQUEST_CONTEXT].request_id)
        return json_response(reply.body, cache_control=CACHE_CONTROL)

    return suggest
