"""The Danish register's sources: companies and production units."""

from functools import partial
from pathlib import Path
from typing import Final

from aiohttp import encode_basic_auth

from common.contracts.company import Country
from common.domain.countries import FORMATS
from lookup.ingest.digests import Part
from lookup.ingest.files.raw_records import Raw
from lookup.ingest.pass_telemetry import PassTelemetry
from lookup.ingest.records import RecordRejected
from lookup.ingest.register_source import Parser, RegisterSource
from lookup.ingest.sync_dependencies import SyncDependencies
from lookup.registers.cvr.companies import company_record
from lookup.registers.cvr.documents import unwrapped
from lookup.registers.cvr.scroll import WRAPPINGS, CvrDocuments
from lookup.registers.cvr.settings import CvrSettings
from lookup.registers.cvr.sync import SyncDenmark
from lookup.registers.cvr.units import unit_record


def _key(wrapping: str, field: str, digits: int, raw: Raw) -> str | None:
    """The key of a document; its number may be a JSON number without leading zeros."""
    try:
        number = unwrapped(raw, wrapping, field)[field]
    except RecordRejected:
        return None
    if type(number) is int:
        number = str(number).zfill(digits)
    return f"{Country.DK}:{number}" if isinstance(number, str | int) else None


def _follow(
    source: RegisterSource, dependencies: SyncDependencies, _telemetry: PassTelemetry
) -> SyncDenmark:
    settings = dependencies.settings_of(CvrSettings)
    password = settings.cvr_password.get_secret_value()
    authorization = encode_basic_auth(settings.cvr_user, password)
    client = dependencies.client_of(settings.cvr_url, "cvr", Authorization=authorization)
    return SyncDenmark(
        source=source,
        documents=CvrDocuments(client, source, page_size=dependencies.settings.sync_page_size),
        stores=dependencies.stores,
        prepare=dependencies.companies_first(source, DK_COMPANIES),
        overlap=settings.cvr_overlap,
    )


def _source(name: str, part: Part, parse: Parser, field: str, digits: int) -> RegisterSource:
    return RegisterSource(
        name=name,
        part=part,
        country=Country.DK,
        parse=parse,
        key=partial(_key, WRAPPINGS[part], field, digits),
        code=Path(__file__).parent,
        follow=_follow,
        settings=CvrSettings,
    )


_FORMATS: Final = FORMATS[Country.DK]

DK_COMPANIES: Final = _source(
    "dk-virksomhed", Part.COMPANY, company_record, "cvrNummer", _FORMATS.vat_digits
)
DK_UNITS: Final = _source(
    "dk-produktionsenhed", Part.UNIT, unit_record, "pNummer", _FORMATS.unit_digits
)

SOURCES: Final = (DK_COMPANIES, DK_UNITS)
