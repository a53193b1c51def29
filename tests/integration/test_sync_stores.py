"""Cursors, leases and keys of a sync."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from common.contracts.company import Country
from common.contracts.lookup import RegisterSource as ShownSource
from common.contracts.lookup import SourcesRequest
from common.leases import StoredLeases
from common.mongo import Database, Reads
from ingest.changes.states import Conflict
from ingest.loading.stores import Cursor, Position, StoredCursors, StoredLoadStates
from ingest.records.records import OwnersRecord, Stored
from ingest.records.source import RegisterSource
from ingest.registers.brreg.sync import NO_ENTITIES, NO_ROLES, NO_UNITS
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from ingest.registers.peppol.sync import PEPPOL
from register_store.documents import BEGINNING
from register_store.reads import StoredSources
from tests.builders.companies import (
    MONDAY,
    TUESDAY,
    a_company_record,
    a_norwegian_record,
    a_participant_record,
    a_renamed_record,
    a_unit,
    a_unit_record,
    an_owner,
    an_owners_record,
)
from tests.builders.loading import NOON, Loader

pytestmark = pytest.mark.integration

SPAN = timedelta(hours=1)
CURSOR = Cursor(
    Position(NOON, 7, ("a", "b")), NOON, reconciled_at=NOON, etag='"1"', downloads=(NOON,)
)
NORWEGIAN: Any = {"country": Country.NO, "version": TUESDAY}
#: Of each source a record, and one that is newer.
RECORDS: dict[RegisterSource, tuple[Stored, Stored]] = {
    DK_COMPANIES: (a_company_record(), a_renamed_record(vat="87654321")),
    NO_ENTITIES: (a_norwegian_record(), a_norwegian_record(vat="123456785", version=TUESDAY)),
    NO_ROLES: (
        an_owners_record(an_owner()),
        an_owners_record(an_owner(), vat="123456785", version=TUESDAY),
    ),
    DK_UNITS: (a_unit_record(), a_unit_record(a_unit(number="1087654321"), version=TUESDAY)),
    NO_UNITS: (
        a_unit_record(a_unit(number="987654329"), company="987654321", country=Country.NO),
        a_unit_record(a_unit(number="123456789"), company=None, **NORWEGIAN),
    ),
    PEPPOL: (a_participant_record(), a_participant_record("0088:5790000000012", version=TUESDAY)),
}


@pytest.fixture
def cursors(register_db: Database) -> StoredCursors:
    return StoredCursors(register_db)


@pytest.fixture
def one(register_db: Database) -> StoredLeases:
    return StoredLeases(register_db, holder="one")


@pytest.fixture
def other(register_db: Database) -> StoredLeases:
    return StoredLeases(register_db, holder="other")


async def keys_of(store: Loader, source: RegisterSource, *, until: datetime) -> set[str]:
    return {key async for batch in store.stores.parts.keys(source, until=until) for key in batch}


async def test_a_moved_cursor_is_read_back_with_its_next_revision(cursors: StoredCursors) -> None:
    first = await cursors.move("a", CURSOR)
    second = await cursors.move("a", replace(first, etag=None))

    assert first == replace(CURSOR, revision=1)
    assert second == replace(CURSOR, revision=2, etag=None)
    assert await cursors.read("a") == second
    assert await cursors.read("b") is None


@pytest.mark.parametrize("revision", [0, 1, 3])
async def test_a_cursor_that_another_process_has_moved_is_not_moved(
    cursors: StoredCursors, revision: int
) -> None:
    stored = await cursors.move("a", await cursors.move("a", CURSOR))

    with pytest.raises(Conflict):
        await cursors.move("a", replace(CURSOR, revision=revision))

    assert await cursors.read("a") == stored


async def test_a_cursor_that_is_gone_is_not_moved(cursors: StoredCursors) -> None:
    with pytest.raises(Conflict):
        await cursors.move("a", replace(CURSOR, revision=1))


async def test_a_lease_is_its_holders_until_it_is_given_up(
    one: StoredLeases, other: StoredLeases
) -> None:
    first = [await one.take("a", span=SPAN), await other.take("a", span=SPAN)]
    another_job = await other.take("b", span=SPAN)
    renewed = await one.take("a", span=SPAN)
    await other.give_up("a")
    taken_over = await other.take("a", span=SPAN)
    await one.give_up("a")

    assert (first, another_job, renewed, taken_over) == ([True, False], True, True, False)
    assert await other.take("a", span=SPAN)


async def test_a_lease_that_is_over_can_be_taken(one: StoredLeases, other: StoredLeases) -> None:
    await one.take("a", span=-SPAN)

    assert await other.take("a", span=SPAN)
    assert not await one.take("a", span=SPAN)


@pytest.mark.parametrize("source", RECORDS, ids=lambda source: source.name)
async def test_the_keys_of_a_source_are_those_of_its_records_that_are_not_newer(
    store: Loader, source: RegisterSource
) -> None:
    for records in RECORDS.values():
        for record in records:
            await store.load(record)
    older, newer = (record.key for record in RECORDS[source])

    assert await keys_of(store, source, until=MONDAY.at) == {older}
    assert await keys_of(store, source, until=TUESDAY.at) == {older, newer}
    assert await keys_of(store, source, until=MONDAY.at - SPAN) == set()


async def test_a_company_without_owners_has_no_key_among_the_roles(store: Loader) -> None:
    record = an_owners_record(an_owner())
    await store.load(record)
    await store.load(OwnersRecord(record.key, b"[]", b"[]", TUESDAY))

    assert await keys_of(store, NO_ROLES, until=TUESDAY.at) == set()


async def test_a_source_is_as_fresh_as_its_cursor_and_its_last_whole_load(
    cursors: StoredCursors, register_db: Database
) -> None:
    loads = StoredLoadStates(register_db)
    later = NOON + SPAN
    await cursors.move("dk-virksomhed", replace(CURSOR, revision=0))
    # A first load that goes on has a cursor at the beginning of time.
    await cursors.move("peppol", Cursor(Position(BEGINNING), until=BEGINNING))
    for source in ("dk-virksomhed", "no-roller", "peppol"):
        await loads.begin(source, at=NOON)
    await loads.finish("dk-virksomhed", at=NOON, counts={"read": 1})
    await loads.begin("dk-virksomhed", at=later)
    await loads.finish("no-roller", at=later, counts={"read": 1})

    [reply, same] = await StoredSources(Reads(register_db))([SourcesRequest(), SourcesRequest()])

    assert reply.sources == (
        ShownSource(source="dk-virksomhed", current_until=NOON, loaded_at=NOON),
        ShownSource(source="no-roller", current_until=None, loaded_at=later),
        ShownSource(source="peppol", current_until=None, loaded_at=None),
    )
    assert same == reply
