"""Composition of the dispatcher, in the order of its start."""

import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from uuid import uuid4

from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.publisher import Publisher
from common.messaging.queues import QueueDepths, Topology
from common.messaging.requests import OWNER_EVENT
from common.messaging.rpc_client import RpcClient
from common.mongo import DatabaseClock, connected, database, database_clock, ping
from common.runtime.health import Health, Required
from common.runtime.processes import raise_file_limit
from common.runtime.tasks import background, repeat, running
from dispatcher.attempts import Attempt, Attempts
from dispatcher.fan_out import FanOut, FirstAttempts, NewAttempts
from dispatcher.http_sender import SenderLimits, http_sender
from dispatcher.notices import NotifyOwners, RpcOwnerEvents
from dispatcher.outcomes import Sender
from dispatcher.queues import DelayQueues, consumers, delivery_topology
from dispatcher.requeue import OverdueRequeuer, RequeueJob, Survey
from dispatcher.settings import Settings
from dispatcher.slots import ConcurrencyLimits, Slots
from dispatcher.store import Store
from dispatcher.telemetry import THROTTLED, Telemetry
from webhook_store.deliveries import DeliveryTimes
from webhook_store.recoveries import Recoveries
from webhook_store.secrets import SecretKeys

#: Timeout of one publish.
PUBLISH_TIMEOUT = timedelta(seconds=5)
#: Seconds between two searches for expired events.
_EXPIRY_SECONDS = 15.0
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
    webhooks_db = database(mongo, settings.webhooks_db)
    store = Store(
        webhooks_db,
        SecretKeys.parse(settings.webhook_secret_keys, random_bytes=secrets.token_bytes),
        DeliveryTimes(
            lease=settings.webhook_lease,
            grace=settings.webhook_requeue_grace,
            retention=settings.webhook_retention,
            body_retention=settings.webhook_body_retention,
        ),
        now=now,
        new_id=_new_id,
        random=random,
    )
    await stack.enter_async_context(running(*store.batchers))
    broker = await _broker(settings, random, stack, health)
    sender = await stack.enter_async_context(
        http_sender(
            SenderLimits(settings.webhook_post_timeout, settings.webhook_connect_timeout),
            allowed=settings.webhook_extra_allowed_networks,
            ca_file=settings.webhook_extra_ca_file,
        )
    )
    first_attempts = _first_attempts(settings, store, broker.delivery_queue, sender, now)
    attempts = first_attempts.attempts
    THROTTLED.set_function(lambda: attempts.throttled)
    await stack.enter_async_context(attempts.running())
    requeue = RequeueJob(
        OverdueRequeuer(
            store.deliveries,
            broker.delivery_queue,
            pause=settings.webhook_requeue_cooldown,
            rescan=attempts.rescan,
            now=now,
        ),
        interval=settings.webhook_requeue_interval,
        rest=2 * DATABASE_TIMEOUT,
        database=ping(mongo),
    )
    survey = Survey(
        store,
        recoveries=Recoveries(webhooks_db),
        depths=broker.depths,
        delays=settings.webhook_retry_delays,
        latest=max(
            settings.webhook_requeue_cooldown,
            settings.webhook_requeue_grace,
            settings.webhook_lease,
        ),
        now=now,
    )
    notify = repeat(
        NotifyOwners(store.notices, broker.owner_events),
        every=settings.webhook_requeue_interval.total_seconds(),
        unavailable="notices.waiting",
        failed="notices.failed",
    )
    expiry = repeat(
        store.expire_events,
        every=_EXPIRY_SECONDS,
        unavailable="expiry.unavailable",
        failed="expiry.failed",
    )
    await stack.enter_async_context(background(requeue.run(), survey.run(), notify, expiry))
    await store.index_webhooks()
    await stack.enter_async_context(
        consumers(
            broker.consuming,
            fan_out=FanOut(store, first_attempts),
            deliver=attempts.handle,
            drain=attempts.drain,
            topology=broker.topology,
            random=random,
            shutdown_grace=settings.shutdown_grace.total_seconds(),
        )
    )


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
    rpc = await stack.enter_async_context(RpcClient(publishing, queues=OWNER_EVENT.queues))
    return _Broker(consuming, topology, depths, delivery_queue, RpcOwnerEvents(rpc, _new_id))


def _first_attempts(
    settings: Settings,
    store: Store,
    delivery_queue: DelayQueues,
    sender: Sender,
    now: DatabaseClock,
) -> FirstAttempts:
    attempt = Attempt(
        store=store,
        sender=sender,
        delivery_queue=delivery_queue,
        telemetry=Telemetry(),
        delays=settings.webhook_retry_delays,
        post_timeout=settings.webhook_post_timeout,
        now=now,
    )
    limits = ConcurrencyLimits(
        posts=settings.webhook_max_posts,
        owner=settings.webhook_max_posts_per_owner,
        host=settings.webhook_max_posts_per_host,
        owner_on_host=settings.webhook_max_posts_per_owner_and_host,
        webhook=settings.webhook_max_posts_per_webhook,
    )
    slots = Slots(limits, post_timeout=settings.webhook_post_timeout)
    return FirstAttempts(
        store=store,
        slots=slots,
        attempts=Attempts(attempt, slots),
        delivery_queue=delivery_queue,
        new=NewAttempts(limits.posts),
    )


def _new_id() -> str:
    return uuid4().hex
