"""`python -m bench.peers.bare_aiohttp PORT SIZE`: the least an aiohttp server can do.

One route, a ready JSON answer of SIZE bytes, uvloop, no middleware, no log: the upper bound for an
aiohttp gateway on this machine.
"""

import asyncio
import sys

import uvloop
from aiohttp import web


async def serve(port: int, size: int) -> None:
    body = b'{"name":"' + b"x" * (size - 11) + b'"}'

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2])))
