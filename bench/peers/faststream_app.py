"""The peer FastStream: `faststream_app.py lookup`, and under uvicorn `faststream_app:gateway`.

Runs in a separate environment (`bench.rpc_peers`), on uvloop. The response is as large as one
of ours and comes from memory: no database, no key, no rate limit. `log_level` is that of its
access log, which it writes.
"""

import logging
import os

import uvloop
from faststream import FastStream
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from faststream.rabbit import RabbitBroker

QUEUE = "bench.faststream"
BODY = b'{"name":"' + b"x" * (int(os.environ["RESPONSE_SIZE"]) - 11) + b'"}'

broker = RabbitBroker(os.environ["AMQP_URL"], log_level=logging.CRITICAL)


@get
async def find(scope):
    number = scope["query_string"].decode().rpartition("q=")[2]
    reply = await broker.request(number, QUEUE, timeout=5)
    return AsgiResponse(reply.body, 200, headers={"content-type": "application/json"})


gateway = AsgiFastStream(broker, asgi_routes=[("/api/vat", find)])


async def answer(_number: str) -> bytes:
    return BODY


if __name__ == "__main__":
    broker.subscriber(QUEUE)(answer)
    uvloop.run(FastStream(broker).run())
