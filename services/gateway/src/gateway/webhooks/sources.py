"""The networks that deliveries come from, for receivers with a firewall."""

from collections.abc import Sequence

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.access.clients import Network
from gateway.http.bodies import PUBLIC, json_response

SOURCES_PATH = "/api/webhook-sources"


def sources_handler(networks: Sequence[Network]) -> Handler:
    """The handler of the list, which only changes with the settings."""
    body = orjson.dumps({"addresses": [str(network) for network in networks]})

    async def sources(_: web.Request) -> web.Response:
        return json_response(body, cache_control=PUBLIC)

    return sources
