"""`python -m bench.peers.plain_aio_pika lookup|gateway`: the pattern of the manuals.

aiohttp, aio-pika, one message each way for each request, correlated by an exclusive reply queue.
The response comes from memory: no database, no key, no rate limit, no log line.
"""

import asyncio
import os
import sys
from uuid import uuid4

import aio_pika
import uvloop
from aio_pika.abc import AbstractIncomingMessage
from aiohttp import web

QUEUE = "bench.aio-pika"
BODY = b'{"name":"' + b"x" * (int(os.environ["RESPONSE_SIZE"]) - 11) + b'"}'


async def lookup() -> None:
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    channel = await connection.channel(publisher_confirms=False)
    await channel.set_qos(prefetch_count=256)
    queue = await channel.declare_queue(QUEUE, auto_delete=True)

    async def answer(message: AbstractIncomingMessage) -> None:
        async with message.process():
            reply = aio_pika.Message(BODY, correlation_id=message.correlation_id)
            await channel.default_exchange.publish(reply, message.reply_to or "")

    await queue.consume(answer)
    await asyncio.Event().wait()


async def gateway() -> web.Application:
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    channel = await connection.channel(publisher_confirms=False)
    replies = await channel.declare_queue(exclusive=True)
    pending: dict[str, asyncio.Future[bytes]] = {}

    async def receive(message: AbstractIncomingMessage) -> None:
        pending.pop(message.correlation_id or "").set_result(message.body)

    async def find(request: web.Request) -> web.Response:
        number = str(uuid4())
        pending[number] = asyncio.get_running_loop().create_future()
        message = aio_pika.Message(
            request.query["q"].encode(), correlation_id=number, reply_to=replies.name
        )
        await channel.default_exchange.publish(message, QUEUE)
        return web.Response(body=await pending[number], content_type="application/json")

    await replies.consume(receive, no_ack=True)
    app = web.Application()
    app.router.add_get("/api/vat", find)
    return app


if __name__ == "__main__":
    if sys.argv[1] == "lookup":
        uvloop.run(lookup())
    else:
        port, loop = int(os.environ["HTTP_PORT"]), uvloop.new_event_loop()
        web.run_app(
            gateway(),
            host="127.0.0.1",
            port=port,
            backlog=1024,
            access_log=None,
            print=None,
            loop=loop,
        )
