"""Passes over a source under its lease, and what they log and count."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

import structlog
from prometheus_client import Counter, Gauge

from common.contracts.failures import Unavailable
from common.leases import StoredLeases
from ingest.changes.states import Conflict
from ingest.following.register_client import RegisterFault, RegisterUnavailable
from ingest.loading.load import OTHERS, Tally
from ingest.loading.stores import Cursor, Stores
from ingest.records.records import Rejected

_AGE = Gauge(
    "sync_cursor_age_seconds",
    "Time since every published change of the source was stored",
    ["source"],
)
_RECORDS = Counter("sync_records_total", "Records by result", ["source", "result"])
_UNREADABLE = Gauge(
    "sync_unreadable_entries",
    "Unreadable entries at the end of the feed, which hold the cursor",
    ["source"],
)
_ODD = Counter(
    "sync_odd_values_total",
    "Values that were left out of a record, and words that nobody knows, by the path of the field",
    ["source", "field"],
)
_ERRORS = Counter("sync_pass_failures_total", "Passes that failed, by cause", ["source", "cause"])

#: Maximum reasons for refused records in a log line.
_MAX_REASONS = 5
#: Maximum kinds of odd values in a log line.
_MAX_ODD = 20
#: Maximum kinds of odd values of a source that a process counts by their names; a pass has as many.
_MAX_KINDS = 200
#: Maximum refused records that are logged per pass.
_MAX_NAMED = 20

log = structlog.get_logger()


class PassTelemetry:
    """Logs and metrics of the passes over one source."""

    def __init__(
        self, source: str, now: Callable[[], datetime], *, causes: Iterable[str] = ()
    ) -> None:
        """`causes` are counted from 0: Prometheus sees no increase in a counter's first value."""
        self._source = source
        self._now = now
        self._began_at = now()
        self._named = 0
        self._kinds: set[str] = set()
        for cause in causes:
            _ERRORS.labels(source, cause)

    def stands(self, cursor: Cursor | None) -> None:
        """Sets the cursor, whose age is a metric; without one, the process's age counts."""
        until = self._began_at if cursor is None else cursor.until

        def age() -> float:
            return (self._now() - until).total_seconds()

        _AGE.labels(self._source).set_function(age)

    def refused(self, refused: Rejected) -> None:
        """Logs a refused record of a whole file, up to a maximum per pass."""
        self._named += 1
        if self._named > _MAX_NAMED:
            return
        log.warning(
            "sync.record_refused",
            source=self._source,
            number=refused.number,
            place=refused.place,
            reason=refused.reason,
        )

    def done(self, tally: Tally, cursor: Cursor, took: timedelta, *, moved: bool) -> None:
        """Logs and counts a finished pass, at debug level unless it `moved` the cursor."""
        self._count(tally)
        self.stands(cursor)
        _UNREADABLE.labels(self._source).set(tally.unreadable_tail)
        line = log.info if moved else log.debug
        line(
            "sync.pass", outcome="done", until=cursor.until.isoformat(), **self._facts(tally, took)
        )

    def failed(
        self, tally: Tally, took: timedelta, *, cause: str, reason: str, wait: timedelta | None
    ) -> None:
        """Logs and counts a failed pass; `wait` is the one that the register requested."""
        self._count(tally)
        _ERRORS.labels(self._source, cause).inc()
        log.warning(
            "sync.pass",
            outcome=cause,
            reason=reason,
            retry_after_s=None if wait is None else wait.total_seconds(),
            **self._facts(tally, took),
        )

    def crashed(self, tally: Tally, took: timedelta) -> None:
        """Reports an unexpected error; the log line has its traceback."""
        self._count(tally)
        _ERRORS.labels(self._source, "crashed").inc()
        log.exception("sync.pass", outcome="crashed", **self._facts(tally, took))

    def left_to_another(self) -> None:
        """Stops measuring: another process measures the source now."""
        _UNREADABLE.labels(self._source).set(0)

    def standby(self) -> None:
        """Logs that another process follows the source."""
        log.info("sync.standby", source=self._source, reason="another process follows the source")

    def _count(self, tally: Tally) -> None:
        self._named = 0
        for result, count in tally.results.items():
            _RECORDS.labels(self._source, result).inc(count)
        for path, count in tally.odd.counts.items():
            if len(self._kinds) < _MAX_KINDS:
                self._kinds.add(path)
            # The log line has the names of the others.
            _ODD.labels(self._source, path if path in self._kinds else OTHERS).inc(count)
        if tally.odd.counts:
            kinds = tally.odd.most_common(_MAX_ODD)
            log.warning("sync.odd_values", source=self._source, fields=kinds)

    def _facts(self, tally: Tally, took: timedelta) -> dict[str, object]:
        return {
            "source": self._source,
            "duration_ms": round(took.total_seconds() * 1000),
            "read": tally.read,
            "results": {result: count for result, count in tally.results.items() if count},
            "reconciled": tally.reconciled,
            "unreadable_tail": tally.unreadable_tail,
            "differences": tally.differences,
            "refusals": dict(tally.reasons.most_common(_MAX_REASONS)),
        }


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


# Compared by identity: rounds keep results by their passes, of which a sync may hold a mapping.
@dataclass(frozen=True, slots=True, eq=False)
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
        """Runs one pass and keeps the lease until the next: after `wait`, or what was asked for."""
        result = await self._held_pass()
        if result.outcome is not Outcome.BUSY:
            await self.keep(max(wait, result.wait))
        return result

    async def keep(self, wait: timedelta) -> None:
        """Keeps the lease until a pass that begins after a wait."""
        with suppress(Unavailable):
            await self.leases.take(self._job, span=wait + _LEASE)

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
    skipped while it does. No other process asks a register earlier that said when to come again.
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
            if wait > interval:
                for passes, result in results.items():
                    if result.outcome is not Outcome.BUSY:
                        await passes.keep(wait)
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
