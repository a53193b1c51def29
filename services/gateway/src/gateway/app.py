"""Composition root of the gateway, in start-up order."""

import time
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from uuid import uuid4

from common.contracts.topology import FEED_EXCHANGE
from common.leases import StoredLeases
from common.messaging.connection import health_of, supervised_apart
from common.messaging.publisher import BroadcastReceiver
from common.messaging.requests import OF_GATEWAY
from common.messaging.rpc_client import RpcClient
from common.mongo import connected, database, ping
from common.runtime.health import Health, Required
from common.runtime.processes import raise_file_limit, workers
from common.runtime.public_port.connections import (
    ConnectionLimits,
    ConnectionMetrics,
    connections_within,
)
from common.runtime.public_port.server import public_port
from common.runtime.tasks import background
from common.runtime.tracing import request_ids
from gateway.access.keys import CachedApiKeys, MongoKeys, utc_now
from gateway.access.quotas import SharedQuotas
from gateway.access.requests import KeyRequests
from gateway.access.usage import DailyNames, KeyUsage
from gateway.events.notices import FeedNotices
from gateway.http.responses import refusals
from gateway.http.xml_processes import XmlRenderer
from gateway.readiness import LookupReadiness
from gateway.routes import Dependencies, application
from gateway.rpc import RpcServices
from gateway.settings import Settings


async def build(settings: Settings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the gateway onto `stack`. It serves 503 while a dependency is unavailable."""
    mongo = await stack.enter_async_context(
        connected(
            settings.mongo_url.get_secret_value(),
            name="gateway",
            primary_timeout=settings.mongo_primary_timeout,
        )
    )
    amqp_url = settings.amqp_url.get_secret_value()
    random = Random()  # noqa: S311 (jitter and request ids, nothing secret)
    new_id = request_ids(random)
    connections = await stack.enter_async_context(
        supervised_apart(amqp_url, name="gateway", random=random)
    )
    queues = [queue for procedure in OF_GATEWAY for queue in procedure.queues]
    client = await stack.enter_async_context(RpcClient(*connections, queues=queues))
    services = RpcServices(client)
    notices = FeedNotices()
    await connections[0].add(
        BroadcastReceiver(
            connections[0], FEED_EXCHANGE, receive=notices.receive, missed=notices.wake_all
        )
    )
    processes = await stack.enter_async_context(workers(settings.xml_processes))

    health.add("broker", partial(health_of, connections), required=Required.FIRST)
    health.add("database", ping(mongo), required=Required.FIRST)

    access = database(mongo, settings.access_db)
    keys = MongoKeys(access)
    instance = new_id()
    quotas = SharedQuotas(access, instance=instance)
    await stack.enter_async_context(background(quotas.run()))
    usage, names = KeyUsage(access, now=utc_now), DailyNames(access, now=utc_now)
    await stack.enter_async_context(background(usage.run()))
    requests = KeyRequests(access, now=utc_now)
    await stack.enter_async_context(background(requests.run()))
    await stack.enter_async_context(background(names.run()))
    readiness = LookupReadiness(access, client, instance=instance)
    await stack.enter_async_context(background(readiness.run()))
    health.add("lookups", readiness.check)
    dependencies = Dependencies(
        lookups=services,
        suggestions=services,
        parts=services,
        finds=services,
        matches=services,
        register_sources=services,
        webhooks=services,
        events=services,
        exports=services,
        new_lease=lambda: StoredLeases(access, holder=uuid4().hex),
        watchlists=services,
        digest_links=services,
        signals=notices,
        quotas=quotas,
        key_usage=usage,
        key_requests=requests,
        client_names=names,
        keys=CachedApiKeys(keys, clock=time.monotonic),
        owned_keys=keys,
        renderer=XmlRenderer(processes),
        clock=time.monotonic,
        new_id=new_id,
        new_call_id=uuid4,
    )
    await stack.enter_async_context(
        public_port(
            application(dependencies, settings),
            host=settings.http_host,
            port=settings.http_port,
            shared=settings.http_port_shared,
            shutdown_grace=settings.shutdown_grace,
            refuse=refusals(new_id),
            limits=ConnectionLimits(
                connections_within(raise_file_limit(), settings.max_connections)
            ),
            metrics=ConnectionMetrics(),
        )
    )
