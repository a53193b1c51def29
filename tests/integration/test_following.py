"""The search index follows MongoDB, across restarts and losses."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partialmethod
from multiprocessing import active_children
from pathlib import Path
from random import Random
from threading import Event
from typing import Any
from unittest import mock

import pytest
from pymongo.asynchronous.change_stream import AsyncChangeStream
from pymongo.errors import ExecutionTimeout

from common.contracts.company import CompanyKey, Country
from common.contracts.find import FindRequest
from common.mongo import Database
from common.runtime.processes import Workers
from common.runtime.tasks import background
from ingest.changes.company_plans import plan_companies
from ingest.changes.states import ApplyContext
from ingest.changes.transaction import StoredRegisterWriter
from ingest.records.records import SourceVersion
from lookup.search import follower
from lookup.search.follower import Follower
from lookup.search.index import SearchIndex
from lookup.search.index.documents import stored_batch
from lookup.search.index.generation import Generation
from register_store.accounts import ACCOUNTS, accounts_id
from register_store.documents import COMPANIES, PARTICIPANTS, UNITS, Document, dump
from tests.builders.accounts import accounts_of
from tests.builders.companies import MONDAY, TUESDAY, a_company, a_company_record
from tests.builders.indexed import search_name
from tests.delivery.waiting import SOON

pytestmark = pytest.mark.integration

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


@dataclass
class Register:
    """The stored companies, and the folder of the index that follows them."""

    database: Database
    folder: Path

    def __post_init__(self) -> None:
        self.writer = StoredRegisterWriter(self.database, lambda: NOON)

    async def store(self, *, version: SourceVersion = MONDAY, **fields: Any) -> None:
        record = a_company_record(a_company(**fields), version=version)
        known = await self.writer.known(companies=[record.key])
        await self.writer.write(plan_companies([record], known, ApplyContext(MONDAY, NOON)))

    def follower(self, index: SearchIndex) -> Follower:
        return Follower(
            self.database,
            index,
            Country.DK,
            interval=0.05,
            random=Random(1),
            building=asyncio.Lock(),
        )

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[tuple[SearchIndex, Follower]]:
        """By an index that can answer."""
        index = await asyncio.to_thread(SearchIndex.open, self.folder, Country.DK)
        follower = self.follower(index)
        try:
            async with background(follower.run()):
                await eventually(lambda: follower.can_answer)
                yield index, follower
        finally:
            await asyncio.to_thread(index.close)


@pytest.fixture
def register(database: Database, tmp_path: Path) -> Register:
    return Register(database, tmp_path)


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(0.01)


def finds(index: SearchIndex, name: str, vat: str = "12345674") -> bool:
    hit = search_name(index, name)
    return hit is not None and hit.key == f"dk:{vat}"


async def test_an_index_is_built_from_the_stored_companies_of_its_country(
    register: Register,
) -> None:
    await register.store()
    await register.store(country=Country.NO, vat="310345679", name="Norsk Prøve AS")

    async with register.followed() as (index, _):
        assert finds(index, "Prøvefabrikken")
        assert search_name(index, "Norsk Prøve") is None
        assert index.size.companies == 1


@pytest.mark.parametrize("read_here, batches", [(0, 3), (4, 1), (5, 0)])
async def test_a_large_register_is_indexed_in_processes_that_end_with_the_build(
    register: Register, monkeypatch: pytest.MonkeyPatch, read_here: int, batches: int
) -> None:
    monkeypatch.setattr(follower, "_READ", 2)
    monkeypatch.setattr(follower, "_READ_HERE", read_here)
    run = mock.Mock(wraps=Workers.run)
    monkeypatch.setattr(Workers, "run", partialmethod(run))
    for number in range(5):
        await register.store(vat=f"1000000{number}", name=f"Prøve {number} ApS")

    async with register.followed() as (index, _):
        found = [finds(index, f"Prøve {number}", f"1000000{number}") for number in range(5)]
        left = active_children()

    assert found == [True] * 5
    assert (run.call_count, left) == (batches, [])


async def test_a_build_that_fails_leaves_nothing_and_is_made_again(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    await register.store()
    outages: list[int] = []

    def fails_once(stored: Any, country: Country) -> Any:
        if not outages:
            outages.append(1)
            raise TimeoutError
        return stored_batch(stored, country)

    monkeypatch.setattr(follower, "stored_batch", fails_once)

    async with register.followed() as (index, _):
        assert finds(index, "Prøvefabrikken")

    [folder] = [each for each in (register.folder / "dk").iterdir() if each.is_dir()]
    # The first is that of an empty index, and the second of the build that failed.
    assert (outages, folder.name) == ([1], "2")


async def test_a_timeout_of_the_database_keeps_the_index(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, timeouts = Follower._take_changes, list[int]()

    async def times_out_once(follower: Follower, stream: AsyncChangeStream[Document]) -> None:
        if not timeouts:
            timeouts.append(1)
            raise ExecutionTimeout("operation exceeded time limit", 50)
        await take(follower, stream)

    monkeypatch.setattr(Follower, "_take_changes", times_out_once)
    await register.store()

    async with register.followed() as (index, _):
        await register.store(name="Omdøbt Virksomhed A/S", version=TUESDAY)
        await eventually(lambda: finds(index, "Omdøbt Virksomhed"))

    [folder] = [each for each in (register.folder / "dk").iterdir() if each.is_dir()]
    assert (timeouts, folder.name) == ([1], "2")


async def test_new_changed_and_removed_companies_are_seen_while_it_runs(register: Register) -> None:
    async with register.followed() as (index, _):
        await register.store()
        await eventually(lambda: finds(index, "Prøvefabrikken"))

        await register.store(name="Omdøbt Virksomhed A/S", version=TUESDAY)
        await eventually(lambda: finds(index, "Omdøbt Virksomhed"))
        held = search_name(index, "Prøvefabrikken")

        await register.writer.remove(CompanyKey.parse("dk:12345674"), at=NOON, publish_events=False)
        await eventually(lambda: search_name(index, "Omdøbt Virksomhed") is None)

    assert held is not None
    assert held.matched_name == "Prøvefabrikken ApS", "the name that it had here before"


async def test_a_restarted_process_resumes_from_its_saved_copy(register: Register) -> None:
    await register.store()
    async with register.followed() as (index, _):
        saved = index.save_point
    await register.store(vat="87654321", name="Kommet Til Imens ApS")

    reopened = await asyncio.to_thread(SearchIndex.open, register.folder, Country.DK)
    point_after_restart = reopened.save_point
    answers_at_once = finds(reopened, "Prøvefabrikken")
    await asyncio.to_thread(reopened.close)

    async with register.followed() as (index, _):
        await eventually(lambda: finds(index, "Kommet Til Imens", "87654321"))

    assert point_after_restart == saved
    assert answers_at_once


async def test_an_index_with_an_expired_resume_token_is_rebuilt_and_serves_meanwhile(
    register: Register,
) -> None:
    await register.store()
    async with register.followed() as (index, _):
        await asyncio.to_thread(index.commit, b"\x05\x00\x00\x00\x00")  # an unknown point
    await register.store(vat="87654321", name="Kommet Til Imens ApS")

    async with register.followed() as (index, follower):
        assert follower.can_answer
        assert finds(index, "Prøvefabrikken")
        await eventually(lambda: finds(index, "Kommet Til Imens", "87654321"))


async def test_an_index_follows_a_register_that_is_dropped_and_loaded_again(
    register: Register,
) -> None:
    await register.store()
    async with register.followed() as (index, _):
        await register.database[COMPANIES].drop()
        await register.store(vat="87654321", name="Efter Nulstilling ApS")

        await eventually(lambda: finds(index, "Efter Nulstilling", "87654321"))
        await eventually(lambda: search_name(index, "Prøvefabrikken") is None)


class HeldIndex(SearchIndex):
    """Waits before it builds, and says when it is done with it, in whichever way."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.begun, self.may_go_on, self.ended = Event(), Event(), Event()

    def new(self) -> Generation:
        self.begun.set()
        self.may_go_on.wait(SOON)
        try:
            return super().new()
        finally:
            self.ended.set()


