"""Synchronises the Norwegian register: a whole file, its feed, and files for comparison."""

from dataclasses import dataclass, replace
from datetime import timedelta

from lookup.ingest.downloads import DownloadedFile
from lookup.ingest.failures import RegisterFault
from lookup.ingest.feeds import Cursor, Position, is_due
from lookup.ingest.load import LoadFile
from lookup.ingest.records import FileBroken
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.stores import Stores
from lookup.ingest.tally import Tally
from lookup.registers.brreg.notices import Feed, after_page, split_notices
from lookup.registers.brreg.reconcile import Reconcile
from lookup.registers.brreg.refresh import RefreshEntities

#: A file may lack changes made while it was written, so the feed is read from before it.
BEFORE_FILE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SyncNorway:
    """Entities, units or roles."""

    source: RegisterSource
    feed: Feed
    whole: DownloadedFile
    refresh: RefreshEntities
    load: LoadFile
    reconcile: Reconcile
    stores: Stores
    reconcile_every: timedelta

    async def __call__(self, tally: Tally) -> Cursor:
        """One pass: the rest of the feed, and the comparison with the whole file when it is due.

        Raises RegisterUnavailable, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        cursor = await self.stores.cursors.read(self.source.name)
        if cursor is None:
            cursor = await self._begin(tally)
        cursor = await self._read_feed(cursor, tally)
        if is_due(cursor.reconciled_at, self.reconcile_every, self.stores.now()):
            cursor = await self._compare(cursor, tally)
        return cursor

    async def _begin(self, tally: Tally) -> Cursor:
        begun_at = self.stores.now()
        async with self.whole.newest() as file:
            if file is None:
                raise RegisterFault("the register reported an unchanged file before any was read")
            await self.load.check_whole(self.source, file)
            await self.load.whole(self.source, file, file.documents(), tally)
            start = file.version.at - BEFORE_FILE
            cursor = Cursor(Position(start), until=start, reconciled_at=begun_at, etag=file.etag)
        return await self.stores.cursors.move(self.source.name, cursor)

    async def _read_feed(self, cursor: Cursor, tally: Tally) -> Cursor:
        while True:
            requested_at = self.stores.now()
            page = await self.feed.page(cursor.position)
            tally.read += len(page.notices) + len(page.faults)
            for fault in page.faults:
                tally.refused(fault)
            tally.unreadable_tail = page.unreadable_tail
            removed, changed = split_notices(page.notices)
            for number in removed:
                await self.refresh.remove(number, tally)
            await self.refresh(changed, tally)
            cursor = await self.stores.cursors.move(
                self.source.name, after_page(cursor, page, requested_at)
            )
            if page.is_last:
                return cursor

    async def _compare(self, cursor: Cursor, tally: Tally) -> Cursor:
        begun_at = self.stores.now()
        async with self.whole.newest(known=cursor.etag) as file:
            if file is not None:
                await self.load.check_whole(self.source, file)
                try:
                    await self.reconcile(file, tally)
                except FileBroken as broken:
                    raise RegisterFault(f"the whole file is broken: {broken}") from None
                cursor = replace(cursor, etag=file.etag)
        return await self.stores.cursors.move(
            self.source.name, replace(cursor, reconciled_at=begun_at)
        )
