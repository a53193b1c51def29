"""`python -m bench.peers.plain_aio_pika lookup|gateway [PORT]`: the pattern of the manuals.

aiohttp, aio-pika, one message each way for each request, correlated by an exclusive reply queue.
The answer comes from memory: no database, no key, no rate limit, no log line.
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
BODY = b'{"name":"' + b"x" * (int(os.environ["ANSWER_SIZE"]) - 11) + b'"}'


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


async def gateway(port: int) -> None:
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    channel = await connection.channel(publisher_confirms=False)
    replies = await channel.declare_queue(exclusive=True)
    waiting: dict[str, asyncio.Future[bytes]] = {}

    async def take(message: AbstractIncomingMessage) -> None:
        waiting.pop(message.correlation_id or "").set_result(message.body)

    async def find(request: web.Request) -> web.Response:
        number = str(uuid4())
        waiting[number] = asyncio.get_running_loop().create_future()
        message = aio_pika.Message(
            request.query["q"].encode(), correlation_id=number, reply_to=replies.name
        )
        await channel.default_exchange.publish(message, QUEUE)
        return web.Response(body=await waiting[number], content_type="application/json")

    await replies.consume(take, no_ack=True)
    app = web.Application()
    app.router.add_get("/api/vat", find)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(lookup() if sys.argv[1] == "lookup" else gateway(int(sys.argv[2])))