async def test_a_shutdown_ends_the_build_of_an_index_first(register: Register) -> None:
    await register.store()
    index = HeldIndex.open(register.folder, Country.DK)
    running = asyncio.create_task(register.follower(index).run())
    await eventually(index.begun.is_set)

    running.cancel()
    index.may_go_on.set()
    await asyncio.wait([running], timeout=SOON)
    ended = index.ended.is_set()
    # On the loop, as in a stopping process: a thread that still built would wait for the loop.
    index.close()

    assert ended
    assert running.cancelled()


def counted(index: SearchIndex, **filters: object) -> int:
    request = {"country": Country.DK, "limit": 1, **filters}
    return index.find(FindRequest.model_validate(request)).total


async def test_filters_follow_owners_and_identifiers_that_the_record_does_not_hold(
    register: Register,
) -> None:
    await register.store()
    owners = b'[{"name":"Ejer A/S","type":"company","vat":"87654321"}]'
    async with register.followed() as (index, _):
        before = counted(index), counted(index, has=["einvoicing"]), counted(index, owned_by="1")

        await register.database[PARTICIPANTS].insert_one({"_id": "0088:1", "holder": "dk:12345674"})
        await register.database[COMPANIES].update_one({}, {"$inc": {"revision": 1}})
        await eventually(lambda: counted(index, has=["einvoicing"]) == 1)
        await register.database[COMPANIES].update_one(
            {}, {"$set": {"owners": owners}, "$inc": {"revision": 1}}
        )
        await eventually(lambda: counted(index, owned_by="87654321") == 1)

        assert before == (1, 0, 0)
        assert counted(index, has=["einvoicing"]) == 1

    async with register.followed() as (index, _):
        assert counted(index, has=["einvoicing"], owned_by="87654321") == 1


