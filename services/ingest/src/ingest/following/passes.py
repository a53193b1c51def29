"""Passes over a source: one at a time across all processes, repeated while it is followed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from common.contracts.failures import Unavailable
from common.leases import StoredLeases
from ingest.changes.states import Conflict
from ingest.following.responses import RegisterFault, RegisterUnavailable
from ingest.following.telemetry import PassTelemetry
from ingest.loading.batches import Tally
from ingest.loading.progress import Cursor
from ingest.loading.stores import Stores

#: Time after which another process takes over the sources of one that died.
_LEASE = timedelta(seconds=30)
#: Renewals per lease duration.
_RENEWALS = 3

#: One pass over a source, which adds its results to the tally.
Sync = Callable[[Tally], Awaitable[Cursor]]


class LeaseLost(Exception):
    """The lease was lost: another process may follow the source, so this pass stops."""


class Outcome(Enum):
    """The outcome of one pass over a source."""

    DONE = "done"
    #: Another process holds the lease.
    BUSY = "busy"
    #: Records or entries were refused; the others are stored.
    REFUSED = "refused"
    REGISTER_UNAVAILABLE = "register_unavailable"
    REGISTER_FAULT = "register_fault"
    DATABASE_UNAVAILABLE = "database_unavailable"
    SUPERSEDED = "superseded"
    #: An unexpected error.
    CRASHED = "crashed"


_FAILED: Final[Mapping[type[Exception], Outcome]] = {
    RegisterUnavailable: Outcome.REGISTER_UNAVAILABLE,
    RegisterFault: Outcome.REGISTER_FAULT,
    Unavailable: Outcome.DATABASE_UNAVAILABLE,
    Conflict: Outcome.SUPERSEDED,
    LeaseLost: Outcome.SUPERSEDED,
}
FAILURES = frozenset(Outcome) - {Outcome.DONE, Outcome.REFUSED, Outcome.BUSY}


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a pass, and the wait before the next one."""

    outcome: Outcome
    #: The wait that the register requested.
    wait: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes over one source; a lease admits one process at a time."""

    source: str
    sync: Sync
    #: Applies what was upcoming and whose day has come.
    due: Callable[[Tally], Awaitable[None]]
    stores: Stores
    leases: StoredLeases
    telemetry: PassTelemetry

    async def once(self) -> Result:
        """Runs one pass, unless another process holds the lease."""
        try:
            result = await self._held_pass()
        finally:
            await self.give_up()
        if result.outcome is Outcome.BUSY:
            self.telemetry.standby()
        return result

    async def again(self, *, wait: timedelta) -> Result:
        """Runs one pass and keeps the lease until the next, `wait` later."""
        result = await self._held_pass()
        if result.outcome is not Outcome.BUSY:
            with suppress(Unavailable):
                await self.leases.take(self._job, span=wait + _LEASE)
        return result

    async def give_up(self) -> None:
        """Releases the lease, so that another process can acquire it immediately."""
        with suppress(Unavailable):
            await self.leases.give_up(self._job)

    async def _held_pass(self) -> Result:
        """Runs a pass under a lease; returns its result, so that its failure ends no other."""
        tally, begun_at = Tally(), self.stores.now()
        try:
            cursor = await self.stores.cursors.read(self.source)
            self.telemetry.stands(cursor)
            if not await self.leases.take(self._job, span=_LEASE):
                self.telemetry.left_to_another()
                return Result(Outcome.BUSY)
            reached = await self._under_lease(tally)
        except tuple(_FAILED) as failure:
            return self._failed(failure, tally, begun_at)
        except Exception:  # noqa: BLE001 (the other sources go on; the telemetry keeps the traceback)
            self.telemetry.crashed(tally, self.stores.now() - begun_at)
            return Result(Outcome.CRASHED)
        moved = cursor is None or reached.revision != cursor.revision
        self.telemetry.done(tally, reached, self.stores.now() - begun_at, moved=moved)
        return Result(Outcome.REFUSED if tally.results["refused"] else Outcome.DONE)

    async def _under_lease(self, tally: Tally) -> Cursor:
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(self._renew())
                try:
                    return await self._synced(tally)
                finally:
                    keeping.cancel()
        except ExceptionGroup as failures:
            # The first failure cancels the other task, so it is the cause.
            raise failures.exceptions[0] from None

    async def _synced(self, tally: Tally) -> Cursor:
        """Runs the sync, and then what is due, also if the register has no answer today."""
        try:
            cursor = await self.sync(tally)
        except (RegisterUnavailable, RegisterFault):
            await self.due(tally)
            raise
        await self.due(tally)
        return cursor

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_LEASE.total_seconds() / _RENEWALS)
            if not await self.leases.take(self._job, span=_LEASE):
                raise LeaseLost("another process has taken the lease")

    def _failed(self, failure: Exception, tally: Tally, begun_at: datetime) -> Result:
        outcome = next(outcome for error, outcome in _FAILED.items() if isinstance(failure, error))
        wait = failure.retry_after if isinstance(failure, RegisterUnavailable) else None
        took = self.stores.now() - begun_at
        self.telemetry.failed(tally, took, cause=outcome.value, reason=str(failure), wait=wait)
        return Result(outcome, wait or timedelta())

    @property
    def _job(self) -> str:
        return f"sync:{self.source}"


async def follow(
    sources: Sequence[Passes],
    interval: timedelta,
    delays: Callable[[], Iterator[float]],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Runs passes over the sources of one register in turn, until cancelled.

    After failures the delay between rounds grows. A source whose lease another process holds is
    skipped while it does.
    """
    waits = delays()
    busy: set[str] = set()
    try:
        while True:
            results = {passes: await passes.again(wait=interval) for passes in sources}
            busy = _reported_busy(busy, results)
            wait = max(interval, *(result.wait for result in results.values()))
            if any(result.outcome in FAILURES for result in results.values()):
                wait = max(wait, timedelta(seconds=next(waits)))
            else:
                waits = delays()
            await sleep(wait.total_seconds())
    finally:
        for passes in sources:
            await passes.give_up()


def _reported_busy(before: set[str], results: Mapping[Passes, Result]) -> set[str]:
    """Returns the sources that another process follows; one line is logged when that begins."""
    busy = {passes.source for passes, result in results.items() if result.outcome is Outcome.BUSY}
    for passes in results:
        if passes.source in busy - before:
            passes.telemetry.standby()
    return busy
