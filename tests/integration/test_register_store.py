"""The registers in a real MongoDB: what loading writes is what lookups read."""

import asyncio
import pickle
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import itemgetter
from random import Random
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Include, Status, UnitKey
from common.contracts.failures import Unavailable
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.mongo import Database, connected
from common.mongo import database as named_database
from common.runtime.backoff import delays
from lookup.ingest.apply import ApplyRecords, Conflict, Stored, identity
from lookup.ingest.load import FileOrigin, LoadFile, Piece, Summary
from lookup.ingest.load_states import StoredLoadStates
from lookup.ingest.planning.companies import plan_companies
from lookup.ingest.planning.states import ApplyContext
from lookup.ingest.read import ReadDocuments
from lookup.ingest.records import FileBroken, RawDocument, Record, Rejected
from lookup.ingest.register_source import Parser, RegisterSource
from lookup.ingest.stored_digests import MongoDigests
from lookup.ingest.writes import StoredRegisterWriter
from lookup.query.lookups import AnswerLookups
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES
from lookup.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from lookup.registers.peppol.sources import PEPPOL
from lookup.store.indexes import make_indexes
from lookup.store.reads import StoredRegister
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
from tests.conftest import DatabaseNames
from tests.fakes.lookup import FakeSearches

pytestmark = pytest.mark.integration

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
KEY = CompanyKey("dk:12345674")


EINVOICING_OF_THE_COMPANY = LookupRequest(
    country=Country.DK,
    questions=(Question(type=SearchType.VAT, term="12345674"),),
    include=(Include.EINVOICING,),
)


def a_document(record: Stored, digest: bytes | None = None) -> RawDocument:
    """A document that says this; what it is known by is its digest, if it is given one."""
    text = pickle.dumps(replace(record, digest=digest))
    return RawDocument(1, "byte 0", text, identity(record), digest)


@dataclass
class UnpacksRecords:
    """A `Reader` of such documents."""

    read: int = 0

    async def __call__(
        self, _: Parser, documents: Sequence[RawDocument]
    ) -> Sequence[Record | Rejected]:
        self.read += len(documents)
        return [pickle.loads(document.text) for document in documents]  # noqa: S301 (our own)


@dataclass
class Store:
    database: Database
    register: StoredRegister
    writer: StoredRegisterWriter
    states: StoredLoadStates
    refused: list[Rejected]
    reader: UnpacksRecords

    async def load(self, *records: Stored, kind: RegisterSource = DK_COMPANIES) -> Summary:
        return await self.load_pieces((a_document(record) for record in records), kind)

    async def load_pieces(
        self, pieces: Iterator[Piece], kind: RegisterSource = DK_COMPANIES
    ) -> Summary:
        apply = ApplyRecords(
            self.writer, lambda: NOON, lambda: delays(Random(1), first=0.01, most=0.2)
        )
        read = ReadDocuments(MongoDigests(self.database), self.reader)
        load = LoadFile(
            read, apply, self.states, lambda: NOON, FileOrigin.IMPORTED, self.refused.append
        )
        return await load(kind, pieces, file_version=MONDAY)


@pytest.fixture
async def store(mongo_url: str, database_names: DatabaseNames) -> AsyncIterator[Store]:
    async with connected(mongo_url, name="test", operation_limit=None) as client:
        database = named_database(client, database_names.register)
        await make_indexes(database)
        yield Store(
            database,
            StoredRegister(database),
            StoredRegisterWriter(client, database),
            StoredLoadStates(database),
            [],
            UnpacksRecords(),
        )


async def test_a_loaded_company_is_read_by_its_key(store: Store) -> None:
    summary = await store.load(a_company_record(owners=(an_owner(),)))

    row = (await store.register.companies([KEY]))[KEY]

    assert summary.counts()["new"] == 1
    assert row.revision == 1
    assert b"Pr\xc3\xb8vefabrikken" in row.core
    assert b"Anna Testesen" in row.owners
    assert row.updated_at == MONDAY.at


