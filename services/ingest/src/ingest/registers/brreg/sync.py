"""The Norwegian register: its settings, its sources, and a pass over one."""

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from pydantic import AnyHttpUrl, Field

from common.contracts.company import CompanyKey, Country, UnitKey
from common.domain.countries import FORMATS
from common.domain.numbers import registration_number_checks
from common.runtime.settings import Duration, duration
from ingest.following.dependencies import DownloadedFile, SyncDependencies, check_whole, load_whole
from ingest.following.passes import PassTelemetry
from ingest.following.register_client import RegisterClient, RegisterFault
from ingest.loading.load import LoadFile, Tally
from ingest.loading.stores import Cursor, Position, Stores, is_due
from ingest.records.files import RawRecord
from ingest.records.records import FileBroken, Raw, RecordRejected, Rejected
from ingest.records.source import Part, RawRecords, RegisterSource
from ingest.registers.brreg.api import (
    FILES,
    BrregEntities,
    Feed,
    RoleFeed,
    UpdateFeed,
    after_page,
    split_notices,
)
from ingest.registers.brreg.documents import DIALECT, from_row, unit_record
from ingest.registers.brreg.entities import company_record
from ingest.registers.brreg.ledger import ENTITIES, ROLES, UNITS
from ingest.registers.brreg.refresh import Reconcile, RefreshEntities
from ingest.registers.brreg.roles import owners_record
from ingest.settings import HttpsRegisterUrl, RegisterSettings


class BrregSettings(RegisterSettings):
    """The settings of the Norwegian register."""

    brreg_url: HttpsRegisterUrl = Field(
        default=AnyHttpUrl("https://data.brreg.no/enhetsregisteret/api"),
        description="the Norwegian register",
    )
    brreg_reconcile_interval: Duration = duration(
        "P7D", "interval of the comparison with Norway's whole files"
    )


_NUMBER: Final = "organisasjonsnummer"
#: The fields that identify the entity of a roles document.
_TELLING: Final = {_NUMBER, "_links"}
#: The position of a record that is not in a list.
_WHOLE_FILE: Final = "byte 0"
_NUMBERS: Final = re.compile(rf"(?<!\d)\d{{{FORMATS[Country.NO].vat_digits}}}(?!\d)")


def key_of_document(raw: Raw) -> str | None:
    """Returns the key of the entity that a document names."""
    number = raw.get(_NUMBER)
    return f"{Country.NO}:{number}" if isinstance(number, str | int) else None


def _rows_as_documents(found: RawRecords, _file_name: str) -> RawRecords:
    for one in found:
        if isinstance(one, Rejected) or one.text is not None:
            yield one
            continue
        try:
            yield replace(one, raw=from_row(one.raw))
        except RecordRejected as refusal:
            yield Rejected(one.number, one.place, str(refusal))


def _with_number_of_file(found: RawRecords, file_name: str) -> RawRecords:
    """Adds a missing number to a roles document of one entity, from the file's name."""
    numbers = [n for n in _NUMBERS.findall(file_name) if registration_number_checks(n, Country.NO)]
    for one in found:
        if (
            len(numbers) == 1
            and isinstance(one, RawRecord)
            and one.place == _WHOLE_FILE
            and _TELLING.isdisjoint(one.raw)
        ):
            yield replace(one, raw={_NUMBER: numbers[0], **one.raw}, text=None)
        else:
            yield one


NO_ENTITIES: Final = RegisterSource(
    name="no-enheter",
    part=Part.COMPANY,
    country=Country.NO,
    parse=company_record,
    key=key_of_document,
    dialect=DIALECT,
    documents=_rows_as_documents,
    ledger=ENTITIES,
)
NO_UNITS: Final = replace(
    NO_ENTITIES,
    name="no-underenheter",
    part=Part.UNIT,
    parse=unit_record,
    ledger=UNITS,
)
NO_ROLES: Final = replace(
    NO_ENTITIES,
    name="no-roller",
    part=Part.OWNERS,
    parse=owners_record,
    ledger=ROLES,
    dialect=None,
    documents=_with_number_of_file,
)

SOURCES: Final = (NO_ENTITIES, NO_UNITS, NO_ROLES)


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
    size = dependencies.settings.sync_page_size
    return SyncNorway(
        source=source,
        feed=RoleFeed(client, page_size=size, now=dependencies.stores.now)
        if source.part is Part.OWNERS
        else UpdateFeed(client, source.part, page_size=size),
        whole=dependencies.file(client, source, FILES[source.part]),
        refresh=refresh,
        load=dependencies.load(telemetry),
        reconcile=Reconcile(source, refresh, dependencies.read, dependencies.stores),
        stores=dependencies.stores,
        reconcile_every=settings.brreg_reconcile_interval,
    )


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
