"""How fresh the registers are, over HTTP."""

from typing import Protocol

from aiohttp import web
from aiohttp.typedefs import Handler

from common.contracts.registers import SourcesReply
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT
from gateway.http.responses import json_response

REGISTERS_PATH = "/api/registers"


class Sources(Protocol):
    """Says how fresh the registers are."""

    async def sources(self, *, caller: Caller) -> SourcesReply:
        """Returns the sources of the registers; raises as `Lookups.look_up`."""


def registers_handler(sources: Sources) -> Handler:
    """Returns the handler of the sources; it asks each time, for the times move every minute."""

    async def registers(request: web.Request) -> web.Response:
        reply = await sources.sources(caller=request[REQUEST_CONTEXT].caller)
        return json_response(reply.model_dump_json().encode())

    return registers
