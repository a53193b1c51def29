"""A register's file or document read as our records: what importers and feeds call."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, assert_never

from common.contracts.company import Country
from common.domain.countries import FORMATS
from common.domain.numbers import InvalidIdentifier, registration_number_checks
from common.domain.participants import parse_participant
from lookup.ingest.files.csv_records import Dialect
from lookup.ingest.files.json_records import decode, encode
from lookup.ingest.files.raw_records import Raw, RawRecord, raw_records
from lookup.ingest.files.streams import OnBytes, ignore_progress
from lookup.ingest.records import (
    CompanyRecord,
    FileBroken,
    Kind,
    OutOfScope,
    OwnersRecord,
    ParticipantRecord,
    RawDocument,
    Record,
    RecordRejected,
    RegisteredInError,
    Rejected,
    UnitRecord,
)
from lookup.registers.brreg import (
    documents as brreg_documents,
)
from lookup.registers.brreg import (
    entities as brreg_entities,
)
from lookup.registers.brreg import (
    roles as brreg_roles,
)
from lookup.registers.brreg import (
    units as brreg_units,
)
from lookup.registers.cvr import companies as cvr_companies
from lookup.registers.cvr import units as cvr_units
from lookup.registers.cvr.documents import unwrapped
from lookup.registers.digests import digest_of
from lookup.registers.peppol import business_cards as peppol

_PARSERS: Final[dict[Kind, Callable[[Raw], Record]]] = {
    Kind.NO_ENTITIES: brreg_entities.company_record,
    Kind.NO_UNITS: brreg_units.unit_record,
    Kind.NO_ROLES: brreg_roles.owners_record,
    Kind.DK_COMPANIES: cvr_companies.company_record,
    Kind.DK_UNITS: cvr_units.unit_record,
    Kind.PEPPOL: peppol.participant_record,
}

_DIALECTS: Final[dict[Kind, Dialect]] = {
    Kind.NO_ENTITIES: brreg_documents.DIALECT,
    Kind.NO_UNITS: brreg_documents.DIALECT,
    Kind.PEPPOL: peppol.DIALECT,
}

#: MongoDB refuses a document of 16 MB, and with it the whole list that it is written in.
MAX_STORED: Final = 2 << 20

_NUMBER = "organisasjonsnummer"
#: What tells whose roles an answer holds.
_TELLING = {_NUMBER, "_links"}
#: Where a record stands that is not in a list.
_WHOLE_FILE = "byte 0"
_NINE_DIGITS = re.compile(r"(?<!\d)\d{9}(?!\d)")


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record that was understood, and where it stands in its file (see `Rejected`)."""

    number: int
    place: str
    record: Record


def parse(kind: Kind, raw: Raw) -> Record:
    """What one document of the register says; raises RecordRejected, naming the field at fault."""
    record = _PARSERS[kind](raw)
    if _size(record) > MAX_STORED:
        raise RecordRejected(f"it has more than {MAX_STORED:,} bytes of what is stored")
    return record


def _size(record: Record) -> int:
    match record:
        case CompanyRecord():
            return len(record.core) + len(record.owner_list or b"")
        case OwnersRecord():
            return len(record.owner_list)
        case UnitRecord() | ParticipantRecord():
            return len(record.core)
        case OutOfScope() | RegisteredInError():
            return 0
        case _:
            assert_never(record)


