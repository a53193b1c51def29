"""Synchronises the Danish register: its documents in the order of their changes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from aiohttp import encode_basic_auth

from common.contracts.company import CompanyKey, UnitKey
from ingest.changes.ended import Ended, ended_record
from ingest.changes.states import Known
from ingest.following.dependencies import CompaniesFirst, SyncDependencies
from ingest.following.responses import RegisterFault
from ingest.following.telemetry import PassTelemetry
from ingest.loading.batches import Item, Tally
from ingest.loading.progress import BEGINNING, Cursor, Position
from ingest.loading.stores import Stores
from ingest.records.records import (
    CompanyRecord,
    RegisteredInError,
    Rejected,
    SourceVersion,
    UnitRecord,
)
from ingest.records.source import RegisterSource
from ingest.registers.cvr.scroll import CvrDocuments
from ingest.registers.cvr.settings import CvrSettings
from ingest.registers.cvr.sources import DK_COMPANIES

#: The records that documents can contain.
Documented = CompanyRecord | UnitRecord | RegisteredInError


@dataclass(frozen=True, slots=True)
class SyncDenmark:
    """Synchronises companies or production units."""

    source: RegisterSource
    documents: CvrDocuments
    stores: Stores
    #: Stores the companies of new records first.
    prepare: CompaniesFirst | None
    #: Time after its own time stamp at which a change may still appear.
    overlap: timedelta

    async def __call__(self, tally: Tally) -> Cursor:
        """Runs one pass: all changes since the cursor, and the overlap before it again.

        Raises RegisterUnavailable, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        cursor = await self.stores.cursors.read(self.source.name)
        if cursor is None:
            await self.stores.states.begin(self.source.name, at=self.stores.now())
            cursor = Cursor(Position(BEGINNING), until=BEGINNING)
        publish_events = await self.stores.states.is_loaded(self.source.name)
        version = SourceVersion(self.stores.now())
        store = partial(self._store, version=version, publish_events=publish_events)
        since = max(cursor.position.at - self.overlap, BEGINNING)
        # These move the cursor last: it may not pass documents that were loaded before it.
        times = [BEGINNING]
        async for items in self.documents.changed_without_load_time(since):
            times += await store(items, tally)
        async for items in self.documents.loaded_since(since):
            if loaded := await store(items, tally):
                cursor = await self._moved(cursor, loaded)
        cursor = replace(cursor, position=Position(max(*times, cursor.position.at)))
        return await self.stores.cursors.move(
            self.source.name, await self._ended_pass(cursor, version.at, tally)
        )

    async def _store(
        self, items: Sequence[Item], tally: Tally, *, version: SourceVersion, publish_events: bool
    ) -> list[datetime]:
        """Stores a page; returns the times of its documents, without those in the future."""
        found = list(_sound(items, tally))
        records = await self._records(found, version, tally)
        if records:
            if publish_events and self.prepare is not None:
                await self.prepare(records)
            verdicts = await self.stores.apply(records, version, publish_events=publish_events)
            tally.judged(records, verdicts)
        # The cursor must not pass changes before a document that is dated in the future.
        dated = [one.version.at for one in found if one.version is not None]
        times = [at for at in dated if at <= version.at]
        settles = times or len(dated) < len(found)
        tally.unreadable_tail = 0 if settles else tally.unreadable_tail + len(items)
        return times

    async def _moved(self, cursor: Cursor, times: Iterable[datetime]) -> Cursor:
        reached = max(*times, cursor.position.at)
        moved = replace(cursor, position=Position(reached), until=max(cursor.until, reached))
        return await self.stores.cursors.move(self.source.name, moved)

    async def _ended_pass(self, cursor: Cursor, requested_at: datetime, tally: Tally) -> Cursor:
        """Raises RegisterFault if the first load found no document."""
        if not await self.stores.states.is_loaded(self.source.name):
            if tally.read == tally.results["refused"]:
                raise RegisterFault("the register returned no readable document")
            counts = {"read": tally.read, **tally.results}
            await self.stores.states.finish(self.source.name, at=self.stores.now(), counts=counts)
        return cursor if tally.unreadable_tail else replace(cursor, until=requested_at)

    async def _records(
        self, found: Iterable[Documented], version: SourceVersion, tally: Tally
    ) -> list[CompanyRecord | UnitRecord]:
        """Returns the records of a page, one per document; withdrawn ones if stored, as ended."""
        # The later of two versions: a document that changes during the scroll appears twice.
        newest = {record.key: record for record in found}.values()
        records = [record for record in newest if not isinstance(record, RegisteredInError)]
        mistakes = [record for record in newest if isinstance(record, RegisteredInError)]
        if mistakes:
            known = await self.stores.writer.known(
                companies=[CompanyKey.parse(mistake.key) for mistake in mistakes],
                units=[UnitKey.parse(mistake.key) for mistake in mistakes],
            )
            for mistake in mistakes:
                ended = _ended_in_error(mistake.key, mistake.version or version, known)
                records += [] if ended is None else [ended]
                tally.results["elsewhere"] += ended is None
        return records


def _ended_in_error(
    key: CompanyKey | UnitKey, version: SourceVersion, known: Known
) -> CompanyRecord | UnitRecord | None:
    """Returns the stored record, ended because the register withdrew it; None if none is stored.

    It is not purged: the register may reinstate it, and its revisions then continue.
    """
    ended = Ended(version.at.date().isoformat(), word="FEJLREGISTRERET")
    record = ended_record(key, ended, known)
    return None if record is None else replace(record, version=version)


def _sound(items: Iterable[Item], tally: Tally) -> Iterator[Documented]:
    for item in items:
        tally.read += 1
        match item:
            case CompanyRecord() | UnitRecord() | RegisteredInError():
                yield item
            case Rejected(reason=reason):
                tally.refused(reason)
            case _:
                tally.results["elsewhere"] += 1


def follow(
    source: RegisterSource, dependencies: SyncDependencies, _telemetry: PassTelemetry
) -> SyncDenmark:
    """Returns the pass over companies or production units."""
    settings = dependencies.settings_of(CvrSettings)
    password = settings.cvr_password.get_secret_value()
    authorization = encode_basic_auth(settings.cvr_user, password)
    client = dependencies.client_of(settings.cvr_url, "cvr", Authorization=authorization)
    return SyncDenmark(
        source=source,
        documents=CvrDocuments(
            client,
            source,
            page_size=dependencies.settings.sync_page_size,
            today=dependencies.stores.today,
        ),
        stores=dependencies.stores,
        prepare=dependencies.companies_first(source, DK_COMPANIES, follow),
        overlap=settings.cvr_overlap,
    )
