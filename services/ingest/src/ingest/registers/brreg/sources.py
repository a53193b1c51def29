"""The Norwegian register's sources: entities, units and roles."""

import re
from dataclasses import replace
from typing import Final

from common.contracts.company import Country
from common.domain.countries import FORMATS
from common.domain.numbers import registration_number_checks
from ingest.records.digests import Part
from ingest.records.files import RawRecord
from ingest.records.records import Raw, RecordRejected, Rejected
from ingest.records.source import RawRecords, RegisterSource
from ingest.registers.brreg.documents import DIALECT, from_row
from ingest.registers.brreg.entities import company_record
from ingest.registers.brreg.roles import owners_record
from ingest.registers.brreg.units import unit_record

_NUMBER: Final = "organisasjonsnummer"
#: The fields that identify the entity of a roles document.
_TELLING: Final = {_NUMBER, "_links"}
#: The position of a record that is not in a list.
_WHOLE_FILE: Final = "byte 0"
_NUMBERS: Final = re.compile(rf"(?<!\d)\d{{{FORMATS[Country.NO].vat_digits}}}(?!\d)")


def _key(raw: Raw) -> str | None:
    number = raw.get(_NUMBER)
    return f"{Country.NO}:{number}" if isinstance(number, str | int) else None


def _rows_as_documents(found: RawRecords, _file_name: str) -> RawRecords:
    for one in found:
        if isinstance(one, Rejected) or one.text is not None:
            yield one
            continue
        try:
            yield replace(one, raw=from_row(one.raw))
        except RecordRejected as refusal:
            yield Rejected(one.number, one.place, str(refusal))


def _with_number_of_file(found: RawRecords, file_name: str) -> RawRecords:
    """Adds a missing number to a roles document of one entity, from the file's name."""
    number = _number_in(file_name)
    for one in found:
        if number and isinstance(one, RawRecord) and _lacks_number(one):
            yield replace(one, raw={_NUMBER: number, **one.raw}, text=None)
        else:
            yield one


def _lacks_number(one: RawRecord) -> bool:
    return one.place == _WHOLE_FILE and not one.raw.keys() & _TELLING


def _number_in(name: str) -> str | None:
    """Returns the organisation number in a file's name, if it contains exactly one."""
    numbers = [n for n in _NUMBERS.findall(name) if registration_number_checks(n, Country.NO)]
    return numbers[0] if len(numbers) == 1 else None


NO_ENTITIES: Final = RegisterSource(
    name="no-enheter",
    part=Part.COMPANY,
    country=Country.NO,
    parse=company_record,
    key=_key,
    dialect=DIALECT,
    documents=_rows_as_documents,
)
NO_UNITS: Final = replace(NO_ENTITIES, name="no-underenheter", part=Part.UNIT, parse=unit_record)
NO_ROLES: Final = replace(
    NO_ENTITIES,
    name="no-roller",
    part=Part.OWNERS,
    parse=owners_record,
    dialect=None,
    documents=_with_number_of_file,
)

SOURCES: Final = (NO_ENTITIES, NO_UNITS, NO_ROLES)
