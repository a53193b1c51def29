"""What following the registers tells: a wide log line for each pass, and metrics."""

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from prometheus_client import Counter, Gauge

from lookup.domain.feeds import Cursor
from lookup.domain.records import Kind, Refused
from lookup.usecases.sync.tally import Tally

_AGE = Gauge(
    "sync_cursor_age_seconds",
    "How long ago all that the source had told was stored",
    ["source"],
)
_RECORDS = Counter("sync_records_total", "Records by what came of them", ["source", "result"])
_ERRORS = Counter("sync_feed_errors_total", "Passes that failed, by cause", ["source", "cause"])

#: Reasons for refusing records that a line has room for.
_MOST_REASONS = 5

log = structlog.get_logger()


class PassJournal:
    def __init__(self, source: Kind, now: Callable[[], datetime]) -> None:
        self._source = source
        self._now = now

    def stands(self, cursor: Cursor | None) -> None:
        """Takes the cursor for the metric of its age."""
        if cursor is None:
            return
        until = cursor.until

        def age() -> float:
            return (self._now() - until).total_seconds()

        _AGE.labels(self._source).set_function(age)

    def refused(self, refused: Refused) -> None:
        """A record of a whole file that could not be used."""
        log.warning(
            "sync.record_refused",
            source=self._source.value,
            number=refused.number,
            place=refused.place,
            reason=refused.reason,
        )

    def done(self, tally: Tally, cursor: Cursor, took: timedelta, *, moved: bool) -> None:
        self._count(tally)
        self.stands(cursor)
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

    def standby(self) -> None:
        log.info("sync.standby", source=self._source.value, reason="another process follows it")

    def _count(self, tally: Tally) -> None:
        for result, count in tally.results.items():
            _RECORDS.labels(self._source, result).inc(count)

    def _facts(self, tally: Tally, took: timedelta) -> dict[str, object]:
        return {
            "source": self._source.value,
            "duration_ms": round(took.total_seconds() * 1000),
            "read": tally.read,
            "results": {result: count for result, count in tally.results.items() if count},
            "reconciled": tally.reconciled,
            "differences": tally.differences,
            "refusals": dict(tally.reasons.most_common(_MOST_REASONS)),
        }