async def test_loading_the_same_again_changes_nothing(store: Store) -> None:
    records = (a_company_record(), a_company_record(a_company(vat="87654321")))
    await store.load(*records)
    before = await store.database["companies"].find().to_list(None)

    summary = await store.load(*records)

    assert summary.counts()["unchanged"] == 2
    assert await store.database["companies"].find().to_list(None) == before


async def test_a_document_that_was_loaded_is_not_read_again(store: Store) -> None:
    records = (a_company_record(), a_company_record(a_company(vat="87654321")))
    pieces = [a_document(record, digest=b"a document") for record in records]
    await store.load_pieces(iter(pieces))
    before = await store.database["companies"].find().to_list(None)

    summary = await store.load_pieces(iter(pieces))

    assert summary.counts()["unchanged"] == 2
    assert store.reader.read == 2
    assert await store.database["companies"].find().to_list(None) == before


async def test_a_document_is_read_again_after_somebody_else_changed_what_it_gave(
    store: Store,
) -> None:
    document = a_document(a_company_record(), digest=b"a document")
    await store.load_pieces(iter([document]))
    await store.load(a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY))

    summary = await store.load_pieces(iter([document]))

    assert summary.counts()["stale"] == 1


async def test_a_document_is_read_again_after_what_it_gave_was_removed(store: Store) -> None:
    document = a_document(a_company_record(), digest=b"a document")
    await store.load_pieces(iter([document]))
    await store.writer.remove(KEY, at=NOON, publish_events=False)

    summary = await store.load_pieces(iter([document]))

    assert summary.counts()["removed"] == 1


@pytest.mark.parametrize(
    "record, kind",
    [
        (a_company_record(), DK_COMPANIES),
        (an_owners_record(an_owner(), vat="12345674"), NO_ROLES),
        (a_unit_record(), DK_UNITS),
        (a_participant_record(), PEPPOL),
    ],
)
async def test_a_document_that_says_what_is_stored_is_read_once(
    store: Store, record: Stored, kind: RegisterSource
) -> None:
    norwegian = a_company(country=Country.NO, vat="12345674")
    await store.load(a_company_record(norwegian, owners=None), kind=NO_ENTITIES)
    await store.load(record, kind=kind)
    revisions = await store.database["companies"].find({}, {"revision": 1}).to_list(None)
    reads = store.reader.read

    for _ in range(3):
        pieces = iter([a_document(record, digest=b"another document")])
        assert (await store.load_pieces(pieces, kind)).counts()["unchanged"] == 1

    assert store.reader.read == reads + 1
    assert await store.database["companies"].find({}, {"revision": 1}).to_list(None) == revisions
    assert await store.database["outbox"].count_documents({}) == 0


async def test_a_record_that_comes_twice_in_a_file_meets_its_first_self(store: Store) -> None:
    renamed = a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY)

    summary = await store.load(a_company_record(), renamed, a_company_record())

    counts = summary.counts()
    assert (counts["new"], counts["changed"], counts["stale"]) == (1, 1, 1)
    assert (await store.register.companies([KEY]))[KEY].revision == 2


async def test_loads_that_meet_each_other_lose_no_change(store: Store) -> None:
    await store.load(a_company_record())
    units = [a_unit_record(a_unit(number=str(number))) for number in range(10**9, 10**9 + 20)]

    await asyncio.gather(
        *(store.load(unit, kind=DK_UNITS) for unit in units),
    )

    row = (await store.register.companies([KEY]))[KEY]
    assert len((await store.register.units_of([KEY]))[KEY]) == 20
    assert row.revision == 21


async def test_a_plan_made_from_an_older_state_is_refused_whole(store: Store) -> None:
    renamed = a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY)
    other = a_company_record(a_company(vat="87654321"))
    await store.load(a_company_record())
    known = await store.writer.known(companies=[KEY])
    await store.load(renamed)

    outdated = plan_companies([other, renamed], known, ApplyContext(TUESDAY, NOON))
    with pytest.raises(Conflict):
        await store.writer.write(outdated)

    assert set(await store.register.companies([KEY, CompanyKey("dk:87654321")])) == {KEY}