def documents(
    path: Path,
    kind: Kind,
    *,
    number_from_name: bool = True,
    on_bytes: OnBytes = ignore_progress,
) -> Iterator[RawDocument | Rejected]:
    """Yields every document of a file in its order, one that is broken as `Rejected`.

    The file may be of any size, plain or gzip; JSON in each wrapping that the registers use, or
    CSV where they offer it. `on_bytes` is told how many bytes of the file, packed as they are,
    have been read since it was last called. An answer with the roles of one entity may lack its
    number, which is then taken from the file's name (`number_from_name`).

    Raises FileBroken, after all that is whole, for a file that is truncated or corrupt.
    """
    found = raw_records(path, _DIALECTS.get(kind), on_bytes)
    if kind is Kind.PEPPOL:
        found = peppol.with_joined_rows(found)
    named = _number_in_name(path) if number_from_name and kind is Kind.NO_ROLES else None
    for one in found:
        if isinstance(one, Rejected):
            yield one
        elif named and one.place == _WHOLE_FILE and not one.raw.keys() & _TELLING:
            yield _unread(kind, replace(one, raw={_NUMBER: named, **one.raw}, text=None))
        else:
            yield _unread(kind, one)


def understood(kind: Kind, document: RawDocument) -> Record | Rejected:
    """What a document says, or why it cannot be used."""
    raw = decode(document.text)
    try:
        record = parse(kind, raw if isinstance(raw, dict) else {})
    except RecordRejected as refusal:
        return Rejected(document.number, document.place, str(refusal))
    match record:
        case CompanyRecord() | OwnersRecord() | UnitRecord() | ParticipantRecord():
            return replace(record, digest=document.digest)
        case OutOfScope() | RegisteredInError():
            return record
        case _:
            assert_never(record)


def read(
    path: Path, kind: Kind, *, number_from_name: bool = True
) -> Iterator[ReadRecord | Rejected]:
    """Yields what every document of a file says; see `documents`."""
    for one in documents(path, kind, number_from_name=number_from_name):
        record = one if isinstance(one, Rejected) else understood(kind, one)
        yield record if isinstance(record, Rejected) else ReadRecord(one.number, one.place, record)


def likely_kind(path: Path) -> Kind | None:
    """The kind whose record a file begins with."""
    for kind in Kind:
        with suppress(FileBroken):
            if isinstance(next(read(path, kind), None), ReadRecord):
                return kind
    return None


def _unread(kind: Kind, one: RawRecord) -> RawDocument | Rejected:
    raw, text = one.raw, one.text
    if one.is_row:
        try:
            raw = brreg_documents.from_row(raw)
        except RecordRejected as refusal:
            return Rejected(one.number, one.place, str(refusal))
    if text is None:
        text = encode(raw)
    return RawDocument(one.number, one.place, text, _key(kind, raw), digest_of(text))


def _key(kind: Kind, raw: Raw) -> str | None:
    """What the record will be stored under, at a glance; a wrong guess finds nothing there."""
    match kind:
        case Kind.NO_ENTITIES | Kind.NO_UNITS | Kind.NO_ROLES:
            return _numbered(Country.NO, raw.get(_NUMBER))
        case Kind.DK_COMPANIES:
            return _danish(raw, "Vrvirksomhed", "cvrNummer", FORMATS[Country.DK].vat_digits)
        case Kind.DK_UNITS:
            return _danish(raw, "VrproduktionsEnhed", "pNummer", FORMATS[Country.DK].unit_digits)
        case Kind.PEPPOL:
            return _participant(raw.get("pid"))


def _danish(raw: Raw, wrapping: str, field: str, digits: int) -> str | None:
    """As a JSON number it has lost its leading zeros."""
    try:
        number = unwrapped(raw, wrapping, field)[field]
    except RecordRejected:
        return None
    return _numbered(Country.DK, str(number).zfill(digits) if type(number) is int else number)


def _numbered(country: Country, number: object) -> str | None:
    return f"{country}:{number}" if isinstance(number, str | int) else None


def _participant(identifier: object) -> str | None:
    try:
        return str(parse_participant(identifier)) if isinstance(identifier, str) else None
    except InvalidIdentifier:
        return None


def _number_in_name(path: Path) -> str | None:
    """The one organisation number that a file's name contains."""
    numbers = [
        n for n in _NINE_DIGITS.findall(path.name) if registration_number_checks(n, Country.NO)
    ]
    return numbers[0] if len(numbers) == 1 else None
