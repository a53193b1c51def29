"""Composition of the dispatcher, in the order of its start."""

import secrets
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

from common.contracts.topology import OWNER_EVENTS_QUEUE
from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.depth import QueueDepths
from common.messaging.publisher import Publisher
from common.messaging.rpc_client import RpcClient
from common.messaging.topology import Topology
from common.mongo import Client, DatabaseClock, connected, database, database_clock, ping
from common.runtime.files import raise_file_limit
from common.runtime.health import Check, Health, Required
from common.runtime.tasks import beside, repeat
from dispatcher.batcher import running
from dispatcher.deliveries.attempt import Attempt
from dispatcher.deliveries.backlogs import ThrottledWebhooks
from dispatcher.deliveries.overdue import OverdueRequeuer, RequeueJob, Survey
from dispatcher.deliveries.slots import ConcurrencyLimits, Slots
from dispatcher.deliveries.telemetry import THROTTLED, LoggingTelemetry
from dispatcher.events.fan_out import FanOut
from dispatcher.events.owner_notices import NotifyOwners, RpcOwnerEvents
from dispatcher.ports import Retry
from dispatcher.queues.consumers import Deliver, consumers
from dispatcher.queues.delay_queues import DelayQueues, delivery_topology
from dispatcher.sending.http_sender import SenderLimits, http_sender
from dispatcher.sending.outcome import Sender
from dispatcher.settings import Settings
from dispatcher.store import Dependencies, StoredEvents, StoredReceipts, StoredRows, StoredWebhooks
from webhook_store.deliveries.events import Events, Receipts
from webhook_store.deliveries.recording import Recorder
from webhook_store.deliveries.recoveries import Recoveries
from webhook_store.deliveries.rows import Deliveries, DeliveryTimes
from webhook_store.notices import Notices
from webhook_store.webhooks.secrets import SecretKeys
from webhook_store.webhooks.sending import Webhooks

#: Timeout of one publish.
PUBLISH_TIMEOUT = timedelta(seconds=5)
#: Timeout of one database operation.
DATABASE_TIMEOUT = timedelta(seconds=5)


async def build(settings: Settings, stack: AsyncExitStack, health: Health) -> None:
    """Starts the dispatcher on `stack`; on exit it stops consuming, then drains posts."""
    raise_file_limit()
    random = Random()  # noqa: S311 (spreads reconnects, guards nothing)
    mongo = await stack.enter_async_context(
        connected(
            settings.mongo_url.get_secret_value(),
            name="dispatcher",
            operation_timeout=DATABASE_TIMEOUT,
            primary_timeout=settings.mongo_primary_timeout,
        )
    )
    health.add("database", ping(mongo))
    now = await stack.enter_async_context(database_clock(mongo))
    health.add("clock", now.check, required=Required.NEVER)
    store = await _store(settings, mongo, Dependencies(now, _new_id, random), stack)
    broker = await _broker(settings, random, stack, health)
    sender = await stack.enter_async_context(
        http_sender(
            SenderLimits(settings.webhook_post_timeout, settings.webhook_connect_timeout),
            allowed=settings.webhook_extra_allowed_networks,
            ca_file=settings.webhook_extra_ca_file,
        )
    )
    fan_out, deliver, throttled = _use_cases(settings, store, broker.delivery_queue, sender, now)
    THROTTLED.set_function(lambda: throttled.count)
    await stack.enter_async_context(throttled.running())
    await stack.enter_async_context(beside(*_chores(settings, store, broker, throttled, now)))
    await stack.enter_async_context(
        consumers(
            broker.consuming,
            fan_out=fan_out,
            deliver=deliver,
            drain=throttled.drain,
            topology=broker.topology,
            random=random,
            shutdown_grace=settings.shutdown_grace.total_seconds(),
        )
    )


@dataclass(frozen=True, slots=True)
class _Store:
    deliveries: Deliveries
    old_events: Events
    all_webhooks: Webhooks
    recoveries: Recoveries
    notices: Notices
    webhooks: StoredWebhooks
    events: StoredEvents
    receipts: StoredReceipts
    rows: StoredRows
    retry: Retry
    check: Check