async def test_a_broken_file_loads_what_is_whole_and_stays_loading(store: Store) -> None:
    def pieces() -> Iterator[Piece]:
        yield a_document(a_company_record())
        yield Rejected(2, "byte 700", "organisasjonsnummer is missing")
        raise FileBroken("the file ends at byte 900, in the middle of record 3")

    summary = await store.load_pieces(pieces())

    assert summary.broken == "the file ends at byte 900, in the middle of record 3"
    assert (summary.counts()["new"], summary.counts()["refused"]) == (1, 1)
    assert [refused.number for refused in store.refused] == [2]
    assert not await store.states.is_loaded(DK_COMPANIES.name)


async def test_a_file_read_to_its_end_makes_its_kind_loaded(store: Store) -> None:
    await store.load(a_company_record())

    assert await store.states.is_loaded(DK_COMPANIES.name)
    assert not await store.states.is_loaded(DK_UNITS.name)


async def test_a_phone_number_finds_the_best_of_those_who_share_it(store: Store) -> None:
    ended = a_company(vat="10000009", status=Status.ENDED)
    active = a_company(vat="10000017")
    await store.load(
        a_company_record(ended, phones=("33112233",)),
        a_company_record(active, phones=("33112233",)),
    )

    found = await store.register.companies_of_phones(Country.DK, ["33112233", "44556677"])

    assert found == {"33112233": ["dk:10000017"], "44556677": []}


async def test_companies_with_a_phone_number_come_before_those_that_have_it_by_a_unit(
    store: Store,
) -> None:
    ended = a_company(vat="10000009", status=Status.ENDED)
    active = a_company(vat="10000017")
    await store.load(
        a_company_record(),
        a_company_record(ended, phones=("33112233",)),
        a_company_record(active, phones=("33112233",)),
    )
    await store.load(a_unit_record(phones=("33112233",)), kind=DK_UNITS)

    three = await store.register.companies_of_phones(Country.DK, ["33112233"], 3)
    two = await store.register.companies_of_phones(Country.DK, ["33112233"], 2)

    assert three == {"33112233": ["dk:10000017", "dk:10000009", KEY]}
    assert two == {"33112233": ["dk:10000017", "dk:10000009"]}


async def test_a_units_phone_number_finds_its_company_when_no_company_has_it(store: Store) -> None:
    await store.load(a_company_record())
    await store.load(a_unit_record(phones=("33112233",)), kind=DK_UNITS)

    found = await store.register.companies_of_phones(Country.DK, ["33112233"])

    assert found == {"33112233": [KEY]}


async def test_owners_loaded_before_their_company_show_with_it(store: Store) -> None:
    key = CompanyKey("no:987654321")
    await store.load(an_owners_record(an_owner()), kind=NO_ROLES)
    hidden = await store.register.companies([key])

    company = a_company(country=Country.NO, vat="987654321")
    await store.load(a_company_record(company, owners=None), kind=NO_ENTITIES)

    assert hidden == {}
    row = (await store.register.companies([key]))[key]
    assert b"Anna Testesen" in row.owners


async def test_an_identifier_leads_to_its_holder(store: Store) -> None:
    await store.load(a_company_record())
    await store.load(a_participant_record(), kind=PEPPOL)

    assert await store.register.holders(["0088:5790000000005"]) == {"0088:5790000000005": KEY}
    assert (await store.register.companies([KEY]))[KEY].revision == 2


async def test_a_removed_company_is_gone_with_its_units_and_identifiers(store: Store) -> None:
    await store.load(a_company_record())
    await store.load(a_unit_record(), kind=DK_UNITS)
    await store.load(a_participant_record(), kind=PEPPOL)

    was_known = await store.writer.remove(KEY, at=NOON, publish_events=False)

    left = {
        name: await store.database[name].count_documents({})
        for name in ("companies", "production_units", "participants", "tombstones")
    }
    assert was_known
    assert left == {"companies": 0, "production_units": 0, "participants": 0, "tombstones": 1}


