"""Upcoming records: a document read as of the later days that it names (ADR 0068)."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Final, TypeVar

from ingest.records.records import CompanyRecord, Parser, Raw, UnitRecord

Changing = TypeVar("Changing", CompanyRecord, UnitRecord)

#: Later days of one document of which the record is kept, and their bytes. The days after those are
#: known when the document is read again.
MAX_UPCOMING: Final = 10
_MAX_BYTES: Final = 8 << 20


def with_upcoming(record: Changing, parser: Parser, raw: Raw) -> Changing:
    """Returns the record of a document with those of its later days."""
    if record.next_day is None:
        return record
    return replace(record, upcoming=tuple(_later(record, parser, raw)))


def _later(record: Changing, parser: Parser, raw: Raw) -> Iterator[tuple[date, Changing]]:
    before, size = record, 0
    for _ in range(MAX_UPCOMING):
        day = before.next_day
        later = None if day is None else parser(raw, day)
        if day is None or type(later) is not type(record):
            return
        size += len(b"".join(_bytes(later)))
        if size > _MAX_BYTES:
            return
        yield day, later
        before = later


def as_of(record: Changing, today: date) -> Changing:
    """Returns the record as it reads on a day that is not before the one it was read as of.

    If later days are unknown then, it has no digest: its document is to be read again.
    """
    begun = sum(day <= today for day, _ in record.upcoming)
    if not begun:
        return record
    present, rest = record.upcoming[begun - 1][1], record.upcoming[begun:]
    digest = record.digest if rest or present.next_day is None else None
    present = replace(present, version=record.version, digest=digest, upcoming=rest)
    if isinstance(present, CompanyRecord):
        return replace(present, updated_at=record.updated_at)
    return present


def upcoming_digest(upcoming: Sequence[tuple[date, CompanyRecord | UnitRecord]]) -> bytes | None:
    """Returns a hash of all that is to come; None for nothing."""
    if not upcoming:
        return None
    told = hashlib.sha256()
    for day, record in upcoming:
        told.update(b"\0".join((str(day).encode(), *_bytes(record))))
    return told.digest()[:16]


def _bytes(record: CompanyRecord | UnitRecord) -> tuple[bytes, ...]:
    """Returns the compared parts of a record."""
    phones = ",".join(record.phones).encode()
    if isinstance(record, UnitRecord):
        return record.core, phones, (record.company or "").encode()
    units = ",".join(record.units).encode()
    return record.core, phones, units, record.owner_list or b"", record.role_list or b""