async def _store(
    settings: Settings, mongo: Client, dependencies: Dependencies, stack: AsyncExitStack
) -> _Store:
    keys = SecretKeys.parse(settings.webhook_secret_keys, random_bytes=secrets.token_bytes)
    webhooks_db = database(mongo, settings.webhooks_db)
    times = DeliveryTimes(
        lease=settings.webhook_lease,
        grace=settings.webhook_requeue_grace,
        retention=settings.webhook_retention,
    )
    webhooks = Webhooks(webhooks_db, keys)
    deliveries = Deliveries(webhooks_db, times)
    events = Events(webhooks_db, retention=settings.webhook_retention)
    receipts = Receipts(webhooks_db, retention=settings.webhook_retention)
    recorder = Recorder(webhooks_db, webhooks, times)
    store = _Store(
        deliveries=deliveries,
        old_events=events,
        all_webhooks=webhooks,
        recoveries=Recoveries(webhooks_db),
        notices=Notices(webhooks_db),
        webhooks=StoredWebhooks(webhooks, dependencies),
        events=StoredEvents(events, dependencies),
        receipts=StoredReceipts(receipts, dependencies),
        rows=StoredRows(deliveries, recorder, dependencies),
        retry=dependencies.retry_while_unavailable,
        check=ping(mongo),
    )
    for part in (store.webhooks, store.events, store.receipts, store.rows):
        await stack.enter_async_context(running(*part.batchers))
    return store


@dataclass(frozen=True, slots=True)
class _Broker:
    consuming: SupervisedConnection
    topology: Topology
    depths: QueueDepths
    delivery_queue: DelayQueues
    owner_events: RpcOwnerEvents


async def _broker(
    settings: Settings, random: Random, stack: AsyncExitStack, health: Health
) -> _Broker:
    url = settings.amqp_url.get_secret_value()
    publishing = await stack.enter_async_context(
        supervised(url, name="dispatcher-publish", random=random)
    )
    consuming = await stack.enter_async_context(
        supervised(url, name="dispatcher-consume", random=random)
    )
    health.add("broker_publish", publishing.health)
    health.add("broker_consume", consuming.health)
    delays = settings.webhook_retry_delays
    topology = delivery_topology(delays)
    publisher = Publisher(publishing, topology=topology, timeout=PUBLISH_TIMEOUT)
    depths = QueueDepths(publishing, topology=topology)
    await publishing.add(publisher)
    await publishing.add(depths)
    delivery_queue = DelayQueues(publisher, depths, delays, renew=publishing.lost)
    await stack.enter_async_context(running(*delivery_queue.batchers))
    rpc = await stack.enter_async_context(
        RpcClient(publishing, consuming, queues=(OWNER_EVENTS_QUEUE,))
    )
    return _Broker(consuming, topology, depths, delivery_queue, RpcOwnerEvents(rpc, _new_id))


def _use_cases(
    settings: Settings,
    store: _Store,
    delivery_queue: DelayQueues,
    sender: Sender,
    now: DatabaseClock,
) -> tuple[FanOut, Deliver, ThrottledWebhooks]:
    telemetry = LoggingTelemetry()
    slots = Slots(
        ConcurrencyLimits(
            posts=settings.webhook_max_posts,
            owner=settings.webhook_max_posts_per_owner,
            host=settings.webhook_max_posts_per_host,
            owner_on_host=settings.webhook_max_posts_per_owner_and_host,
            webhook=settings.webhook_max_posts_per_webhook,
        ),
        post_timeout=settings.webhook_post_timeout,
    )
    attempt = Attempt(
        webhooks=store.webhooks,
        events=store.events,
        rows=store.rows,
        sender=sender,
        delivery_queue=delivery_queue,
        notices=store.notices,
        telemetry=telemetry,
        delays=settings.webhook_retry_delays,
        post_timeout=settings.webhook_post_timeout,
        retry=store.retry,
        now=now,
    )
    throttled = ThrottledWebhooks(
        webhooks=store.webhooks,
        rows=store.rows,
        attempt=attempt,
        slots=slots,
        telemetry=telemetry,
        retry=store.retry,
    )
    fan_out = FanOut(
        webhooks=store.webhooks,
        events=store.events,
        receipts=store.receipts,
        rows=store.rows,
        delivery_queue=delivery_queue,
    )
    return fan_out, Deliver(throttled), throttled


def _chores(
    settings: Settings,
    store: _Store,
    broker: _Broker,
    throttled: ThrottledWebhooks,
    now: DatabaseClock,
) -> list[Coroutine[Any, Any, None]]:
    requeue = OverdueRequeuer(
        store.deliveries,
        broker.delivery_queue,
        pause=settings.webhook_requeue_cooldown,
        rescan=throttled.rescan,
        now=now,
    )
    job = RequeueJob(
        requeue,
        interval=settings.webhook_requeue_interval,
        rest=2 * DATABASE_TIMEOUT,
        database=store.check,
    )
    survey = Survey(
        rows=store.deliveries,
        events=store.old_events,
        webhooks=store.all_webhooks,
        recoveries=store.recoveries,
        depths=broker.depths,
        delays=settings.webhook_retry_delays,
        now=now,
    )
    notify = repeat(
        NotifyOwners(store.notices, broker.owner_events),
        every=settings.webhook_requeue_interval.total_seconds(),
        unavailable="notices.waiting",
        failed="notices.failed",
    )
    return [job.run(), survey.run(), notify]


def _new_id() -> str:
    return uuid4().hex
