"""The Danish register's sources: companies and production units."""

from functools import partial
from pathlib import Path
from typing import Final

import structlog
from aiohttp import encode_basic_auth

from common.contracts.company import Country
from common.domain.countries import FORMATS
from lookup.ingest.digests import Part
from lookup.ingest.files.raw_records import Raw
from lookup.ingest.pass_telemetry import PassTelemetry
from lookup.ingest.records import RecordRejected
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sync_dependencies import SyncDependencies
from lookup.registers.cvr.companies import company_record
from lookup.registers.cvr.documents import unwrapped
from lookup.registers.cvr.scroll import WRAPPINGS, CvrDocuments
from lookup.registers.cvr.sync import SyncDenmark
from lookup.registers.cvr.units import unit_record
from lookup.settings import SyncSettings


def _key(wrapping: str, field: str, digits: int, raw: Raw) -> str | None:
    """As a JSON number it has lost its leading zeros."""
    try:
        number = unwrapped(raw, wrapping, field)[field]
    except RecordRejected:
        return None
    if type(number) is int:
        number = str(number).zfill(digits)
    return f"{Country.DK}:{number}" if isinstance(number, str | int) else None


def _missing(settings: SyncSettings) -> str | None:
    return None if settings.cvr_user else "the Danish register needs CVR_USER and CVR_PASSWORD"


def _warn(settings: SyncSettings) -> None:
    """The password can be read on its way to the register."""
    if settings.cvr_url.scheme == "http":
        structlog.get_logger().warning("cvr.plaintext", url=str(settings.cvr_url))


def _follow(
    source: RegisterSource, dependencies: SyncDependencies, _journal: PassTelemetry
) -> SyncDenmark:
    settings = dependencies.settings
    password = settings.cvr_password.get_secret_value()
    authorization = encode_basic_auth(settings.cvr_user, password)
    client = dependencies.way_to(settings.cvr_url, "cvr", Authorization=authorization)
    return SyncDenmark(
        source=source,
        documents=CvrDocuments(client, source, page_size=settings.sync_page_size),
        writer=dependencies.writer,
        apply=dependencies.apply,
        states=dependencies.states,
        cursors=dependencies.cursors,
        prepare=dependencies.companies_first(source, DK_COMPANIES),
        overlap=settings.cvr_overlap,
        now=dependencies.now,
    )


_CODE: Final = Path(__file__).parent
_FORMATS: Final = FORMATS[Country.DK]

DK_COMPANIES: Final = RegisterSource(
    name="dk-virksomhed",
    part=Part.COMPANY,
    country=Country.DK,
    parse=company_record,
    key=partial(_key, WRAPPINGS[Part.COMPANY], "cvrNummer", _FORMATS.vat_digits),
    code=_CODE,
    follow=_follow,
    missing=_missing,
    warn=_warn,
)
DK_UNITS: Final = RegisterSource(
    name="dk-produktionsenhed",
    part=Part.UNIT,
    country=Country.DK,
    parse=unit_record,
    key=partial(_key, WRAPPINGS[Part.UNIT], "pNummer", _FORMATS.unit_digits),
    code=_CODE,
    follow=_follow,
    missing=_missing,
    warn=_warn,
)

SOURCES: Final = (DK_COMPANIES, DK_UNITS)
