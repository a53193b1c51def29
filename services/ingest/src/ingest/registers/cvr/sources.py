"""The Danish register's sources: companies and production units."""

from dataclasses import replace
from functools import partial
from typing import Final

from common.contracts.company import Country
from common.domain.countries import FORMATS
from ingest.records.digests import Part
from ingest.records.records import Raw, RecordRejected
from ingest.records.source import RegisterSource
from ingest.registers.cvr.companies import company_record
from ingest.registers.cvr.documents import unwrapped
from ingest.registers.cvr.scroll import WRAPPINGS
from ingest.registers.cvr.units import unit_record


def _key(wrapping: str, field: str, digits: int, raw: Raw) -> str | None:
    """Returns the key of a document; its number may be a JSON number without leading zeros."""
    try:
        number = unwrapped(raw, wrapping, field)[field]
    except RecordRejected:
        return None
    if type(number) is int:
        number = str(number).zfill(digits)
    return f"{Country.DK}:{number}" if isinstance(number, str | int) else None


_FORMATS: Final = FORMATS[Country.DK]

DK_COMPANIES: Final = RegisterSource(
    name="dk-virksomhed",
    part=Part.COMPANY,
    country=Country.DK,
    parse=company_record,
    key=partial(_key, WRAPPINGS[Part.COMPANY], "cvrNummer", _FORMATS.vat_digits),
)
DK_UNITS: Final = replace(
    DK_COMPANIES,
    name="dk-produktionsenhed",
    part=Part.UNIT,
    parse=unit_record,
    key=partial(_key, WRAPPINGS[Part.UNIT], "pNummer", _FORMATS.unit_digits),
)

SOURCES: Final = (DK_COMPANIES, DK_UNITS)
