"""Synchronises the Norwegian register: a whole file, its feed, and files for comparison."""

from dataclasses import dataclass, replace
from datetime import timedelta

from common.contracts.company import CompanyKey, Country, UnitKey
from ingest.following.dependencies import SyncDependencies
from ingest.following.downloads import DownloadedFile, check_whole, load_whole
from ingest.following.register_client import RegisterClient
from ingest.following.responses import RegisterFault
from ingest.following.telemetry import PassTelemetry
from ingest.loading.batches import Tally
from ingest.loading.load import LoadFile
from ingest.loading.progress import Cursor, Position, is_due
from ingest.loading.stores import Stores
from ingest.records.digests import Part
from ingest.records.records import FileBroken
from ingest.records.source import RegisterSource
from ingest.registers.brreg.api import FILES, BrregEntities
from ingest.registers.brreg.change_feeds import (
    Feed,
    RoleFeed,
    UpdateFeed,
    after_page,
    split_notices,
)
from ingest.registers.brreg.reconcile import Reconcile
from ingest.registers.brreg.refresh import RefreshEntities
from ingest.registers.brreg.settings import BrregSettings
from ingest.registers.brreg.sources import NO_ENTITIES

#: A file may lack changes made while it was written, so the feed is read from before it.
BEFORE_FILE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SyncNorway:
    """Synchronises entities, units or roles."""

    source: RegisterSource
    feed: Feed
    whole: DownloadedFile
    refresh: RefreshEntities
    load: LoadFile
    reconcile: Reconcile
    stores: Stores
    reconcile_every: timedelta

    async def __call__(self, tally: Tally) -> Cursor:
        """Runs one pass: the rest of the feed, and the comparison with the whole file when due.

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
            await check_whole(self.load, self.source, file)
            await load_whole(self.load, self.source, file, file.documents(), tally)
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
                await check_whole(self.load, self.source, file)
                try:
                    await self.reconcile(file, tally)
                except FileBroken as broken:
                    raise RegisterFault(f"the whole file is broken: {broken}") from None
                cursor = replace(cursor, etag=file.etag)
        return await self.stores.cursors.move(
            self.source.name, replace(cursor, reconciled_at=begun_at)
        )


def follow(
    source: RegisterSource, dependencies: SyncDependencies, telemetry: PassTelemetry
) -> SyncNorway:
    """Returns the pass over entities, units or roles."""
    settings = dependencies.settings_of(BrregSettings)
    client = dependencies.client_of(settings.brreg_url, "brreg")
    refresh = _refresh(source, client, dependencies)
    return SyncNorway(
        source=source,
        feed=_feed(source, client, dependencies),
        whole=dependencies.file(client, source, FILES[source.part]),
        refresh=refresh,
        load=dependencies.load(telemetry),
        reconcile=Reconcile(source, refresh, dependencies.read, dependencies.stores),
        stores=dependencies.stores,
        reconcile_every=settings.brreg_reconcile_interval,
    )


def _feed(source: RegisterSource, client: RegisterClient, dependencies: SyncDependencies) -> Feed:
    size = dependencies.settings.sync_page_size
    if source.part is Part.OWNERS:
        return RoleFeed(client, page_size=size, now=dependencies.stores.now)
    return UpdateFeed(client, source.part, page_size=size)


def _refresh(
    source: RegisterSource, client: RegisterClient, dependencies: SyncDependencies
) -> RefreshEntities:
    stores = dependencies.stores

    async def purge(number: str) -> bool:
        if source.part is Part.UNIT:
            return await stores.remove_unit(source.name, UnitKey(Country.NO, number))
        return await stores.remove_company(NO_ENTITIES.name, CompanyKey(Country.NO, number))

    return RefreshEntities(
        source=source,
        entities=BrregEntities(client, source, stores.today),
        stores=stores,
        prepare=dependencies.companies_first(source, NO_ENTITIES, follow),
        purge=purge,
    )