async def test_a_removed_company_does_not_come_back_with_the_next_file(store: Store) -> None:
    await store.load(a_company_record())
    await store.writer.remove(KEY, at=NOON, publish_events=False)

    companies = await store.load(a_company_record(version=TUESDAY))
    units = await store.load(a_unit_record(), kind=DK_UNITS)

    assert companies.counts()["removed"] == units.counts()["removed"] == 1
    assert await store.register.companies([KEY]) == {}
    assert await store.register.companies_of_units([UnitKey("dk:1012345678")]) == {}


async def test_removing_an_unknown_company_leaves_a_tombstone_all_the_same(store: Store) -> None:
    was_known = await store.writer.remove(KEY, at=NOON, publish_events=False)

    assert not was_known
    assert (await store.load(a_company_record())).counts()["removed"] == 1


async def test_no_unit_is_missing_of_a_list_of_companies_with_very_many(store: Store) -> None:
    companies = [CompanyKey(f"dk:{10_000_000 + number}") for number in range(3)]
    units = [
        {"_id": f"dk:{1_000_000_000 + number}", "company": companies[number % 3], "core": b"{}"}
        for number in range(20_100)
    ]
    await store.database["production_units"].insert_many(units)

    found = await store.register.units_of(companies)

    assert [len(found[company]) for company in companies] == [6_700] * 3


async def test_an_answer_lists_identifiers_as_events_do_whatever_order_they_came_in(
    store: Store,
) -> None:
    units = [UnitKey("dk:1012345678"), UnitKey("dk:1012345670")]
    await store.load(a_company_record())
    for unit in units:
        number = unit.removeprefix("dk:")
        await store.load(a_unit_record(a_unit(number=number)), kind=DK_UNITS)
    held = {
        "0096:1": units[0],
        "0184:9": KEY,
        "0096:2": units[1],
        "0088:3": units[0],
        "0088:4": KEY,
    }
    for identifier, holder in held.items():
        await store.load(a_participant_record(identifier, holder=holder), kind=PEPPOL)

    [reply] = await AnswerLookups(store.register, FakeSearches())([EINVOICING_OF_THE_COMPANY])

    events = await store.database["outbox"].find({"type": "einvoicing.changed"}).to_list(None)
    newest = max((orjson.loads(event["body"]) for event in events), key=itemgetter("revision"))
    [change] = newest["data"]["changes"]
    assert isinstance(reply, LookupReply)
    shown = [entry["identifier"] for entry in orjson.loads(reply.body)["einvoicing"]]
    assert shown == ["0088:4", "0184:9", "0088:3", "0096:1", "0096:2"]
    assert shown == [entry["identifier"] for entry in change["new"]]


async def test_every_read_is_by_an_index(store: Store) -> None:
    await store.load(a_company_record(phones=("33112233",)))
    queries: dict[str, dict[str, Any]] = {
        "companies": {"phones": "dk:33112233"},
        "production_units": {"company": KEY},
        "participants": {"holder": KEY},
    }

    for collection, query in queries.items():
        plan = await store.database[collection].find(query).explain()

        assert "COLLSCAN" not in str(plan["queryPlanner"]["winningPlan"])


async def test_a_database_that_is_away_is_an_outage() -> None:
    async with connected("mongodb://127.0.0.1:1/?directConnection=true", name="test") as client:
        register = StoredRegister(named_database(client, "register"))

        with pytest.raises(Unavailable):
            await register.companies([KEY])


