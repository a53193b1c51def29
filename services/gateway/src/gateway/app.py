"""Composition root of the gateway, in start-up order."""

import time
from contextlib import AsyncExitStack
from random import Random
from uuid import uuid4

from common.messaging.connection import supervised
from common.messaging.rpc_client import rpc_client
from common.mongo import connected, database, ping
from common.runtime.files import raise_file_limit
from common.runtime.health import Health
from gateway.adapters.cached_api_keys import CachedApiKeys
from gateway.adapters.http.connection_table import connections_within
from gateway.adapters.http.connections import ConnectionLimits
from gateway.adapters.http.metrics import ConnectionMetrics
from gateway.adapters.http.routes import Dependencies, Policy, application
from gateway.adapters.http.server import public_port
from gateway.adapters.http.xml_processes import xml_renderer
from gateway.adapters.keys import MongoKeys
from gateway.adapters.rpc import RpcLookups, RpcSuggestions
from gateway.adapters.rpc_webhooks import RpcWebhooks
from gateway.settings import Settings


async def build(settings: Settings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the gateway onto `stack`. It serves 503 while a dependency is unavailable."""
    mongo = await stack.enter_async_context(
        connected(settings.mongo_url.get_secret_value(), name="gateway")
    )
    amqp_url = settings.amqp_url.get_secret_value()
    random = Random()  # noqa: S311 (jitter and request ids, nothing secret)

    def new_id() -> str:
        # Not from the system: that costs a system call for each id.
        return random.randbytes(16).hex()

    publishing = await stack.enter_async_context(
        supervised(amqp_url, name="gateway-requests", random=random)
    )
    consuming = await stack.enter_async_context(
        supervised(amqp_url, name="gateway-replies", random=random)
    )
    rpc = await stack.enter_async_context(rpc_client(publishing, consuming, new_id=new_id))
    renderer = await stack.enter_async_context(xml_renderer(workers=settings.xml_processes))

    health.add("broker_requests", publishing.health, required=False)
    health.add("broker_replies", consuming.health, required=False)
    health.add("database", ping(mongo), required=False)

    keys = MongoKeys(database(mongo, settings.access_db))
    surroundings = Dependencies(
        lookups=RpcLookups(rpc),
        suggestions=RpcSuggestions(rpc),
        webhooks=RpcWebhooks(rpc),
        keys=CachedApiKeys(keys, clock=time.monotonic),
        renderer=renderer,
        clock=time.monotonic,
        new_id=new_id,
        new_call_id=uuid4,
    )
    await stack.enter_async_context(
        public_port(
            application(surroundings, _policy(settings)),
            host=settings.http_host,
            port=settings.http_port,
            stop_limit=settings.stop_limit,
            new_id=new_id,
            limits=ConnectionLimits(
                connections_within(raise_file_limit(), settings.max_connections)
            ),
            metrics=ConnectionMetrics(),
        )
    )


def _policy(settings: Settings) -> Policy:
    return Policy(
        anonymous_lookups=settings.anonymous_lookups,
        anonymous_rate=settings.anonymous_rate.share(settings.gateway_replicas),
        key_rate=settings.key_rate.share(settings.gateway_replicas),
        trusted_proxies=settings.trusted_proxies,
        cors_origin=settings.cors_origin,
    )
