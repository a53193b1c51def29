"""Copies of a register that is written to: with the events after them they are the register."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from common.contracts.company import CompanyKey, Country, Include, LegalForm
from common.contracts.events import EventType
from common.contracts.failures import Failure, FieldError, Unavailable
from common.contracts.find import Between, ExportPage, ExportRequest, FindRequest
from common.contracts.watchlists import packed
from common.mongo import Database, Reads
from common.runtime.tasks import background
from ingest.records.records import CompanyRecord, SourceVersion
from lookup.answers.exports import AnswerExports
from lookup.answers.searches import LateAccounts
from lookup.search.searcher import IndexSearches, followed_indexes
from register_store.accounts import ACCOUNTS, accounts_id
from register_store.documents import dump
from register_store.reads import StoredCopies, StoredRegister, StoredSources
from tests.builders.accounts import accounts_of
from tests.builders.companies import (
    MONDAY,
    a_company,
    a_company_record,
    a_participant_record,
    a_unit_record,
    an_owner,
)
from tests.builders.loading import Loader
from tests.builders.outbox import Outbox
from tests.delivery.waiting import eventually

pytestmark = pytest.mark.integration

#: A day on which accounts of 2024 are on time, and those of 2023 late.
NOW = datetime(2026, 11, 28, 9, tzinfo=UTC)
NO_INDEX = IndexSearches({}, {}, None, None)  # type: ignore[arg-type]


def number(place: int) -> str:
    return f"{10_000_000 + place:08d}"


def a_record(place: int, version: int = 0, **fields: Any) -> CompanyRecord:
    company = a_company(vat=number(place), name=f"Prøve {place}-{version} ApS", **fields)
    at = SourceVersion(MONDAY.at + timedelta(minutes=version))
    return a_company_record(company, version=at, owners=(an_owner(),))


@pytest.fixture
async def searches(register_db: Database, tmp_path: Path) -> AsyncIterator[IndexSearches]:
    """An index of Danish companies that follows the register."""
    async with followed_indexes(
        register_db,
        [Country.DK],
        folder=tmp_path,
        threads=1,
        interval=timedelta(milliseconds=50),
        random=Random(1),
    ) as searches:
        yield searches


def exports(
    register_db: Database, outbox: Outbox, searches: IndexSearches = NO_INDEX
) -> AnswerExports:
    register = StoredRegister(Reads(register_db))
    late = LateAccounts(StoredSources(Reads(register_db)), lambda: NOW)
    return AnswerExports(StoredCopies(register_db), outbox.feed, searches, register, late)


async def first_page(answer: AnswerExports, **fields: Any) -> ExportPage:
    [page] = await answer([ExportRequest(country=Country.DK, **fields)])
    assert isinstance(page, ExportPage)
    return page


async def pages(answer: AnswerExports, **fields: Any) -> AsyncIterator[ExportPage]:
    page = await first_page(answer, **fields)
    yield page
    while page.last is not None:
        page = await first_page(answer, **fields, after=page.last)
        yield page


def companies(page: ExportPage) -> list[dict[str, Any]]:
    found = [orjson.loads(line) for line in page.lines.splitlines()]
    assert len(found) == page.count
    return found


class Register:
    """A register that changes, and its copy."""

    def __init__(self, store: Loader, outbox: Outbox, random: Random) -> None:
        self.store, self.outbox, self.random = store, outbox, random
        self.version = 0

    async def change(self) -> None:
        """Some companies are new, some change, and one is removed; the events are published."""
        self.version += 1
        self.outbox.now += timedelta(seconds=8)
        places = self.random.sample(range(60), 4)
        await self.store.load(*(a_record(place, self.version) for place in places))
        await self.store.remove(f"dk:{number(self.random.randrange(60))}", publish_events=True)
        if self.random.random() < 0.7:  # or they are published later, with others
            await self.outbox.publisher()()

    async def stored(self) -> dict[str, tuple[int, str]]:
        keys = [CompanyKey(Country.DK, number(place)) for place in range(60)]
        rows = await StoredRegister(Reads(self.outbox.register)).companies(keys)
        return {
            key.vat: (row.revision, orjson.loads(row.core)["name"]) for key, row in rows.items()
        }

    async def apply_events(self, copy: dict[str, tuple[int, str]], position: int) -> None:
        """Applies the feed from a position on, of each company the newest revision."""
        while await self.outbox.publisher()():
            pass
        page = await self.outbox.read(position, limit=500)
        assert not page.has_more
        for event in page.events:
            body = orjson.loads(event.body)
            vat, revision = body["vat"], body["revision"]
            if revision < copy.get(vat, (0, ""))[0]:
                continue
            if event.type == EventType.COMPANY_REMOVED:
                copy.pop(vat, None)
            else:
                copy[vat] = revision, body["data"]["company"]["name"]


@pytest.mark.parametrize("seed", range(3))
async def test_a_copy_with_the_events_after_it_is_the_register_that_changed_meanwhile(
    store: Loader, outbox: Outbox, register_db: Database, seed: int
) -> None:
    register = Register(store, outbox, Random(seed))
    await store.load(*map(a_record, range(0, 60, 2)))
    for _ in range(8):
        await register.change()

    copy: dict[str, tuple[int, str]] = {}
    position = None
    async for page in pages(exports(register_db, outbox), limit=5):
        position = page.position if position is None else position
        copy |= {one["vat"]: (one["revision"], one["name"]) for one in companies(page)}
        await register.change()
    assert position
    assert position < (await outbox.read(0, latest=True)).position
    before = dict(copy)
    await register.apply_events(copy, position)

    assert copy == await register.stored() != before


async def test_companies_are_in_the_order_of_their_numbers_and_as_lookups_return_them(
    store: Loader, outbox: Outbox, register_db: Database
) -> None:
    await store.load(*map(a_record, range(9, -1, -1)))
    answer = exports(register_db, outbox)

    read = [page async for page in pages(answer, limit=4, include=(Include.OWNERS,))]
    resumed = await first_page(answer, after=number(6))

    found = [one for page in read for one in companies(page)]
    assert [one["vat"] for one in found] == [number(place) for place in range(10)]
    assert [page.count for page in read] == [4, 4, 2]
    assert found[0]["match"] == {
        "type": "export",
        "score": 100,
        "matched_name": None,
        "others": 0,
    }
    assert [owner["name"] for owner in found[0]["owners"]] == ["Anna Testesen"]
    assert [one["vat"] for one in companies(resumed)] == [number(place) for place in (7, 8, 9)]
    assert resumed.last is None


async def test_an_empty_register_is_one_empty_page(outbox: Outbox, register_db: Database) -> None:
    page = await first_page(exports(register_db, outbox))

    assert (page.lines, page.count, page.last, page.position) == (b"", 0, None, 0)


async def test_a_page_ends_before_it_becomes_too_large(
    store: Loader, outbox: Outbox, register_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lookup.answers.exports.MAX_BYTES", 100_000)
    await store.load(*map(a_record, range(300)))

    read = [page async for page in pages(exports(register_db, outbox), limit=1000)]

    assert [one["vat"] for page in read for one in companies(page)] == [*map(number, range(300))]
    assert len(read) > 1


async def test_units_and_identifiers_are_included(
    store: Loader, outbox: Outbox, register_db: Database
) -> None:
    for record in (a_company_record(), a_unit_record(), a_participant_record()):
        await store.load(record)
    include = (Include.PRODUCTION_UNITS, Include.EINVOICING)

    [one] = companies(await first_page(exports(register_db, outbox), include=include))

    assert (one["production_units_total"], len(one["production_units"])) == (1, 1)
    assert one["einvoicing"]


async def until_built(searches: IndexSearches) -> None:
    async def is_built() -> bool:
        with suppress(Unavailable):
            searches.followers[Country.DK].check_lag()
            return True
        return False

    await eventually(is_built, bool)


async def test_the_feed_goes_on_at_the_events_of_the_last_half_minute(
    outbox: Outbox, register_db: Database
) -> None:
    """Each read has the changes of older events: of another member, and of the index."""
    for name in ("a", "b", "c"):
        await outbox.published(name)
        outbox.now += timedelta(seconds=20)

    assert (await first_page(exports(register_db, outbox))).position == 2


async def test_a_copy_with_filters_has_the_companies_that_fit(
    store: Loader,
    outbox: Outbox,
    register_db: Database,
    searches: IndexSearches,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form = LegalForm(code="80", description="Anpartsselskab")
    await store.load(*map(a_record, range(30)))
    await store.load(*(a_record(place, form=form) for place in range(30, 37)))
    await until_built(searches)
    wanted = FindRequest(country=Country.DK, forms=("80",), limit=0)
    answer = exports(register_db, outbox, searches)

    read = [page async for page in pages(answer, limit=2, filter=wanted)]

    assert [one["vat"] for page in read for one in companies(page)] == [*map(number, range(30, 37))]
    monkeypatch.setattr("lookup.search.follower._MAX_LAG", -1.0)
    with pytest.raises(Unavailable, match="behind"):
        await first_page(answer, filter=wanted)


async def test_a_copy_of_a_watchlist_has_its_companies_and_says_so(
    store: Loader, outbox: Outbox, register_db: Database, searches: IndexSearches
) -> None:
    await store.load(*map(a_record, range(9)))
    await until_built(searches)
    places = (1, 4, 8)
    watched = FindRequest(
        country=Country.DK, numbers=packed([*(int(number(each)) for each in places), 5]), limit=0
    )
    answer = exports(register_db, outbox, searches)

    read = [page async for page in pages(answer, limit=2, filter=watched)]
    whole = await first_page(answer)

    assert [one["vat"] for page in read for one in companies(page)] == [*map(number, places)]
    assert ([page.limited for page in read], whole.limited) == ([True, True], False)


async def test_constant_writes_do_not_delay_an_export_with_filters(
    store: Loader, outbox: Outbox, register_db: Database, searches: IndexSearches
) -> None:
    await store.load(*map(a_record, range(30)))
    await until_built(searches)
    wanted = FindRequest(country=Country.DK, forms=("80",), limit=0)

    async def write() -> None:
        version = 0
        while True:
            version += 1
            await store.load(a_record(version % 30, version))

    async with background(write()):
        page = await first_page(exports(register_db, outbox, searches), filter=wanted)

    assert page.count == 0


async def test_late_accounts_are_not_said_of_a_register_that_is_not_loaded(
    register_db: Database,
) -> None:
    late = LateAccounts(StoredSources(Reads(register_db)), lambda: NOW)
    asked = FindRequest(country=Country.DK, limit=0, accounts_late=True)
    loads = register_db["loads"]

    refused = await late(asked)
    await loads.insert_one({"_id": "dk-regnskab", "state": "loading", "finished_at": NOW})
    loading = await late(asked)
    await loads.update_one({"_id": "dk-regnskab"}, {"$set": {"state": "loaded"}})
    loaded = await late(asked)
    norwegian = await late(asked.model_copy(update={"country": Country.NO, "accounts_late": False}))

    message = "not all accounts of the Danish register are loaded; send country=no"
    for failure in (refused, loading):
        assert isinstance(failure, Failure)
        assert failure.errors == (FieldError(parameter="accounts_late", message=message),)
    assert isinstance(loaded, FindRequest)
    assert isinstance(norwegian, FindRequest)
    assert loaded.accounts_due == Between(last="2026-11-27")
    assert norwegian.accounts_due == Between(first="2026-11-28")


async def test_annual_accounts_are_included(
    store: Loader, outbox: Outbox, register_db: Database
) -> None:
    await store.load(a_record(1), a_record(2))
    accounts = accounts_of(profit="-5")
    identity = accounts_id(CompanyKey(Country.DK, number(1)), accounts)
    document = {"_id": identity, "body": dump(accounts), "digest": b"", "current": True}
    await register_db[ACCOUNTS].insert_one(document)

    page = await first_page(exports(register_db, outbox), include=(Include.ANNUAL_ACCOUNTS,))
    one, other = companies(page)

    assert one["annual_accounts"] == [orjson.loads(dump(accounts))]
    assert one["accounts_state"] == "ok"
    assert (other["annual_accounts"], other["accounts_state"]) == ([], "unknown")
