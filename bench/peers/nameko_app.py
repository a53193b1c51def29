"""The peer nameko, for `nameko run`: HTTP in one process, the remote procedure in another.

Runs in a separate environment (`bench.rpc_peers`). The response is as large as one of ours and
comes from memory: no database, no key, no rate limit, no log line.
"""

import os

from nameko.rpc import RpcProxy, rpc
from nameko.web.handlers import http

BODY = '{"name":"' + "x" * (int(os.environ["RESPONSE_SIZE"]) - 11) + '"}'


class Lookup:
    name = "lookup"

    @rpc
    def find(self, number):  # noqa: ARG002 (the name is part of the procedure)
        return BODY


class Gateway:
    name = "gateway"
    lookup = RpcProxy("lookup")

    @http("GET", "/api/vat")
    def get(self, request):
        return 200, {"Content-Type": "application/json"}, self.lookup.find(request.args["q"])
