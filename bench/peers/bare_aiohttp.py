"""`python -m bench.peers.bare_aiohttp`: the minimum of an aiohttp server.

A ready response from memory, on uvloop, without RPC, middleware or log: the upper bound for an
aiohttp gateway on this machine.
"""

import os

import uvloop
from aiohttp import web

BODY = b'{"name":"' + b"x" * (int(os.environ["RESPONSE_SIZE"]) - 11) + b'"}'


async def find(_request: web.Request) -> web.Response:
    return web.Response(body=BODY, content_type="application/json")


if __name__ == "__main__":
    app = web.Application()
    app.router.add_get("/api/vat", find)
    port, loop = int(os.environ["HTTP_PORT"]), uvloop.new_event_loop()
    web.run_app(
        app, host="127.0.0.1", port=port, backlog=1024, access_log=None, print=None, loop=loop
    )
