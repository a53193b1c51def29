"""What following the registers tells: a wide log line for each pass, and metrics."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

import structlog
from prometheus_client import Counter, Gauge

from lookup.ingest.feeds import Cursor
from lookup.ingest.records import Rejected
from lookup.ingest.tally import Tally

_AGE = Gauge(
    "sync_cursor_age_seconds",
    "How long ago all that the source had told was stored",
    ["source"],
)
_RECORDS = Counter("sync_records_total", "Records by what came of them", ["source", "result"])
_STANDING = Gauge(
    "sync_unreadable_entries",
    "Unreadable entries that the source ends with, so that its cursor stands before them",
    ["source"],
)
_ERRORS = Counter("sync_feed_errors_total", "Passes that failed, by cause", ["source", "cause"])

#: Reasons for refusing records that a line has room for.
_MOST_REASONS = 5
#: Rejected records that are named in a pass.
_MAX_NAMED = 20

log = structlog.get_logger()


class PassTelemetry:
    def __init__(
        self, source: str, now: Callable[[], datetime], *, causes: Iterable[str] = ()
    ) -> None:
        """`causes` are counted from 0 on: Prometheus sees no increase in a counter's beginning."""
        self._source = source
        self._now = now
        self._named = 0
        for cause in causes:
            _ERRORS.labels(source, cause)

    def stands(self, cursor: Cursor | None) -> None:
        """Takes the cursor for the metric of its age."""
        if cursor is None:
            return
        until = cursor.until

        def age() -> float:
            return (self._now() - until).total_seconds()

        _AGE.labels(self._source).set_function(age)

    def refused(self, refused: Rejected) -> None:
        """Names a record of a whole file that could not be used, of each pass the first ones."""
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
        self._count(tally)
        self.stands(cursor)
        _STANDING.labels(self._source).set(tally.standing)
        line = log.info if moved else log.debug
        line(
            "sync.pass", outcome="done", until=cursor.until.isoformat(), **self._facts(tally, took)
        )

    def failed(
        self, tally: Tally, took: timedelta, *, cause: str, reason: str, wait: timedelta | None
    ) -> None:
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
        """An error that no pass is known to end with; the log line has its traceback."""
        self._count(tally)
        _ERRORS.labels(self._source, "crashed").inc()
        log.exception("sync.pass", outcome="crashed", **self._facts(tally, took))

    def left_to_another(self) -> None:
        """Another process measures the source now."""
        _STANDING.labels(self._source).set(0)

    def standby(self) -> None:
        log.info("sync.standby", source=self._source, reason="another process follows it")

    def _count(self, tally: Tally) -> None:
        self._named = 0
        for result, count in tally.results.items():
            _RECORDS.labels(self._source, result).inc(count)

    def _facts(self, tally: Tally, took: timedelta) -> dict[str, object]:
        return {
            "source": self._source,
            "duration_ms": round(took.total_seconds() * 1000),
            "read": tally.read,
            "results": {result: count for result, count in tally.results.items() if count},
            "reconciled": tally.reconciled,
            "standing": tally.standing,
            "differences": tally.differences,
            "refusals": dict(tally.reasons.most_common(_MOST_REASONS)),
        }
