"""Suggestions while a name is typed."""

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from gateway.adapters.http.context import REQUEST_CONTEXT, parameters_of
from gateway.adapters.http.lookup import CACHE_CONTROL, MEDIA_TYPE
from gateway.domain.query import Format
from gateway.domain.suggesting import parse_suggestion
from gateway.ports import Suggestions

SUGGEST_PATH = "/api/suggest"


def suggest_handler(suggestions: Suggestions) -> Handler:
    """The handler of suggestions; a client may reuse a list for a minute."""

    async def suggest(request: web.Request) -> web.Response:
        asked = parse_suggestion(parameters_of(request))
        reply = await suggestions.suggest(asked, request_id=request[REQUEST_CONTEXT].request_id)
        headers = {hdrs.CONTENT_TYPE: MEDIA_TYPE[Format.JSON], hdrs.CACHE_CONTROL: CACHE_CONTROL}
        return web.Response(body=reply.body, headers=headers)

    return suggest
