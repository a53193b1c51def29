"""Following the Peppol Directory: its export, once a day and no more often than it allows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lookup.ingest.feeds import BEGINNING, Cursor, Position, download_is_due, recent
from lookup.ingest.load import LoadFile, NotWhole, WrongSource
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sources import Cursors, RegisterFault, WholeFile
from lookup.ingest.tally import Tally
from lookup.registers.peppol.vanished import DropVanished, Roll


@dataclass(frozen=True, slots=True)
class SyncPeppol:
    source: RegisterSource
    export: WholeFile
    load: LoadFile
    drop: DropVanished
    cursors: Cursors
    every: timedelta
    #: How often the directory lets a file be downloaded in 24 hours.
    most_a_day: int
    now: Callable[[], datetime]

    async def __call__(self, tally: Tally) -> Cursor:
        """One pass: the export, if it is due and there is a newer one.

        Raises RegisterAway, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        now = self.now()
        cursor = await self.cursors.read(self.source.name)
        cursor = cursor or Cursor(Position(BEGINNING), until=BEGINNING)
        if not download_is_due(cursor, now, every=self.every, most=self.most_a_day):
            return cursor
        # Counted before it is made: a download that is killed was a download all the same.
        asked = replace(cursor, downloads=(*recent(cursor.downloads, now), now))
        return await self._load(await self.cursors.move(self.source.name, asked), now, tally)

    async def _load(self, cursor: Cursor, asked_at: datetime, tally: Tally) -> Cursor:
        async with self.export.newest(known=cursor.etag) as file:
            if file is not None:
                try:
                    await self.load.check(self.source, file.documents)
                except (WrongSource, NotWhole) as unfit:
                    raise RegisterFault(f"the export is none: {unfit}") from None
                roll = Roll()
                documents = roll.called(file.documents())
                summary = await self.load(self.source, documents, file_version=file.version)
                tally.loaded(summary)
                if summary.broken is not None:
                    raise RegisterFault(f"the export is broken: {summary.broken}")
                await self.drop(roll, file.version, tally)
                cursor = replace(cursor, position=Position(file.version.at), etag=file.etag)
        read = replace(cursor, until=asked_at, reconciled_at=asked_at)
        return await self.cursors.move(self.source.name, read)
