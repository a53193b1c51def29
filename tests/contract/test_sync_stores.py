"""Cursors, leases and keys of a sync: one suite over the stores in memory and over MongoDB."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from common.contracts.company import Country
from common.mongo import Client, Database
from common.runtime.backoff import delays
from lookup.ingest.apply import ApplyRecords, Conflict, RegisterWriter, Stored, identity
from lookup.ingest.cursors import StoredCursors
from lookup.ingest.feeds import Cursor, Position
from lookup.ingest.leases import StoredLeases
from lookup.ingest.records import OwnersRecord
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sources import Cursors, Leases, StoredKeys
from lookup.ingest.stored_keys import MongoKeys
from lookup.ingest.writes import StoredRegisterWriter
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from lookup.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from lookup.registers.peppol.sources import PEPPOL
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
from tests.fakes.ingest import FakeCursors, FakeKeys, FakeLeases, FakeRegisterWriter
from tests.syncing.world import Clock

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SPAN = timedelta(hours=1)
#: A lease that is over when it is taken.
OVER = -SPAN
CURSOR = Cursor(
    Position(NOON, 7, ("a", "b")), NOON, reconciled_at=NOON, etag='"1"', downloads=(NOON,)
)
RECORDS: dict[RegisterSource, tuple[Stored, Stored]] = {
    DK_COMPANIES: (
        a_company_record(),
        a_company_record(a_company(vat="87654321"), version=TUESDAY),
    ),
    NO_ENTITIES: (
        a_company_record(a_company(country=Country.NO, vat="987654321"), owners=None),
        a_company_record(
            a_company(country=Country.NO, vat="123456785"), owners=None, version=TUESDAY
        ),
    ),
    NO_ROLES: (
        an_owners_record(an_owner()),
        an_owners_record(an_owner(), vat="123456785", version=TUESDAY),
    ),
    DK_UNITS: (
        a_unit_record(),
        a_unit_record(a_unit(number="1087654321"), version=TUESDAY),
    ),
    NO_UNITS: (
        a_unit_record(a_unit(number="987654329"), company="987654321", country=Country.NO),
        a_unit_record(
            a_unit(number="123456789"), company=None, country=Country.NO, version=TUESDAY
        ),
    ),
    PEPPOL: (
        a_participant_record(),
        a_participant_record("0088:5790000000012", version=TUESDAY),
    ),
}


@dataclass(frozen=True)
class Stores:
    writer: RegisterWriter
    keys: StoredKeys
    cursors: Cursors
    #: The leases as one process sees them.
    leases_of: Callable[[str], Leases]

    async def load(self, *records: Stored) -> None:
        apply = ApplyRecords(
            self.writer, lambda: NOON, lambda: delays(Random(1), first=0.01, max_delay=0.2)
        )
        for record in records:
            await apply([record], MONDAY, publish_events=False)

    async def keys_of(self, source: RegisterSource, *, until: datetime) -> set[str]:
        return {key async for batch in self.keys.of(source, until=until) for key in batch}


class Promises:
    """Behaviour that every implementation of the ports gives to a sync."""

    async def test_a_moved_cursor_is_read_back_with_its_next_revision(self, stores: Stores) -> None:
        first = await stores.cursors.move("a", CURSOR)
        second = await stores.cursors.move("a", replace(first, etag=None))

        assert first == replace(CURSOR, revision=1)
        assert second == replace(CURSOR, revision=2, etag=None)
        assert await stores.cursors.read("a") == second
        assert await stores.cursors.read("b") is None

    @pytest.mark.parametrize("revision", [0, 1, 3])
    async def test_a_cursor_that_another_process_has_moved_is_not_moved(
        self, stores: Stores, revision: int
    ) -> None:
        stored = await stores.cursors.move("a", await stores.cursors.move("a", CURSOR))

        with pytest.raises(Conflict):
            await stores.cursors.move("a", replace(CURSOR, revision=revision))

        assert await stores.cursors.read("a") == stored

    async def test_a_cursor_that_is_gone_is_not_moved(self, stores: Stores) -> None:
        with pytest.raises(Conflict):
            await stores.cursors.move("a", replace(CURSOR, revision=1))

    async def test_a_lease_is_its_holders_until_it_is_given_up(self, stores: Stores) -> None:
        one, other = stores.leases_of("one"), stores.leases_of("other")

        first = [await one.take("a", span=SPAN), await other.take("a", span=SPAN)]
        another_job = await other.take("b", span=SPAN)
        renewed = await one.take("a", span=SPAN)
        await other.give_up("a")
        still_held = not await other.take("a", span=SPAN)
        await one.give_up("a")

        assert first == [True, False]
        assert another_job
        assert renewed
        assert still_held
        assert await other.take("a", span=SPAN)

    async def test_a_lease_that_is_over_can_be_taken(self, stores: Stores) -> None:
        one, other = stores.leases_of("one"), stores.leases_of("other")
        await one.take("a", span=OVER)

        assert await other.take("a", span=SPAN)
        assert not await one.take("a", span=SPAN)

    @pytest.mark.parametrize("source", RECORDS, ids=lambda source: source.name)
    async def test_the_keys_of_a_source_are_those_of_its_records_that_are_not_newer(
        self, stores: Stores, source: RegisterSource
    ) -> None:
        await stores.load(*(record for records in RECORDS.values() for record in records))
        older, newer = (identity(record) for record in RECORDS[source])

        assert await stores.keys_of(source, until=MONDAY.at) == {older}
        assert await stores.keys_of(source, until=TUESDAY.at) == {older, newer}
        assert await stores.keys_of(source, until=MONDAY.at - SPAN) == set()

    async def test_a_company_without_owners_has_no_key_among_the_roles(
        self, stores: Stores
    ) -> None:
        record = an_owners_record(an_owner())
        await stores.load(record)
        await stores.load(OwnersRecord.of(record.key, (), version=TUESDAY))

        assert await stores.keys_of(NO_ROLES, until=TUESDAY.at) == set()


class TestFake(Promises):
    @pytest.fixture
    def stores(self) -> Stores:
        writer, clock = FakeRegisterWriter(), Clock()
        held: dict[str, tuple[str, datetime]] = {}
        return Stores(
            writer, FakeKeys(writer), FakeCursors(), lambda holder: FakeLeases(holder, clock, held)
        )


@pytest.mark.integration
class TestMongo(Promises):
    @pytest.fixture
    def stores(self, mongo: Client, register_db: Database) -> Stores:
        return Stores(
            StoredRegisterWriter(mongo, register_db),
            MongoKeys(register_db),
            StoredCursors(register_db),
            lambda holder: StoredLeases(register_db, holder=holder),
        )
