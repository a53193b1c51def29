"""Timestamps of changed entries."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_TICK = timedelta(milliseconds=1)


class Stamps:
    """Times in milliseconds, each later than those before and than anything already written."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._last = datetime.min.replace(tzinfo=UTC)

    def next(self) -> datetime:
        now = self._now()
        whole = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._last = max(whole, self._last + _TICK)
        return self._last

    def pass_by(self, written: datetime) -> None:
        """The next time is later than this one too."""
        self._last = max(self._last, written)


def iso(at: datetime) -> str:
    """`2026-06-28T00:20:10.625Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
