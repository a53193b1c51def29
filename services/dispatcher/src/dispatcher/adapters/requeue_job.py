"""Periodic jobs: requeue overdue deliveries, delete expired events, measure queues."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from common.contracts.failures import Unavailable
from common.contracts.topology import (
    DEAD_LETTERS_QUEUE,
    DELIVERIES_QUEUE,
    EVENTS_QUEUE,
    RETRIES_QUEUE,
)
from common.messaging.depth import QueueDepths
from common.messaging.errors import BrokerUnavailable
from common.runtime.health import Check
from common.runtime.tasks import repeat
from dispatcher.adapters.telemetry import (
    DEAD_LETTERS,
    OLDEST_DUE,
    OVERDUE,
    QUEUED,
    RECOVERIES,
    WAITING,
    WEBHOOKS,
)
from dispatcher.usecases.overdue import OverdueRequeuer, Requeued
from webhook_store.deliveries import Deliveries
from webhook_store.events import Events
from webhook_store.recoveries import Recoveries
from webhook_store.webhooks import Webhooks

#: Seconds between two surveys.
_SURVEY_SECONDS = 15.0
#: Maximum deliveries counted per delay.
_MAX_COUNTED = 100_000
#: Events deleted per batch.
_EXPIRED_AT_ONCE = 1000

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
        """Runs one pass; returns the seconds until the next."""
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
        _report(found)
        return 0.0 if found.may_be_more else self.interval.total_seconds()

    async def _database_answers(self) -> bool:
        try:
            return await self.database() is None
        except Unavailable:
            return False
        except Exception:
            # It is probed again: no failure of this may end the dispatcher.
            log.exception("requeue.probe_failed")
            return False


@dataclass(frozen=True, slots=True)
class Survey:
    """Measures waiting deliveries and deletes expired events."""

    rows: Deliveries
    events: Events
    webhooks: Webhooks
    recoveries: Recoveries
    depths: QueueDepths
    delays: Sequence[timedelta]
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
            count = await self.rows.waiting(retries=retries, limit=_MAX_COUNTED)
            WAITING.labels(f"{delay.total_seconds():g}s").set(count)
            oldest = min(oldest, await self.rows.oldest_due(at=now, retries=retries) or now)
        OLDEST_DUE.set((now - oldest).total_seconds())
        for status, webhooks in (await self.webhooks.count_by_status()).items():
            WEBHOOKS.labels(status).set(webhooks)
        RECOVERIES.set(len(await self.recoveries.unfinished()))
        for queue in (EVENTS_QUEUE, DELIVERIES_QUEUE, RETRIES_QUEUE):
            QUEUED.labels(queue).set(await self.depths.ready(queue))
        DEAD_LETTERS.set(await self.depths.ready(DEAD_LETTERS_QUEUE))
        while await self.events.expire(at=self.now(), limit=_EXPIRED_AT_ONCE):
            pass


def _report(found: Requeued) -> None:
    OVERDUE.labels("lost").inc(found.lost)
    OVERDUE.labels("throttled").inc(found.throttled)
    if found.lost or found.throttled:
        log.info("requeue.done", lost=found.lost, throttled=found.throttled)
