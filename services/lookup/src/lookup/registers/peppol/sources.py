"""The Peppol Directory (directory.peppol.eu): its export of all business cards."""

from pathlib import Path
from typing import Final

from common.domain.numbers import InvalidIdentifier
from common.domain.participants import parse_participant
from lookup.ingest.digests import Part
from lookup.ingest.files.raw_records import Raw
from lookup.ingest.pass_telemetry import PassTelemetry
from lookup.ingest.register_source import RawRecords, RegisterSource
from lookup.ingest.sync_dependencies import SyncDependencies
from lookup.registers.peppol.business_cards import DIALECT, participant_record, with_joined_rows
from lookup.registers.peppol.settings import PeppolSettings
from lookup.registers.peppol.sync import SyncPeppol
from lookup.registers.peppol.vanished import DropVanished

#: Relative to the directory's URL. The XML and CSV exports contain no more than JSON.
_EXPORT: Final = "export/businesscards-json"


def _key(raw: Raw) -> str | None:
    identifier = raw.get("pid")
    try:
        return str(parse_participant(identifier)) if isinstance(identifier, str) else None
    except InvalidIdentifier:
        return None


def _documents(found: RawRecords, _file_name: str) -> RawRecords:
    return with_joined_rows(found)


def _follow(
    source: RegisterSource, dependencies: SyncDependencies, telemetry: PassTelemetry
) -> SyncPeppol:
    settings = dependencies.settings_of(PeppolSettings)
    client = dependencies.client_of(settings.peppol_url, "peppol")
    return SyncPeppol(
        source=source,
        export=dependencies.file(client, source, _EXPORT),
        load=dependencies.load(telemetry),
        drop=DropVanished(source, dependencies.stores),
        stores=dependencies.stores,
        every=settings.peppol_interval,
        max_per_day=settings.peppol_max_downloads_per_day,
    )


PEPPOL: Final = RegisterSource(
    name="peppol",
    part=Part.PARTICIPANT,
    country=None,
    parse=participant_record,
    key=_key,
    code=Path(__file__).parent,
    follow=_follow,
    settings=PeppolSettings,
    dialect=DIALECT,
    documents=_documents,
)

SOURCES: Final = (PEPPOL,)
