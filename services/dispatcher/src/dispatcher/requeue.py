"""Requeueing of overdue deliveries whose message was lost, and the survey of what waits."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from common.contracts.failures import Unavailable
from common.contracts.topology import (
    DEAD_LETTERS_QUEUE,
    DELIVERIES_QUEUE,
    FAN_OUT_QUEUE,
    RETRIES_QUEUE,
)
from common.contracts.webhooks import WebhookId
from common.messaging.connection import BrokerUnavailable
from common.messaging.queues import LONG_QUEUE, QueueDepths
from common.runtime.health import Check
from common.runtime.tasks import repeat
from dispatcher.queues import DeliveryQueue
from dispatcher.store import Store
from dispatcher.telemetry import (
    DEAD_LETTERS,
    OLDEST_DUE,
    OVERDUE,
    QUEUED,
    RECOVERIES,
    WAITING,
    WEBHOOKS,
)
from webhook_store.deliveries import Deliveries, DueDelivery
from webhook_store.recoveries import Recoveries

#: Maximum rows requeued per pass.
BATCH_SIZE = 1000


@dataclass(frozen=True, slots=True)
class RequeueCounts:
    """Counts of the overdue deliveries of a pass."""

    #: Their messages were lost: they were requeued.
    lost: int = 0
    #: Waiting for a slot: their webhook's backlog reads them from the store.
    throttled: int = 0

    @property
    def may_be_more(self) -> bool:
        """Returns True if another pass may find more."""
        return self.lost + self.throttled >= BATCH_SIZE


@dataclass(frozen=True, slots=True)
class OverdueRequeuer:
    """Recovers from purged queues, lost messages and crashed processes."""

    rows: Deliveries
    delivery_queue: DeliveryQueue
    #: Minimum interval between two requeues of a row.
    pause: timedelta
    #: Makes a webhook's backlog read the store again; False when it has none here.
    rescan: Callable[[WebhookId], bool]
    now: Callable[[], datetime]

    async def __call__(self) -> RequeueCounts:
        """Runs one pass; raises `Unavailable`."""
        if await self.delivery_queue.waiting() >= LONG_QUEUE:
            return RequeueCounts()
        at = self.now()
        due = await self.rows.overdue(at=at, limit=BATCH_SIZE)
        has_backlog = {one: self.rescan(one) for one in {one.task.webhook_id for one in due}}
        lost = [one for one in due if not has_backlog[one.task.webhook_id]]
        await self._requeue([one for one in lost if not one.is_retry], retries=False)
        await self._requeue([one for one in lost if one.is_retry], retries=True)
        # Last: the next pass repeats anything that fails before this.
        await self.rows.postpone([one.task for one in due], at=at, until=at + self.pause)
        return RequeueCounts(lost=len(lost), throttled=len(due) - len(lost))

    async def _requeue(self, due: Sequence[DueDelivery], *, retries: bool) -> None:
        if due:
            await self.delivery_queue.enqueue([one.task for one in due], retries=retries)


#: Seconds between two surveys.
_SURVEY_SECONDS = 15.0
#: Maximum deliveries counted per delay, and due ones read for the age of the oldest.
_MAX_COUNTED, _MAX_READ = 100_000, 10_000

#: Seconds between two probes of an unavailable database.
_PROBE_SECONDS = 0.5

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RequeueJob:
    """Requeues overdue deliveries at an interval."""

    requeue: OverdueRequeuer
    interval: timedelta
    #: Delay after the end of a database outage: posts are recorded first, whose rows would
    #: otherwise look abandoned.
    rest: timedelta
    #: None while the database is available, or a message.
    database: Check

    async def run(self) -> None:
        """Runs until cancelled."""
        wait = self.interval.total_seconds()
        while True:
            await asyncio.sleep(wait)
            wait = await self._once()

    async def _once(self) -> float:
        try:
            found = await self.requeue()
        except BrokerUnavailable as outage:
            log.warning("requeue.unavailable", reason=str(outage))
            return self.interval.total_seconds()
        except Unavailable as outage:
            log.warning("requeue.unavailable", reason=str(outage))
            while not await self._database_answers():  # noqa: ASYNC110 (a database has no event)
                await asyncio.sleep(_PROBE_SECONDS)
            return self.rest.total_seconds()
        except Exception:
            # A failed pass must not end the loop.
            log.exception("requeue.failed")
            return self.rest.total_seconds()
        OVERDUE.labels("lost").inc(found.lost)
        OVERDUE.labels("throttled").inc(found.throttled)
        if found.lost or found.throttled:
            log.info("requeue.done", lost=found.lost, throttled=found.throttled)
        return 0.0 if found.may_be_more else self.interval.total_seconds()

    async def _database_answers(self) -> bool:
        try:
            return await self.database() is None
        except Unavailable:
            return False
        except Exception:
            # A failed probe is repeated; it must not end the dispatcher.
            log.exception("requeue.probe_failed")
            return False


@dataclass(frozen=True, slots=True)
class Survey:
    """Measures waiting deliveries, webhooks and queues."""

    store: Store
    recoveries: Recoveries
    depths: QueueDepths
    delays: Sequence[timedelta]
    #: A due row wakes at most this much later: its claim, or the pause after its requeue, ends.
    latest: timedelta
    now: Callable[[], datetime]

    async def run(self) -> None:
        """Runs until cancelled."""
        await repeat(
            self._once, every=_SURVEY_SECONDS, unavailable="survey.outage", failed="survey.failed"
        )

    async def _once(self) -> None:
        now = self.now()
        oldest = now
        for retries, delay in enumerate((timedelta(0), *self.delays)):
            count = await self.store.deliveries.waiting(retries=retries, limit=_MAX_COUNTED)
            WAITING.labels(f"{delay.total_seconds():g}s").set(count)
            due = await self.store.deliveries.oldest_due(
                at=now, until=now + self.latest, retries=retries, limit=_MAX_READ
            )
            oldest = min(oldest, due or now)
        OLDEST_DUE.set((now - oldest).total_seconds())
        for status, webhooks in (await self.store.webhooks.count_by_status()).items():
            WEBHOOKS.labels(status).set(webhooks)
        RECOVERIES.set(len(await self.recoveries.unfinished()))
        for queue in (FAN_OUT_QUEUE, DELIVERIES_QUEUE, RETRIES_QUEUE):
            QUEUED.labels(queue).set(await self.depths.ready(queue))
        DEAD_LETTERS.set(await self.depths.ready(DEAD_LETTERS_QUEUE))