async def test_the_first_load_of_a_register_tells_nothing_and_later_ones_what_changed(
    store: Store,
) -> None:
    await store.load(a_company_record())
    first = await store.database["outbox"].count_documents({})

    renamed = a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY)
    await store.load(renamed, a_company_record(a_company(vat="87654321")))

    events = await store.database["outbox"].find({}, {"type": 1}).to_list(None)
    assert first == 0
    assert sorted(event["type"] for event in events) == ["company.created", "company.updated"]


async def test_an_identifier_of_a_unit_is_told_as_the_whole_list_of_its_company(
    store: Store,
) -> None:
    await store.load(a_company_record())
    await store.load(a_unit_record(), kind=DK_UNITS)
    await store.load(a_participant_record(), kind=PEPPOL)
    of_unit = a_participant_record("0096:1012345678", holder=UnitKey("dk:1012345678"))

    await store.load(of_unit, kind=PEPPOL)

    [event] = await store.database["outbox"].find({"type": "einvoicing.changed"}).to_list(None)
    [change] = orjson.loads(event["body"])["data"]["changes"]
    assert [entry["identifier"] for entry in change["new"]] == [
        "0088:5790000000005",
        "0096:1012345678",
    ]


async def test_of_a_removed_company_only_the_removal_is_told(store: Store) -> None:
    await store.load(a_company_record())
    await store.load(a_company_record(a_company(name="Nyt Navn ApS"), version=TUESDAY))

    await store.writer.remove(KEY, at=NOON, publish_events=True)

    [event] = await store.database["outbox"].find().to_list(None)
    body = orjson.loads(event["body"])
    assert (body["type"], body["revision"]) == ("company.removed", 3)
    assert body["data"]["company"] is None


async def test_a_unit_that_only_its_company_lists_leads_to_it(store: Store) -> None:
    unit = UnitKey("dk:1012345678")
    await store.load(a_company_record(units=(unit,)))
    listed = await store.register.companies_of_units([unit])
    await store.load(a_unit_record(company="87654321"), kind=DK_UNITS)

    moved = await store.register.companies_of_units([unit])

    assert listed == {unit: KEY}
    assert moved == {unit: "dk:87654321"}


WITH_UNITS = LookupRequest(
    country=Country.DK,
    questions=(Question(type=SearchType.VAT, term="12345674"),),
    include=(Include.PRODUCTION_UNITS,),
)


async def units_in_the_answer(store: Store) -> list[dict[str, Any]]:
    (reply,) = await AnswerLookups(store.register, FakeSearches())([WITH_UNITS])
    assert isinstance(reply, LookupReply)
    units: list[dict[str, Any]] = orjson.loads(reply.body)["production_units"]
    return units


async def test_a_unit_that_only_its_company_lists_is_answered_by_its_number(store: Store) -> None:
    listed = [UnitKey(f"dk:{number}") for number in ("1012345678", "1012345686", "1012345694")]
    await store.load(a_company_record(units=tuple(listed)))
    await store.load(a_unit_record(), kind=DK_UNITS)
    await store.load(a_unit_record(a_unit(number="1012345686"), company="87654321"), kind=DK_UNITS)

    loaded, only_listed = await units_in_the_answer(store)

    assert (loaded["number"], loaded["main"]) == ("1012345678", True)
    assert only_listed.pop("number") == "1012345694"
    assert set(only_listed.values()) == {None}


async def test_a_removed_unit_is_not_found_though_its_company_lists_it(store: Store) -> None:
    unit = UnitKey("dk:1012345678")
    await store.load(a_company_record(units=(unit,)))
    await store.database["tombstones"].insert_one({"_id": unit, "removed_at": NOON})

    assert await units_in_the_answer(store) == []
    assert await store.register.companies_of_units([unit]) == {}


async def test_removing_it_again_does_not_take_back_the_word_of_its_removal(store: Store) -> None:
    await store.load(a_company_record())
    removed = [await store.writer.remove(KEY, at=NOON, publish_events=True) for _ in range(2)]

    waiting = await store.database["outbox"].find().to_list(None)
    assert removed == [True, False]
    assert [event["type"] for event in waiting] == ["company.removed"]