async def test_lists_are_built_with_owners_and_the_identifiers_of_units(register: Register) -> None:
    await register.store()
    await register.database[UNITS].insert_one({"_id": "dk:1000000001", "company": "dk:12345674"})
    await register.database[PARTICIPANTS].insert_one({"_id": "0088:1", "holder": "dk:1000000001"})
    await register.database[COMPANIES].update_one(
        {}, {"$set": {"owners": b'[{"name":"Ejer A/S","type":"company","vat":"87654321"}]'}}
    )

    async with register.followed() as (index, _):
        assert counted(index, has=["einvoicing"], owned_by="87654321") == 1


def accounts_document(scope: str, *, revenue: str | None, year: int = 2024) -> Document:
    accounts = accounts_of(year, scope=scope, revenue=revenue, equity="-5")
    identity = accounts_id(CompanyKey.parse("dk:12345674"), accounts)
    return {"_id": identity, "body": dump(accounts), "digest": b"", "current": True}


async def test_filters_follow_the_newest_accounts(register: Register) -> None:
    await register.store()
    accounts = register.database[ACCOUNTS]
    await accounts.insert_many(
        [
            accounts_document("company", revenue="900", year=2023),
            accounts_document("company", revenue="100"),
            accounts_document("group", revenue="900"),
        ]
    )

    async with register.followed() as (index, _):
        built = [counted(index, min_revenue=least, max_equity=-5) for least in (100, 101)]
        await accounts.insert_one(accounts_document("group", revenue="70", year=2025))
        await register.database[COMPANIES].update_one({}, {"$inc": {"revision": 1}})
        await eventually(lambda: counted(index, accounts_years=["2025"]) == 1)

        assert built == [1, 0]
        assert [counted(index, min_revenue=least) for least in (70, 71)] == [1, 0]
