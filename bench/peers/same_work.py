"""`python -m bench.peers.same_work lookup|gateway`: a day's work of a good engineer.

A lookup by number in the usual way: aiohttp, aio-pika with one message each way
and a reply queue, PyMongo's asyncio client, API keys from a cache, metrics of both processes and a
log line. It has no rate limits, other searches, deadlines, retries or traces.
"""

import asyncio
import os
import re
import sys
import time
from hashlib import sha256
from hmac import compare_digest
from typing import Any
from uuid import uuid4

import aio_pika
import orjson
import structlog
import uvloop
from aio_pika.abc import AbstractIncomingMessage
from aiohttp import web
from prometheus_client import Counter, Histogram
from pymongo import AsyncMongoClient

QUEUE = "bench.same-work"
ROUTE = "/api/vat"
#: Seconds for which a key is cached, as in ours.
LIFETIME = 2.0
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS = Counter("requests_total", "Requests", ["route", "status", "search_type"])
SECONDS = Histogram("request_duration_seconds", "Of requests", ["route"], buckets=BUCKETS)
RPC_SECONDS = Histogram("rpc_duration_seconds", "Of calls", ["queue"], buckets=BUCKETS)
log = structlog.get_logger()


async def lookup() -> None:
    mongo: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(os.environ["MONGO_URL"])
    companies = mongo["register"]["companies"]
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    channel = await connection.channel(publisher_confirms=False)
    await channel.set_qos(prefetch_count=256)
    queue = await channel.declare_queue(QUEUE, auto_delete=True)

    async def answer(message: AbstractIncomingMessage) -> None:
        async with message.process():
            with RPC_SECONDS.labels(QUEUE).time():
                asked = orjson.loads(message.body)
                found = await companies.find_one({"_id": f"{asked['country']}:{asked['number']}"})
            body = b"" if found is None else _body(found)
            reply = aio_pika.Message(body, correlation_id=message.correlation_id)
            await channel.default_exchange.publish(reply, message.reply_to or "")

    await queue.consume(answer)
    await asyncio.Event().wait()


def _body(found: dict[str, Any]) -> bytes:
    source = {"register": "brreg", "updated_at": found["updated_at"]}
    more = {"revision": found["revision"], "match": {"type": "vat", "score": 100}, "source": source}
    return b"%b,%b" % (found["core"][:-1], orjson.dumps(more, option=orjson.OPT_NAIVE_UTC)[1:])


async def gateway() -> web.Application:
    mongo: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(os.environ["MONGO_URL"])
    keys = mongo["access"]["api_keys"]
    connection = await aio_pika.connect_robust(os.environ["AMQP_URL"])
    channel = await connection.channel(publisher_confirms=False)
    replies = await channel.declare_queue(exclusive=True)
    pending: dict[str, asyncio.Future[bytes]] = {}
    cached: dict[str, tuple[float, dict[str, Any]]] = {}

    async def receive(message: AbstractIncomingMessage) -> None:
        pending.pop(message.correlation_id or "").set_result(message.body)

    async def key_of(request: web.Request) -> dict[str, Any]:
        key_id, _, secret = request.headers.get("X-API-Key", "").partition(".")
        read_at, key = cached.get(key_id, (0.0, {}))
        if time.monotonic() - read_at > LIFETIME:
            key = await keys.find_one({"_id": key_id}) or {}
            cached[key_id] = time.monotonic(), key
        given = sha256(secret.encode()).digest()
        if not compare_digest(key.get("secret_hash", b""), given) or key["revoked_at"]:
            raise web.HTTPUnauthorized
        return key

    async def find(request: web.Request) -> web.Response:
        country, number = request.query.get("country"), request.query.get("q", "")
        if country not in ("dk", "no") or not re.fullmatch("[0-9]{8,9}", number):
            raise web.HTTPBadRequest
        correlation_id = str(uuid4())
        pending[correlation_id] = asyncio.get_running_loop().create_future()
        body = orjson.dumps({"country": country, "number": number})
        message = aio_pika.Message(body, correlation_id=correlation_id, reply_to=replies.name)
        with RPC_SECONDS.labels(QUEUE).time():
            await channel.default_exchange.publish(message, QUEUE)
            found = await pending[correlation_id]
        if not found:
            raise web.HTTPNotFound
        return web.Response(body=found, content_type="application/json")

    @web.middleware
    async def around(request: web.Request, handler: Any) -> web.StreamResponse:
        started, request_id, status, key_id = time.monotonic(), str(uuid4()), 500, None
        try:
            key_id = (await key_of(request))["_id"]
            response: web.StreamResponse = await handler(request)
            status = response.status
            response.headers["X-Request-ID"] = request_id
            return response
        except web.HTTPException as error:
            status = error.status
            raise
        finally:
            seconds = time.monotonic() - started
            REQUESTS.labels(ROUTE, status, "vat").inc()
            SECONDS.labels(ROUTE).observe(seconds)
            log.info(
                "request.done",
                request_id=request_id,
                method=request.method,
                route=ROUTE,
                status=status,
                duration_ms=round(seconds * 1000, 3),
                key_id=key_id,
            )

    await replies.consume(receive, no_ack=True)
    app = web.Application(middlewares=[around])
    app.router.add_get(ROUTE, find)
    return app


if __name__ == "__main__":
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.JSONRenderer(serializer=orjson.dumps),
        ],
        logger_factory=structlog.BytesLoggerFactory(),
        cache_logger_on_first_use=True,
    )
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
