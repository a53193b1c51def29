"""The publisher in a lookup process: one of all replicas does it, under a lease."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

import structlog
from prometheus_client import Counter, Gauge

from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_EXCHANGE, EVENTS_QUEUE
from common.messaging.depth import QueueProbe
from common.messaging.publisher import Publisher, Unroutable
from common.runtime.backoff import delays
from common.runtime.tasks import beside
from lookup.ingest.confirm import ConfirmEvents
from lookup.ingest.leases import Leases
from lookup.ingest.outbox import Depth, StoredOutbox, StoredUnconfirmedEvents
from lookup.ingest.publisher import BATCH, PublishOutbox, WaitingEvent

_JOB = "outbox"
_LEASE = timedelta(seconds=15)
#: Seconds between looks when nothing waits; what an event waits at most before it goes out.
_PAUSE = 0.2
#: Seconds between looks by a process that has not got the lease.
_STAND_BY = 5.0
#: Seconds between two measurements of the outbox.
_MEASURE_EVERY = 5.0
#: Seconds between two passes over the events whose receipt is due.
_CONFIRM_EVERY = 1.0
#: And after a pass that failed. Publishing goes on meanwhile.
_CONFIRM_AFTER_FAULT = 10.0
#: Messages in the dispatcher's queue from which on events are not added to it a second time.
LONG_QUEUE = 500

_PUBLISHED = Counter("outbox_published_total", "Events that the broker has confirmed")
_REPUBLISHED = Counter(
    "outbox_republished_total", "Events that were published again for want of a receipt"
)
_DROPPED = Counter(
    "outbox_dropped_total", "Events that were deleted unpublished at the end of the retention"
)
_WAITING = Gauge("outbox_waiting", "Events that wait to be published")
_OLDEST = Gauge("outbox_oldest_seconds", "How long the oldest waiting event has waited")
_UNCONFIRMED = Gauge("outbox_unconfirmed", "Published events whose receipt is overdue")
_UNCONFIRMED_OLDEST = Gauge(
    "outbox_unconfirmed_oldest_seconds", "Time since the oldest of them was first published"
)

log = structlog.get_logger()


class NobodyListens(Unavailable):
    """No queue takes events: the dispatcher has never declared its own. They wait for it."""


class BrokerBus:
    """`EventBus`: the topic exchange of registry events."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    async def publish(self, event: WaitingEvent) -> None:
        try:
            await self._publisher.publish(
                event.body, exchange=EVENTS_EXCHANGE, routing_key=event.routing_key
            )
        except Unroutable as error:
            raise NobodyListens("no queue is bound to the events exchange") from error


class BrokerQueue:
    """`EventQueue`, of every running dispatcher."""

    def __init__(self, probe: QueueProbe) -> None:
        self._probe = probe

    async def takes_repeats(self) -> bool:
        queue = await self._probe.state(EVENTS_QUEUE)
        return queue is not None and queue.consumers > 0 and queue.ready < LONG_QUEUE


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """The outbox as the worker measures it."""

    outbox: StoredOutbox
    unconfirmed: StoredUnconfirmedEvents


class OutboxWorker:
    def __init__(  # noqa: PLR0913 (its use cases, and what they run on)
        self,
        publish: PublishOutbox,
        confirm: ConfirmEvents,
        stored: StoredEvents,
        leases: Leases,
        *,
        random: Random,
        now: Callable[[], datetime],
    ) -> None:
        self._publish = publish
        self._confirm = confirm
        self._stored = stored
        self._leases = leases
        self._random = random
        self._now = now
        self._measure_at = 0.0
        self._confirm_at = 0.0
        self._renew_at = 0.0

    async def run(self) -> None:
        """Publishes while it has the lease, until cancelled; an outage is waited out."""
        waits = delays(self._random)
        try:
            while True:
                try:
                    pause = await self._pass()
                    waits = delays(self._random)
                except Unavailable as outage:
                    self._renew_at = 0.0  # it may have run out meanwhile
                    pause = next(waits)
                    log.debug("outbox.waiting", reason=str(outage))
                await asyncio.sleep(pause)
        finally:
            await self._give_up()

    async def _pass(self) -> float:
        """One look at the outbox; seconds until the next."""
        if not await self._has_lease():
            # Another process measures from now on; old values would stay here for ever.
            _tell(Depth(0, None), Depth(0, None), at=self._now())
            return _STAND_BY
        await self._measure()
        published = await self._publish()
        _PUBLISHED.inc(published)
        await self._confirm_due()
        return 0.0 if published == BATCH else _PAUSE

    async def _has_lease(self) -> bool:
        """Renews it when a third of its time is over: often enough, and not at each look."""
        now = asyncio.get_running_loop().time()
        if now < self._renew_at:
            return True
        has_it = await self._leases.take(_JOB, span=_LEASE)
        self._renew_at = now + _LEASE.total_seconds() / 3 if has_it else 0.0
        return has_it

    async def _confirm_due(self) -> None:
        """Confirms events or publishes them again. A fault of this holds up no new event."""
        now = asyncio.get_running_loop().time()
        if now < self._confirm_at:
            return
        self._confirm_at = now + _CONFIRM_AFTER_FAULT
        try:
            result = await self._confirm()
        except Unavailable as outage:
            log.warning("outbox.receipts_unavailable", reason=str(outage))
            return
        except Exception:
            # For example a database user who may not read the receipts.
            log.exception("outbox.confirming_failed")
            return
        self._confirm_at = now if result.may_be_more else now + _CONFIRM_EVERY
        if result.published_again:
            _REPUBLISHED.inc(result.published_again)
            log.warning("outbox.published_again", count=result.published_again)

    async def _measure(self) -> None:
        loop_time = asyncio.get_running_loop().time()
        if loop_time < self._measure_at:
            return
        self._measure_at = loop_time + _MEASURE_EVERY
        now = self._now()
        dropped = await self._stored.outbox.drop_expired(at=now)
        if dropped:
            _DROPPED.inc(dropped)
            log.error("outbox.dropped", count=dropped)
        waiting = await self._stored.outbox.depth()
        _tell(waiting, await self._stored.unconfirmed.depth(at=now), at=now)

    async def _give_up(self) -> None:
        try:
            await self._leases.give_up(_JOB)
        except Unavailable as outage:
            log.debug("outbox.lease_kept", reason=str(outage))  # it runs out by itself


def _tell(waiting: Depth, unconfirmed: Depth, *, at: datetime) -> None:
    for depth, count, oldest in (
        (waiting, _WAITING, _OLDEST),
        (unconfirmed, _UNCONFIRMED, _UNCONFIRMED_OLDEST),
    ):
        count.set(depth.events)
        oldest.set(0 if depth.since is None else (at - depth.since).total_seconds())


@asynccontextmanager
async def publishing_outbox(worker: OutboxWorker) -> AsyncIterator[None]:
    """Publishes what waits while the body runs."""
    async with beside(worker.run()):
        yield
