"""The networks that deliveries come from, for receivers with a firewall."""

from collections.abc import Sequence

import orjson
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from gateway.adapters.http.bodies import JSON
from gateway.adapters.http.webhooks import PUBLIC
from gateway.domain.clients import Network

SOURCES_PATH = "/api/webhook-sources"


def sources_handler(
    networks: Sequence[Network],
) -> Handler:
    """The handler of the list, which only changes with the settings."""
    body = orjson.dumps({"addresses": [str(network) for network in networks]})

    async def sources(_: web.Request) -> web.Response:
        return web.Response(
            body=body, headers={hdrs.CONTENT_TYPE: JSON, hdrs.CACHE_CONTROL: PUBLIC}
        )

    return sources
