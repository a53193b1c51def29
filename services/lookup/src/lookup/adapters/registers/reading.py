"""A register's file or document read as our records: what importers and feeds call."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lookup.adapters.registers import (
    brreg_documents,
    brreg_entities,
    brreg_roles,
    brreg_units,
    cvr_companies,
    cvr_units,
    peppol,
)
from lookup.adapters.registers.file_csv import Dialect
from lookup.adapters.registers.file_streams import OnBytes, ignore_progress
from lookup.adapters.registers.files import Raw, RawRecord, raw_records
from lookup.domain.identifiers import organisation_number_checks
from lookup.domain.records import Kind, Record, RecordRefused, Refused

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

_NUMBER = "organisasjonsnummer"
#: What tells whose roles an answer holds.
_TELLING = {_NUMBER, "_links"}
#: Where a record stands that is not in a list.
_WHOLE_FILE = "byte 0"
_NINE_DIGITS = re.compile(r"(?<!\d)\d{9}(?!\d)")


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record that was understood, and where it stands in its file (see `Refused`)."""

    number: int
    place: str
    record: Record


def parse(kind: Kind, raw: Raw) -> Record:
    """What one document of the register says; raises RecordRefused, naming the field at fault."""
    return _PARSERS[kind](raw)


def read(
    path: Path,
    kind: Kind,
    *,
    number_from_name: bool = True,
    on_bytes: OnBytes = ignore_progress,
) -> Iterator[ReadRecord | Refused]:
    """Yields every record of a file in its order, one that cannot be used as `Refused`.

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
        if isinstance(one, Refused):
            yield one
        elif named and one.place == _WHOLE_FILE and not one.raw.keys() & _TELLING:
            yield _read(kind, replace(one, raw={_NUMBER: named, **one.raw}))
        else:
            yield _read(kind, one)


def _read(kind: Kind, one: RawRecord) -> ReadRecord | Refused:
    try:
        raw = brreg_documents.from_row(one.raw) if one.is_row else one.raw
        return ReadRecord(one.number, one.place, parse(kind, raw))
    except RecordRefused as refusal:
        return Refused(one.number, one.place, str(refusal))


def _number_in_name(path: Path) -> str | None:
    """The one organisation number that a file's name contains."""
    numbers = [n for n in _NINE_DIGITS.findall(path.name) if organisation_number_checks(n)]
    return numbers[0] if len(numbers) == 1 else None
