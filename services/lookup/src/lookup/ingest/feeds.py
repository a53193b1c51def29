"""Cursors: how far a source was read."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

#: Earlier than any record of a register.
BEGINNING = datetime(1900, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a feed, in the feed's own terms."""

    #: The register's time of the last entry read, or the start.
    at: datetime
    #: Norway's `oppdateringsid` of the last entry read; 0 before the first.
    sequence: int = 0
    #: Ids of the entries with the time `at`, for feeds that are read by time alone.
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position up to which a source was read and stored."""

    position: Position
    #: Every change that the register published by this time is stored. UTC.
    until: datetime
    #: Time of the last comparison with the register's whole file.
    reconciled_at: datetime | None = None
    #: The ETag of the whole file that was read last.
    etag: str | None = None
    #: Times of the downloads in the last 24 hours, if their number is limited.
    downloads: tuple[datetime, ...] = ()
    #: Revision of the stored cursor, so that two processes cannot both move it.
    revision: int = 0


def is_due(last: datetime | None, every: timedelta, now: datetime) -> bool:
    return last is None or now - last >= every
