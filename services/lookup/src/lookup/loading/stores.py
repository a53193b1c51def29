"""The stores that importers and feeds write to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from common.mongo import Database
from lookup.changes.apply import ApplyRecords
from lookup.changes.parts import StoredParts
from lookup.changes.transaction import StoredRegisterWriter
from lookup.loading.progress import StoredCursors, StoredLoadStates

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Returns the current time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Stores:
    """The stored registers, and how far each source was loaded and read."""

    writer: StoredRegisterWriter
    parts: StoredParts
    states: StoredLoadStates
    cursors: StoredCursors
    now: Clock

    @classmethod
    def of(cls, register: Database, now: Clock = utc_now) -> Self:
        """Returns the stores of a database."""
        return cls(
            StoredRegisterWriter(register),
            StoredParts(register),
            StoredLoadStates(register),
            StoredCursors(register),
            now,
        )

    @property
    def apply(self) -> ApplyRecords:
        """Applies batches of records to these stores."""
        return ApplyRecords(self.writer, self.now)
