"""Periodic jobs: requeue overdue deliveries, delete expired events, measure queues."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from common.contracts.failures import Unavailable
from common.contracts.topology import DEAD_LETTERS_QUEUE
from common.messaging.connection import BrokerUnavailable
from common.messaging.depth import QueueDepths
from common.runtime.health import Check
from dispatcher.adapters.telemetry import DEAD_LETTERS, SWEPT, WAITING
from dispatcher.usecases.overdue import OverdueRequeuer, Swept
from webhook_store.deliveries import Deliveries
from webhook_store.events import Events

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
class Sweeper:
    """Requeues overdue deliveries at an interval."""

    sweep: OverdueRequeuer
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
            found = await self.sweep()
        except BrokerUnavailable as outage:
            log.warning("sweeper.outage", reason=str(outage))
            return self.interval.total_seconds()
        except Unavailable as outage:
            log.warning("sweeper.outage", reason=str(outage))
            while await self.database() is not None:  # noqa: ASYNC110 (a database has no event)
                await asyncio.sleep(_PROBE_SECONDS)
            return self.rest.total_seconds()
        except Exception:
            # A failed pass must not end the loop.
            log.exception("sweeper.failed")
            return self.rest.total_seconds()
        _report(found)
        return 0.0 if found.may_be_more else self.interval.total_seconds()


@dataclass(frozen=True, slots=True)
class Survey:
    """Measures waiting deliveries and deletes expired events."""

    rows: Deliveries
    events: Events
    depths: QueueDepths
    delays: Sequence[timedelta]
    now: Callable[[], datetime]

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                await self._once()
            except Unavailable as outage:
                log.debug("survey.outage", reason=str(outage))
            except Exception:
                # A failed pass must not end the loop.
                log.exception("survey.failed")
            await asyncio.sleep(_SURVEY_SECONDS)

    async def _once(self) -> None:
        for retries, delay in enumerate((timedelta(0), *self.delays)):
            count = await self.rows.waiting(retries=retries, limit=_MAX_COUNTED)
            WAITING.labels(f"{delay.total_seconds():g}s").set(count)
        DEAD_LETTERS.set(await self.depths.ready(DEAD_LETTERS_QUEUE))
        while await self.events.expire(at=self.now(), limit=_EXPIRED_AT_ONCE):
            pass


def _report(found: Swept) -> None:
    if found.lost or found.over_cap:
        SWEPT.labels("lost").inc(found.lost)
        SWEPT.labels("over_cap").inc(found.over_cap)
        log.info("sweeper.found", lost=found.lost, over_cap=found.over_cap)
