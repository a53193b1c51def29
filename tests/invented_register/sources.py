"""The invented register's only source, as `docs/adding-a-register.md` describes it."""

from datetime import date
from typing import Final

from common.contracts.company import Company, Country, Status
from ingest.following.dependencies import SyncDependencies
from ingest.following.passes import PassTelemetry, Sync
from ingest.loading.load import Tally
from ingest.loading.stores import Cursor, Position
from ingest.records.records import CompanyRecord, Raw, RecordRejected, SourceVersion
from ingest.records.source import Part, RegisterSource

NEWCOMER: Final = {"number": "20000001", "name": "Ny Roklub"}


def company_record(raw: Raw, _today: date) -> CompanyRecord:
    """Raises RecordRejected."""
    number, name = raw.get("number"), raw.get("name")
    if not isinstance(number, str) or not isinstance(name, str):
        raise RecordRejected("number, name: one is missing")
    status = Status.ENDED if raw.get("dissolved") else Status.ACTIVE
    company = Company(country=Country.DK, vat=number, name=name, status=status)
    return CompanyRecord.of(company)


def key(raw: Raw) -> str | None:
    return f"{Country.DK}:{raw.get('number')}"


def follow(
    source: RegisterSource, dependencies: SyncDependencies, _telemetry: PassTelemetry
) -> Sync:
    """Finds one association in every pass."""

    async def one_pass(tally: Tally) -> Cursor:
        now = dependencies.stores.now()
        found = [company_record(NEWCOMER, dependencies.stores.today())]
        version = SourceVersion(now)
        verdicts = await dependencies.stores.apply(found, version, publish_events=True)
        tally.judged(found, verdicts)
        cursor = await dependencies.stores.cursors.read(source.name)
        cursor = cursor or Cursor(Position(now), until=now)
        return await dependencies.stores.cursors.move(source.name, cursor)

    return one_pass


ASSOCIATIONS: Final = RegisterSource(
    name="dk-forening",
    part=Part.COMPANY,
    country=Country.DK,
    parse=company_record,
    key=key,
)

SOURCES: Final = (ASSOCIATIONS,)
