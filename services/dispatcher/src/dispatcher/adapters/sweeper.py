"""What is done now and then: waking what was missed, forgetting what is old, counting."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from common.contracts.failures import Unavailable
from common.contracts.topology import DEAD_LETTERS_QUEUE
from common.messaging.connection import BrokerUnavailable
from common.messaging.depth import QueueDepths
from dispatcher.adapters.telemetry import DEAD_LETTERS, SWEPT, WAITING
from dispatcher.usecases.overdue import OverdueRequeuer, Swept
from webhook_store.deliveries import Deliveries
from webhook_store.events import Events

#: Seconds between two looks at what waits and what is old.
_SURVEY_SECONDS = 15.0
#: Deliveries counted of one delay: beyond that, how many there are does not matter.
_MAX_COUNTED = 100_000
#: Events deleted at a time.
_EXPIRED_AT_ONCE = 1000

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Sweeps for as long as it runs."""

    sweep: OverdueRequeuer
    interval: timedelta
    #: How long it leaves the database alone after that was away: others first record what they
    #: have posted, or it would take their rows for abandoned.
    rest: timedelta

    async def run(self) -> None:
        """Until cancelled."""
        wait = self.interval.total_seconds()
        while True:
            await asyncio.sleep(wait)
            wait = await self._once()

    async def _once(self) -> float:
        """Seconds until the next pass."""
        try:
            found = await self.sweep()
        except BrokerUnavailable as outage:
            log.warning("sweeper.outage", reason=str(outage))
            return self.interval.total_seconds()
        except Unavailable as outage:
            log.warning("sweeper.outage", reason=str(outage))
            return self.rest.total_seconds()
        except Exception:
            # The loop outlives any pass.
            log.exception("sweeper.failed")
            return self.rest.total_seconds()
        _tell(found)
        return 0.0 if found.may_be_more else self.interval.total_seconds()


@dataclass(frozen=True, slots=True)
class Survey:
    """Measures what waits, and deletes events that nothing needs any more."""

    rows: Deliveries
    events: Events
    depths: QueueDepths
    delays: Sequence[timedelta]
    now: Callable[[], datetime]

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._once()
            except Unavailable as outage:
                log.debug("survey.outage", reason=str(outage))
            except Exception:
                # The loop outlives any pass.
                log.exception("survey.failed")
            await asyncio.sleep(_SURVEY_SECONDS)

    async def _once(self) -> None:
        for retries, delay in enumerate((timedelta(0), *self.delays)):
            count = await self.rows.waiting(retries=retries, limit=_MAX_COUNTED)
            WAITING.labels(f"{delay.total_seconds():g}s").set(count)
        DEAD_LETTERS.set(await self.depths.ready(DEAD_LETTERS_QUEUE))
        while await self.events.expire(at=self.now(), limit=_EXPIRED_AT_ONCE):
            pass


def _tell(found: Swept) -> None:
    if found.lost or found.over_cap:
        SWEPT.labels("lost").inc(found.lost)
        SWEPT.labels("over_cap").inc(found.over_cap)
        log.info("sweeper.found", lost=found.lost, over_cap=found.over_cap)
