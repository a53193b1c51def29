"""Composition root of the writer: connections to the registers, and what `serve` runs."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any
from uuid import uuid4

import structlog

from common.contracts.topology import EVENTS_EXCHANGE, FEED_EXCHANGE
from common.leases import StoredLeases
from common.messaging.connection import health_of, supervised, supervised_apart
from common.messaging.publisher import Broadcaster, Publisher
from common.messaging.queues import QueueProbe, Topology
from common.messaging.requests import OWNER_EVENT
from common.messaging.rpc_server import RpcServer
from common.mongo import connected, database, database_clock, ping
from common.runtime.health import Health, Required
from common.runtime.settings import shown
from common.runtime.tasks import background, delays
from ingest.following.dependencies import SyncDependencies
from ingest.following.passes import follow
from ingest.following.register_client import Proxies, RetryPolicy, sessions
from ingest.loading.load import reading_processes
from ingest.loading.stores import Clock, Stores, utc_now
from ingest.publishing.outbox import StoredOutbox, StoreOwnerEvents, report
from ingest.publishing.publisher import (
    ConfirmEvents,
    PublishOutbox,
    StoredReceipts,
    StoredUnconfirmedEvents,
)
from ingest.publishing.worker import BrokerBus, OutboxWorker
from ingest.records.source import RegisterSource
from ingest.registers import table
from ingest.settings import RegisterSettings, Settings, SyncSettings

#: The chosen sources of each register, which are followed in order.
Chains = Sequence[Sequence[RegisterSource]]
Registers = Mapping[type[RegisterSettings], RegisterSettings]

EVENTS = Topology(topic_exchanges=(EVENTS_EXCHANGE,))
PUBLISH_TIMEOUT = timedelta(seconds=5)
#: Seconds until the next round after one with failures.
_FIRST_DELAY, _MAX_DELAY = 5.0, 300.0


async def build(
    chains: Chains, registers: Registers, settings: Settings, stack: AsyncExitStack, health: Health
) -> None:
    """Starts the writer onto `stack`. Registers are followed while the broker is unavailable."""
    holder = holder_of_leases()
    await _follow(chains, registers, settings, stack, holder=holder)
    mongo = await stack.enter_async_context(
        connected(
            settings.mongo_url.get_secret_value(),
            name="ingest-events",
            primary_timeout=settings.mongo_primary_timeout,
        )
    )
    health.add("database", ping(mongo))
    now = await stack.enter_async_context(database_clock(mongo))
    health.add("clock", now.check, required=Required.NEVER)
    register = database(mongo, settings.register_db)
    bus = await _bus(settings, stack, health)
    outbox = StoredOutbox(register, retention=settings.outbox_retention)
    timeout = settings.event_receipt_timeout
    unconfirmed = StoredUnconfirmedEvents(register, receipt_timeout=timeout)
    receipts = StoredReceipts(database(mongo, settings.webhooks_db))
    worker = OutboxWorker(
        PublishOutbox(outbox, bus, now, timeout),
        ConfirmEvents(unconfirmed, receipts, bus, now, timeout),
        StoredLeases(register, holder=holder),
        random=Random(),  # noqa: S311 (spreads retries, guards nothing)
        now=now,
    )
    await stack.enter_async_context(background(worker.run()))
    connections = await stack.enter_async_context(
        supervised_apart(settings.amqp_url.get_secret_value(), name="ingest", random=Random())  # noqa: S311
    )
    health.add("broker", partial(health_of, connections))
    server = RpcServer[Any](
        connections,
        OWNER_EVENT.queue(),
        OWNER_EVENT.request,
        StoreOwnerEvents(register),
        report=report,
    )
    drain_timeout = settings.shutdown_grace.total_seconds()
    await stack.enter_async_context(server.serving(drain_timeout=drain_timeout))


async def _follow(
    chains: Chains,
    registers: Registers,
    settings: Settings,
    stack: AsyncExitStack,
    *,
    holder: str,
) -> None:
    if not chains:
        return
    report_registers(registers)
    dependencies = await connect(settings, registers, stack, holder=holder)
    random = Random()  # noqa: S311 (spreads rounds, guards nothing)
    waits = partial(delays, random, first=_FIRST_DELAY, max_delay=_MAX_DELAY)
    loops = [
        follow(
            [table.passes(dependencies, source) for source in chain], settings.sync_interval, waits
        )
        for chain in chains
    ]
    await stack.enter_async_context(background(*loops))


async def _bus(settings: Settings, stack: AsyncExitStack, health: Health) -> BrokerBus:
    """Returns the events exchange, over a connection of its own: the broker may block it."""
    url = settings.amqp_url.get_secret_value()
    connection = await stack.enter_async_context(
        supervised(url, name="ingest-events", random=Random())  # noqa: S311
    )
    health.add("events", connection.health)
    publisher = Publisher(connection, topology=EVENTS, timeout=PUBLISH_TIMEOUT)
    probe, broadcaster = QueueProbe(), Broadcaster(connection, FEED_EXCHANGE)
    for attachment in (publisher, probe, broadcaster):
        await connection.add(attachment)
    return BrokerBus(publisher, probe, broadcaster)


def report_registers(registers: Registers) -> None:
    """Logs the settings of the registers, and which of them are unsafe."""
    for register in registers.values():
        register.warn()
        structlog.get_logger().info("sync.register", settings=shown(register))


def holder_of_leases() -> str:
    """Returns a name of this process for its leases."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


def proxies(settings: SyncSettings) -> Proxies:
    """Returns the proxies of the settings."""
    given = {"https": settings.https_proxy, "http": settings.http_proxy}
    urls = {scheme: url.get_secret_value() for scheme, url in given.items() if url is not None}
    return Proxies(urls, settings.no_proxy)


async def connect(
    settings: SyncSettings,
    registers: Registers,
    stack: AsyncExitStack,
    *,
    holder: str,
    now: Clock = utc_now,
) -> SyncDependencies:
    """Connects onto `stack`; `holder` identifies this process in its leases."""
    random = Random()  # noqa: S311 (spreads retries, guards nothing)
    retry_policy = RetryPolicy(
        settings.register_user_agent,
        partial(
            delays, random, first=settings.register_retry_delay.total_seconds(), max_delay=60.0
        ),
        settings.register_timeout,
        settings.register_max_attempts,
        file_hosts=settings.register_file_hosts,
        proxies=proxies(settings),
    )
    url = settings.mongo_url.get_secret_value()
    client = await stack.enter_async_context(
        connected(
            url,
            name="ingest",
            operation_timeout=None,
            primary_timeout=settings.mongo_primary_timeout,
        )
    )
    session = await stack.enter_async_context(
        sessions(retry_policy, ca_file=settings.register_ca_file)
    )
    reader = await stack.enter_async_context(reading_processes())
    register = database(client, settings.register_db)
    return SyncDependencies(
        settings,
        registers,
        register,
        Stores.of(register, now),
        StoredLeases(register, holder=holder),
        session,
        reader,
        retry_policy,
    )
