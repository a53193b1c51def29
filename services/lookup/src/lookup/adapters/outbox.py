"""The publisher in a lookup process: one of all replicas does it, under a lease."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import structlog
from prometheus_client import Counter, Gauge

from common.contracts.outage import Outage
from common.contracts.topology import EVENTS_EXCHANGE
from common.messaging.publisher import Publisher, Unroutable
from common.runtime.backoff import delays
from common.runtime.tasks import beside
from lookup.adapters.store.leases import Leases
from lookup.adapters.store.outbox import StoredOutbox
from lookup.ports import WaitingEvent
from lookup.usecases.publish import BATCH, PublishOutbox

_JOB = "outbox"
_LEASE = timedelta(seconds=15)
#: Seconds between looks when nothing waits; what an event waits at most before it goes out.
_PAUSE = 0.2
#: Seconds between looks by a process that has not got the lease.
_STAND_BY = 5.0
#: Seconds between two measurements of the outbox.
_MEASURE_EVERY = 5.0

_PUBLISHED = Counter("outbox_published_total", "Events that the broker has confirmed")
_WAITING = Gauge("outbox_waiting", "Events that wait to be published")
_OLDEST = Gauge("outbox_oldest_seconds", "How long the oldest waiting event has waited")

log = structlog.get_logger()


class NobodyListens(Outage):
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


class OutboxWorker:
    def __init__(
        self, publish: PublishOutbox, outbox: StoredOutbox, leases: Leases, *, random: Random
    ) -> None:
        self._publish = publish
        self._outbox = outbox
        self._leases = leases
        self._random = random
        self._measured_at = 0.0
        self._renew_at = 0.0

    async def run(self) -> None:
        """Publishes while it has the lease, until cancelled; an outage is waited out."""
        waits = delays(self._random)
        try:
            while True:
                try:
                    pause = await self._pass()
                    waits = delays(self._random)
                except Outage as outage:
                    self._renew_at = 0.0  # it may have run out meanwhile
                    pause = next(waits)
                    log.debug("outbox.waiting", reason=str(outage))
                await asyncio.sleep(pause)
        finally:
            await self._give_up()

    async def _pass(self) -> float:
        """One look at the outbox; seconds until the next."""
        if not await self._has_lease():
            # What it measured last is another's to tell by now, and would stand here for good.
            _WAITING.set(0)
            _OLDEST.set(0)
            return _STAND_BY
        await self._measure()
        published = await self._publish()
        _PUBLISHED.inc(published)
        return 0.0 if published == BATCH else _PAUSE

    async def _has_lease(self) -> bool:
        """Renews it when a third of its time is over: often enough, and not at each look."""
        now = asyncio.get_running_loop().time()
        if now < self._renew_at:
            return True
        has_it = await self._leases.take(_JOB, span=_LEASE)
        self._renew_at = now + _LEASE.total_seconds() / 3 if has_it else 0.0
        return has_it

    async def _measure(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._measured_at < _MEASURE_EVERY:
            return
        self._measured_at = now
        waiting, since = await self._outbox.depth()
        _WAITING.set(waiting)
        _OLDEST.set(0 if since is None else (datetime.now(UTC) - since).total_seconds())

    async def _give_up(self) -> None:
        try:
            await self._leases.give_up(_JOB)
        except Outage as outage:
            log.debug("outbox.lease_kept", reason=str(outage))  # it runs out by itself


@asynccontextmanager
async def publishing_outbox(worker: OutboxWorker) -> AsyncIterator[None]:
    """Publishes what waits while the body runs."""
    async with beside(worker.run()):
        yield
