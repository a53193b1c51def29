"""Passes over a source: one at a time in all processes, again and again where it is followed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from common.runtime.outage import Unavailable
from lookup.ingest.apply import Conflict
from lookup.ingest.feeds import Cursor
from lookup.ingest.leases import Leases
from lookup.ingest.pass_telemetry import PassTelemetry
from lookup.ingest.sources import Cursors, RegisterAway, RegisterFault
from lookup.ingest.tally import Tally

#: A lease is renewed this many times before it would be over.
_RENEWALS = 3

#: One pass over a source; adds to the tally what it does.
Sync = Callable[[Tally], Awaitable[Cursor]]


class LeaseLost(Exception):
    """Another process may follow the source by now, so this one stops."""


class Outcome(Enum):
    DONE = "done"
    #: Another process has the source.
    BUSY = "busy"
    #: Records or entries were refused; the rest is stored.
    REFUSED = "refused"
    REGISTER_AWAY = "register_away"
    REGISTER_FAULT = "register_fault"
    DATABASE_AWAY = "database_away"
    SUPERSEDED = "superseded"
    #: An error that no pass is known to end with.
    CRASHED = "crashed"


FAILURES = frozenset(Outcome) - {Outcome.DONE, Outcome.REFUSED, Outcome.BUSY}


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Outcome
    #: How long the register wants to be left alone.
    wait: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Passes:
    source: str
    sync: Sync
    cursors: Cursors
    leases: Leases
    journal: PassTelemetry
    #: How long a process that died keeps others from the source.
    span: timedelta
    now: Callable[[], datetime]

    async def once(self) -> Result:
        """One pass, unless another process has the source."""
        try:
            result = await self._held_pass()
        finally:
            await self.give_up()
        if result.outcome is Outcome.BUSY:
            self.journal.standby()
        return result

    async def again(self, *, wait: timedelta) -> Result:
        """One pass, after which the lease lasts until the next one, `wait` later."""
        result = await self._held_pass()
        if result.outcome is not Outcome.BUSY:
            with suppress(Unavailable):
                await self.leases.take(self._job, span=wait + self.span)
        return result

    async def give_up(self) -> None:
        """Lets another process have the source at once."""
        with suppress(Unavailable):
            await self.leases.give_up(self._job)

    async def _held_pass(self) -> Result:
        """One pass under a lease, and its result: no failure of one source ends another."""
        tally, begun_at = Tally(), self.now()
        try:
            cursor = await self.cursors.read(self.source)
            self.journal.stands(cursor)
            if not await self.leases.take(self._job, span=self.span):
                self.journal.left_to_another()
                return Result(Outcome.BUSY)
            reached = await self._under_lease(tally)
        except RegisterAway as away:
            return self._failed(Outcome.REGISTER_AWAY, away, tally, begun_at, away.retry_after)
        except RegisterFault as fault:
            return self._failed(Outcome.REGISTER_FAULT, fault, tally, begun_at)
        except Unavailable as outage:
            return self._failed(Outcome.DATABASE_AWAY, outage, tally, begun_at)
        except (Conflict, LeaseLost) as lost:
            return self._failed(Outcome.SUPERSEDED, lost, tally, begun_at)
        except Exception:  # noqa: BLE001 (the other sources go on; the journal keeps the traceback)
            self.journal.crashed(tally, self.now() - begun_at)
            return Result(Outcome.CRASHED)
        moved = cursor is None or reached.revision != cursor.revision
        self.journal.done(tally, reached, self.now() - begun_at, moved=moved)
        return Result(Outcome.REFUSED if tally.results["refused"] else Outcome.DONE)

    async def _under_lease(self, tally: Tally) -> Cursor:
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(self._renew())
                try:
                    return await self.sync(tally)
                finally:
                    keeping.cancel()
        except ExceptionGroup as failures:
            # Once the one has failed the other is cancelled, so the first is the reason.
            raise failures.exceptions[0] from None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.span.total_seconds() / _RENEWALS)
            if not await self.leases.take(self._job, span=self.span):
                raise LeaseLost("another process has taken the lease")

    def _failed(
        self,
        outcome: Outcome,
        reason: Exception,
        tally: Tally,
        begun_at: datetime,
        wait: timedelta | None = None,
    ) -> Result:
        took = self.now() - begun_at
        self.journal.failed(tally, took, cause=outcome.value, reason=str(reason), wait=wait)
        return Result(outcome, wait or timedelta())

    @property
    def _job(self) -> str:
        return f"sync:{self.source}"


async def follow(
    lane: Sequence[Passes],
    interval: timedelta,
    delays: Callable[[], Iterator[float]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Passes over the sources of one register in turn, until it is cancelled.

    After failures the delays between the rounds grow; a source that another process has is left to
    it for as long as it does that.
    """
    waits = delays()
    busy: set[str] = set()
    try:
        while True:
            results = {passes: await passes.again(wait=interval) for passes in lane}
            busy = _told_of(busy, results)
            wait = max(interval, *(result.wait for result in results.values()))
            if any(result.outcome in FAILURES for result in results.values()):
                wait = max(wait, timedelta(seconds=next(waits)))
            else:
                waits = delays()
            await sleep(wait.total_seconds())
    finally:
        for passes in lane:
            await passes.give_up()


def _told_of(before: set[str], results: Mapping[Passes, Result]) -> set[str]:
    """The sources that another process has; one line is written when that begins."""
    busy = {passes.source for passes, result in results.items() if result.outcome is Outcome.BUSY}
    for passes in results:
        if passes.source in busy - before:
            passes.journal.standby()
    return busy
