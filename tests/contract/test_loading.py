"""Loading of register files: one suite over the ports in memory and over MongoDB."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import pytest

from common.contracts.company import CompanyKey, Country
from common.mongo import Client, Database
from common.runtime.backoff import delays
from lookup.ingest.apply import TRIES, ApplyRecords, Conflict, RegisterWriter, Stored
from lookup.ingest.batches import Piece, Summary
from lookup.ingest.load import LoadFile, NotWhole, WrongSource
from lookup.ingest.load_states import FileOrigin, LoadStates, StoredLoadStates
from lookup.ingest.planning.companies import plan_companies
from lookup.ingest.planning.states import ApplyContext
from lookup.ingest.read import ReadDocuments, StoredDigests
from lookup.ingest.records import FileBroken, Rejected
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.stored_digests import MongoDigests
from lookup.ingest.writes import StoredRegisterWriter
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES
from lookup.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from lookup.registers.peppol.sources import PEPPOL
from lookup.store.documents import OUTBOX
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company,
    a_company_record,
    a_participant_record,
    a_unit,
    a_unit_record,
    an_owner,
    an_owners_record,
)
from tests.fakes.ingest import (
    FakeDigests,
    FakeLoadStates,
    FakeRegisterWriter,
    UnpacksRecords,
    a_document,
)

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
KEY = CompanyKey.parse("dk:12345674")
OTHER = CompanyKey.parse("dk:87654321")
RENAMED = a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY)
BROKEN = "the file ends at byte 900, in the middle of record 3"


@dataclass
class Store:
    writer: RegisterWriter
    digests: StoredDigests
    states: LoadStates
    #: None for the stores in memory.
    database: Database | None = None
    refused: list[Rejected] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    reader: UnpacksRecords = field(default_factory=UnpacksRecords)

    @property
    def load_file(self) -> LoadFile:
        first = 0.0 if self.database is None else 0.01
        return LoadFile(
            ReadDocuments(self.digests, self.reader),
            ApplyRecords(
                self.writer, lambda: NOON, lambda: delays(Random(1), first=first, max_delay=0.2)
            ),
            self.states,
            lambda: NOON,
            FileOrigin.IMPORTED,
            self.refused.append,
            self.stale.append,
        )

    async def load(
        self, *records: Stored, kind: RegisterSource = DK_COMPANIES, force: bool = False
    ) -> Summary:
        pieces = (a_document(record) for record in records)
        return await self.load_file(kind, pieces, file_version=MONDAY, force=force)

    async def load_pieces(
        self, *pieces: Piece, kind: RegisterSource = DK_COMPANIES
    ) -> dict[str, int]:
        summary = await self.load_file(kind, iter(pieces), file_version=MONDAY)
        return summary.counts()

    async def revision(self, key: CompanyKey = KEY) -> int | None:
        found = (await self.writer.known(companies=[key])).companies.get(key)
        return None if found is None else found.revision

    async def events(self) -> list[tuple[str, int]]:
        """Type and revision of each event in the outbox, sorted."""
        if self.database is None:
            assert isinstance(self.writer, FakeRegisterWriter)
            return sorted((event.type.value, event.revision) for event in self.writer.outbox)
        stored = await self.database[OUTBOX].find().to_list(None)
        return sorted((event["type"], event["revision"]) for event in stored)


def truncated() -> Iterator[Piece]:
    yield a_document(a_company_record())
    yield Rejected(2, "byte 700", "organisasjonsnummer is missing")
    raise FileBroken(BROKEN)


class Promises:
    """Behaviour that every implementation of the ports gives to a load."""

    async def test_loading_the_same_file_again_changes_nothing(self, store: Store) -> None:
        records = (a_company_record(), a_company_record(a_company(vat=OTHER.number)))
        first = await store.load(*records)

        again = await store.load(*records)

        assert (first.counts()["new"], again.counts()["unchanged"]) == (2, 2)
        assert (await store.revision(), await store.revision(OTHER)) == (1, 1)

    async def test_an_unchanged_document_is_not_parsed_again(self, store: Store) -> None:
        document = a_document(a_company_record(), digest=b"a document")
        await store.load_pieces(document)

        counts = await store.load_pieces(document)

        assert (counts["unchanged"], store.reader.read) == (1, 1)

    async def test_a_document_is_parsed_again_after_its_record_changed(self, store: Store) -> None:
        document = a_document(a_company_record(), digest=b"a document")
        await store.load_pieces(document)
        await store.load(RENAMED)

        assert (await store.load_pieces(document))["stale"] == 1
        assert store.stale == [KEY]

    async def test_a_document_is_parsed_again_after_its_record_was_removed(
        self, store: Store
    ) -> None:
        document = a_document(a_company_record(), digest=b"a document")
        await store.load_pieces(document)
        await store.writer.remove(KEY, at=NOON, publish_events=False)

        assert (await store.load_pieces(document))["removed"] == 1

    @pytest.mark.parametrize(
        "record, kind",
        [
            (a_company_record(), DK_COMPANIES),
            (an_owners_record(an_owner(), vat="12345674"), NO_ROLES),
            (a_unit_record(), DK_UNITS),
            (a_participant_record(), PEPPOL),
        ],
        ids=["company", "owners", "unit", "participant"],
    )
    async def test_a_changed_document_with_an_unchanged_record_is_parsed_once(
        self, store: Store, record: Stored, kind: RegisterSource
    ) -> None:
        norwegian = a_company(country=Country.NO, vat="12345674")
        await store.load(a_company_record(norwegian, owners=None), kind=NO_ENTITIES)
        await store.load(record, kind=kind)
        revision = await store.revision()
        reads = store.reader.read

        for _ in range(3):
            document = a_document(record, digest=b"another document")
            assert (await store.load_pieces(document, kind=kind))["unchanged"] == 1

        assert store.reader.read == reads + 1
        assert await store.revision() == revision
        assert await store.events() == []

    async def test_a_repeated_record_of_a_file_is_compared_with_its_first_version(
        self, store: Store
    ) -> None:
        counts = (await store.load(a_company_record(), RENAMED, a_company_record())).counts()

        assert (counts["new"], counts["changed"], counts["stale"]) == (1, 1, 1)
        assert await store.revision() == 2

    async def test_concurrent_loads_lose_no_change(self, store: Store) -> None:
        await store.load(a_company_record())
        units = [a_unit_record(a_unit(number=str(number))) for number in range(10**9, 10**9 + 20)]

        await asyncio.gather(*(store.load(unit, kind=DK_UNITS) for unit in units))

        known = await store.writer.known(units=[unit.key for unit in units])
        assert len(known.units) == 20
        assert await store.revision() == 21

    async def test_a_plan_on_an_outdated_state_writes_nothing(self, store: Store) -> None:
        await store.load(a_company_record())
        known = await store.writer.known(companies=[KEY])
        await store.load(RENAMED)
        new = a_company_record(a_company(vat=OTHER.number))

        outdated = plan_companies([new, RENAMED], known, ApplyContext(TUESDAY, NOON))
        with pytest.raises(Conflict):
            await store.writer.write(outdated)

        assert await store.revision(OTHER) is None

    async def test_a_truncated_file_is_loaded_in_part_and_its_source_stays_loading(
        self, store: Store
    ) -> None:
        summary = await store.load_file(DK_COMPANIES, truncated(), file_version=MONDAY)

        assert summary.broken == BROKEN
        assert (summary.counts()["new"], summary.counts()["refused"]) == (1, 1)
        assert [refused.number for refused in store.refused] == [2]
        assert not await store.states.is_loaded(DK_COMPANIES.name)

    async def test_a_complete_file_makes_its_source_loaded(self, store: Store) -> None:
        await store.load(a_company_record())

        assert await store.states.is_loaded(DK_COMPANIES.name)
        assert not await store.states.is_loaded(DK_UNITS.name)

    async def test_the_first_load_publishes_nothing_and_later_ones_their_changes(
        self, store: Store
    ) -> None:
        await store.load(a_company_record())
        first = await store.events()

        await store.load(RENAMED, a_company_record(a_company(vat=OTHER.number)))

        assert first == []
        assert await store.events() == [("company.created", 1), ("company.updated", 2)]

    async def test_the_next_file_does_not_restore_a_removed_company(self, store: Store) -> None:
        await store.load(a_company_record())
        await store.writer.remove(KEY, at=NOON, publish_events=False)

        companies = await store.load(a_company_record(version=TUESDAY))
        units = await store.load(a_unit_record(), kind=DK_UNITS)

        assert companies.counts()["removed"] == units.counts()["removed"] == 1
        assert await store.revision() is None

    async def test_removing_an_unknown_company_leaves_a_tombstone(self, store: Store) -> None:
        was_known = await store.writer.remove(KEY, at=NOON, publish_events=False)

        assert not was_known
        assert (await store.load(a_company_record())).counts()["removed"] == 1

    async def test_a_repeated_removal_keeps_the_event_of_the_first(self, store: Store) -> None:
        await store.load(a_company_record())

        removed = [await store.writer.remove(KEY, at=NOON, publish_events=True) for _ in range(2)]

        assert removed == [True, False]
        assert await store.events() == [("company.removed", 2)]

    async def test_a_file_with_less_than_half_of_the_records_is_refused(self, store: Store) -> None:
        numbers = (10_000_000 + number for number in range(5))
        records = [a_company_record(a_company(vat=str(number))) for number in numbers]
        await store.load(*records)

        def file(count: int) -> Iterator[Piece]:
            return (a_document(record) for record in records[:count])

        await store.load_file.check(DK_COMPANIES, lambda: file(3))
        await store.load_file.check(DK_COMPANIES, lambda: file(1), force=True)
        with pytest.raises(NotWhole, match="2 records; the last whole file had 5"):
            await store.load_file.check(DK_COMPANIES, lambda: file(2))

    async def test_later_files_are_not_compared_with_a_forced_one(self, store: Store) -> None:
        await store.load(a_company_record(), a_company_record(a_company(vat=OTHER.number)))
        await store.load(a_company_record(), force=True)

        assert await store.states.records(DK_COMPANIES.name, FileOrigin.IMPORTED) == 2


class TestFake(Promises):
    @pytest.fixture
    def store(self) -> Store:
        writer = FakeRegisterWriter()
        return Store(writer, FakeDigests(writer), FakeLoadStates())

    async def test_a_plan_is_made_again_after_each_conflict(self, store: Store) -> None:
        assert isinstance(store.writer, FakeRegisterWriter)
        store.writer.conflicts = TRIES - 1

        assert (await store.load(a_company_record())).counts()["new"] == 1

    async def test_a_load_ends_after_the_last_conflict(self, store: Store) -> None:
        assert isinstance(store.writer, FakeRegisterWriter)
        store.writer.conflicts = TRIES

        with pytest.raises(Conflict, match=f"{TRIES} times in a row"):
            await store.load(a_company_record())
        assert not await store.states.is_loaded(DK_COMPANIES.name)

    async def test_a_file_without_a_valid_record_is_of_another_source(self, store: Store) -> None:
        def broken() -> Iterator[Piece]:
            yield from ()
            raise FileBroken("the file is empty")

        rejected = Rejected(1, "byte 0", "organisasjonsnummer: missing")
        with pytest.raises(WrongSource, match="none of its first 1 records is valid"):
            await store.load_file.check(DK_COMPANIES, lambda: iter([rejected]))
        with pytest.raises(WrongSource, match="the file is empty"):
            await store.load_file.check(DK_COMPANIES, broken)

    async def test_a_truncated_file_passes_the_check(self, store: Store) -> None:
        await store.load_file.check(DK_COMPANIES, truncated)


@pytest.mark.integration
class TestMongo(Promises):
    @pytest.fixture
    def store(self, mongo: Client, register_db: Database) -> Store:
        return Store(
            StoredRegisterWriter(mongo, register_db),
            MongoDigests(register_db),
            StoredLoadStates(register_db),
            register_db,
        )
