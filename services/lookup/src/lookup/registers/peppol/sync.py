"""Synchronises the Peppol Directory from its export, at most as often as the directory allows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from lookup.following.dependencies import SyncDependencies
from lookup.following.downloads import DownloadedFile, check_whole, load_whole
from lookup.following.telemetry import PassTelemetry
from lookup.loading.batches import Tally
from lookup.loading.load import LoadFile
from lookup.loading.progress import BEGINNING, Cursor, Position, is_due
from lookup.loading.stores import Stores
from lookup.records.source import RegisterSource
from lookup.registers.peppol.settings import PeppolSettings
from lookup.registers.peppol.vanished import DropVanished, SeenIdentifiers

#: Relative to the directory's URL. The XML and CSV exports contain no more than JSON.
_EXPORT: Final = "export/businesscards-json"

_DAY: Final = timedelta(days=1)
#: Failed downloads are retried after this part of the interval.
_RETRY_PART: Final = 3


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
                await check_whole(self.load, self.source, file)
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
    """Runs one pass over the export."""
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
