"""The Peppol Directory: its settings, its source, and a pass over its export."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from pydantic import AnyHttpUrl, Field

from common.domain.numbers import InvalidIdentifier, parse_participant
from common.runtime.settings import Duration, duration
from ingest.changes.states import ApplyContext, Plan
from ingest.changes.unit_plans import plan_vanished
from ingest.following.dependencies import (
    DownloadedFile,
    SeenKeys,
    SyncDependencies,
    load_whole,
)
from ingest.following.passes import PassTelemetry
from ingest.following.register_client import RegisterFault
from ingest.loading.load import BATCH, LoadFile, Piece, Tally
from ingest.loading.stores import Cursor, Position, Stores, is_due
from ingest.records.records import Raw, RawDocument, SourceVersion
from ingest.records.source import Part, RegisterSource
from ingest.registers.peppol.business_cards import (
    DIALECT,
    ELEMENT,
    as_cards,
    participant_record,
)
from ingest.registers.peppol.ledger import CARDS
from ingest.settings import HttpsRegisterUrl, RegisterSettings
from register_store.documents import BEGINNING


class PeppolSettings(RegisterSettings):
    """The settings of the Peppol Directory."""

    peppol_url: HttpsRegisterUrl = Field(
        default=AnyHttpUrl("https://directory.peppol.eu"), description="the Peppol Directory"
    )
    peppol_interval: Duration = duration("P1D", "time between Peppol exports")
    peppol_max_downloads_per_day: int = Field(
        default=3, ge=1, description="downloads that the directory allows in 24 hours"
    )


def _key(raw: Raw) -> str | None:
    identifier = raw.get("pid")
    try:
        return str(parse_participant(identifier)) if isinstance(identifier, str) else None
    except InvalidIdentifier:
        return None


PEPPOL: Final = RegisterSource(
    name="peppol",
    part=Part.PARTICIPANT,
    country=None,
    parse=participant_record,
    key=_key,
    dialect=DIALECT,
    element=ELEMENT,
    ledger=CARDS,
    documents=as_cards,
)

SOURCES: Final = (PEPPOL,)


#: Relative to the directory's URL. The XML and CSV exports contain no more than JSON.
_EXPORT: Final = "export/businesscards-json"

_DAY: Final = timedelta(days=1)
#: Failed downloads are retried after this part of the interval.
_RETRY_PART: Final = 3
#: Up to this many identifiers may be missing; more only up to half of the stored ones.
_ALWAYS_CREDIBLE: Final = 100


@dataclass
class SeenIdentifiers:
    """Records the identifiers in a file while it is read, those of all countries."""

    present: SeenKeys = field(default_factory=SeenKeys)
    #: True if every document of the file could be read.
    is_complete: bool = True

    def recorded(self, documents: Iterator[Piece]) -> Iterator[Piece]:
        """Yields the documents unchanged, and records their identifiers."""
        for document in documents:
            if not isinstance(document, RawDocument):
                self.is_complete = False
            elif document.key is not None:
                self.present.add(document.key)
            yield document


@dataclass(frozen=True, slots=True)
class DropVanished:
    """Drops stored identifiers that a complete export lacks."""

    source: RegisterSource
    stores: Stores

    async def __call__(self, seen: SeenIdentifiers, version: SourceVersion, tally: Tally) -> None:
        """Drops identifiers that were stored before the export was made and are not in it.

        Raises RegisterFault if too many are missing for the export to be complete.
        """
        if not seen.is_complete:
            return
        missing, stored = [], 0
        async for keys in self.stores.parts.keys(self.source, until=version.at):
            stored += len(keys)
            missing += [key for key in keys if key not in seen.present]
        if len(missing) > max(stored // 2, _ALWAYS_CREDIBLE):
            raise RegisterFault(f"the export lacks {len(missing)} of {stored} identifiers")
        publish_events = await self.stores.states.is_loaded(self.source.name)
        context = ApplyContext(version, self.stores.now(), publish_events)
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            plan = await self.stores.apply.through(partial(self._plan, some, context))
            tally.results["vanished"] += len(plan.drops)

    async def _plan(self, identifiers: Sequence[str], context: ApplyContext) -> Plan:
        known = await self.stores.writer.known_participants(identifiers, ())
        return await self.stores.apply.with_lists(
            known, lambda known: plan_vanished(identifiers, known, context), context
        )


@dataclass(frozen=True, slots=True)
class SyncPeppol:
    """Loads the export when it is due, and drops the identifiers that it lacks."""

    source: RegisterSource
    export: DownloadedFile
    load: LoadFile
    drop: DropVanished
    stores: Stores
    every: timedelta
    #: Maximum downloads in 24 hours.
    max_per_day: int

    async def __call__(self, tally: Tally) -> Cursor:
        """Runs one pass: loads the export, if it is due and newer.

        Raises RegisterUnavailable, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        now = self.stores.now()
        cursor = await self.stores.cursors.read(self.source.name)
        cursor = cursor or Cursor(Position(BEGINNING), until=BEGINNING)
        if not download_is_due(cursor, now, every=self.every, max_per_day=self.max_per_day):
            return cursor
        # Counted before it is made, since an interrupted download counts too.
        asked = replace(cursor, downloads=(*recent(cursor.downloads, now), now))
        cursor = await self.stores.cursors.move(self.source.name, asked)
        return await self._load(cursor, now, tally)

    async def _load(self, cursor: Cursor, requested_at: datetime, tally: Tally) -> Cursor:
        async with self.export.newest(known=cursor.etag) as file:
            if file is not None:
                seen = SeenIdentifiers()
                documents = seen.recorded(file.documents())
                await load_whole(self.load, self.source, file, documents, tally)
                await self.drop(seen, file.version, tally)
                cursor = replace(cursor, position=Position(file.version.at), etag=file.etag)
        read = replace(cursor, until=requested_at, reconciled_at=requested_at)
        return await self.stores.cursors.move(self.source.name, read)


def download_is_due(cursor: Cursor, now: datetime, *, every: timedelta, max_per_day: int) -> bool:
    """Returns True if the interval is over and the directory allows another download."""
    made = recent(cursor.downloads, now)
    if len(made) >= max_per_day:
        return False
    last = max(made, default=None)
    return is_due(cursor.reconciled_at, every, now) and is_due(last, every / _RETRY_PART, now)


def recent(downloads: Sequence[datetime], now: datetime) -> tuple[datetime, ...]:
    """Returns the downloads of the last 24 hours."""
    return tuple(made for made in downloads if now - made < _DAY)


def follow(
    source: RegisterSource, dependencies: SyncDependencies, telemetry: PassTelemetry
) -> SyncPeppol:
    """Returns the pass over the export."""
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
