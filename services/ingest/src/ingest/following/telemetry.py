"""Logs and metrics of the passes over a source: one wide log line per pass."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import structlog
from prometheus_client import Counter, Gauge

from ingest.loading.batches import Tally
from ingest.loading.progress import Cursor
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
            _ODD.labels(self._source, path).inc(count)
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
