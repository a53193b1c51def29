"""Norwegian accounts are asked for company by company, until the wanted year is there."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from yarl import URL

from common.contracts.accounts import AccountsState
from common.contracts.company import CompanyKey, LegalForm
from common.mongo import Database, Reads
from ingest.changes.accounts import ApplyAccounts
from ingest.changes.stored_accounts import StoredChecks
from ingest.following.register_client import (
    RegisterClient,
    RegisterUnavailable,
    RetryPolicy,
    sessions,
)
from ingest.loading.load import Tally
from ingest.loading.stores import Stores
from ingest.records.records import SourceVersion
from ingest.registers.brreg.accounts_sync import Schedule, SyncNorwegianAccounts
from ingest.registers.brreg.sync import NO_ENTITIES
from register_samples.server.serving import listening
from register_store.accounts import AccountsPage, StoredAccounts
from register_store.indexes import make_indexes
from tests.builders.companies import TUESDAY, a_norwegian_record
from tests.builders.loading import NOON, Loader

pytestmark = pytest.mark.integration

FIRST, SECOND, BANK = "987654321", "974760673", "923609016"
HOUR = timedelta(hours=1)


def an_element(year: int = 2025, number: str = FIRST, id_: int = 1, **fields: Any) -> Any:
    return {
        "id": id_,
        "regnskapstype": "SELSKAP",
        "virksomhet": {"organisasjonsnummer": number},
        "regnskapsperiode": {"fraDato": f"{year}-01-01", "tilDato": f"{year}-12-31"},
        "valuta": "NOK",
        "resultatregnskapResultat": {"aarsresultat": 7},
        **fields,
    }


@dataclass
class Following:
    """A register of accounts that answers as it is told, and the passes over it."""

    loader: Loader
    client: RegisterClient
    #: The answer to each number: a status, or elements; a 404 without one.
    answers: dict[str, Any]
    asked: list[str]
    now: datetime = NOON + timedelta(minutes=2)
    sole_proprietors: bool = False

    async def company(self, number: str, year: str | None = "2025", **fields: Any) -> None:
        record = a_norwegian_record(
            vat=number, accounts=year, version=fields.pop("version", TUESDAY), **fields
        )
        await self.loader.load(record, kind=NO_ENTITIES)

    async def once(self) -> Tally:
        """One pass."""
        tally = Tally()
        stores = Stores.of(self.loader.database, lambda: self.now)
        await SyncNorwegianAccounts(
            self.client,
            "https://accounts.example",
            StoredChecks(self.loader.database),
            ApplyAccounts(stores.writer, lambda: self.now, self.sole_proprietors),
            stores,
            Schedule(timedelta(days=90)),
            pace=0,
        )(tally)
        return tally

    async def page(self, number: str) -> AccountsPage:
        reads = StoredAccounts(Reads(self.loader.database))
        return await reads.page(CompanyKey.parse(f"no:{number}"), 10)

    async def told(self) -> list[Any]:
        events = await self.loader.events()
        return [event for event in events if event["type"] == "company.accounts_published"]


@pytest.fixture
async def following(register_db: Database) -> AsyncIterator[Following]:
    answers: dict[str, Any] = {}
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        number = request.match_info["number"]
        asked.append(number)
        found = answers.get(number, 404)
        if isinstance(found, int):
            return web.Response(status=found)
        return web.json_response(found)

    app = web.Application()
    app.router.add_get("/{number}", answer)
    policy = RetryPolicy("test", lambda: iter([0.0, 0.0]), max_attempts=1)
    await make_indexes(register_db)
    async with listening(app) as url, sessions(policy) as session:
        client = RegisterClient(session, URL(url), register="test", retry_policy=policy)
        yield Following(Loader(register_db), client, answers, asked)


async def test_a_first_load_asks_for_each_company_with_a_year(following: Following) -> None:
    await following.company(FIRST)
    await following.company(SECOND)
    await following.company("910000004", year=None)
    following.answers[FIRST] = [an_element(2025, id_=3), an_element(2024)]

    tally = await following.once()

    assert sorted(following.asked) == [SECOND, FIRST]
    assert len((await following.page(FIRST)).accounts) == 2
    assert (await following.page(SECOND)).state is AccountsState.NONE
    assert await following.told() == []
    assert tally.results["new"] == 1
    assert await following.loader.stores.states.is_loaded("no-regnskap")


async def test_accounts_wait_for_the_first_load_of_companies(following: Following) -> None:
    await following.once()

    assert following.asked == []
    assert await following.loader.stores.cursors.read("no-regnskap") is None


async def test_a_first_load_goes_on_after_it_was_killed(following: Following) -> None:
    await following.company(FIRST)
    await following.company(SECOND)
    following.answers[FIRST], following.answers[SECOND] = [an_element()], 503
    with pytest.raises(RegisterUnavailable):
        await following.once()
    # The answers of a batch that is not whole are asked for again, stored ones are not.
    following.answers[SECOND] = 404
    await following.once()
    following.asked.clear()

    await following.once()

    assert following.asked == []
    assert (await following.page(FIRST)).state is AccountsState.OK


async def test_a_changed_year_is_asked_for_after_an_hour_until_it_is_there(
    following: Following,
) -> None:
    await following.company(FIRST, "2024")
    following.answers[FIRST] = [an_element(2024)]
    await following.once()
    following.asked.clear()

    await following.company(FIRST, "2025", version=SourceVersion(following.now))
    following.now += timedelta(minutes=1)
    await following.once()
    soon = len(following.asked)
    following.now += HOUR
    await following.once()
    following.answers[FIRST] = [an_element(2024), an_element(2025, id_=2)]
    following.now += 5 * HOUR
    await following.once()
    following.now += 24 * HOUR
    await following.once()

    assert soon == 0
    assert following.asked == [FIRST, FIRST]
    [event] = await following.told()
    assert event["data"]["accounts"]["period"]["end"] == "2025-12-31"


async def test_a_correction_is_found_when_the_accounts_are_read_again(
    following: Following,
) -> None:
    await following.company(FIRST)
    following.answers[FIRST] = [an_element()]
    await following.once()
    following.answers[FIRST] = [an_element(id_=9, resultatregnskapResultat={"aarsresultat": -1})]

    following.now += timedelta(days=91)
    await following.once()

    [event] = await following.told()
    assert event["data"]["accounts"]["correction"] is True
    assert event["data"]["changes"] == [
        {"field": "annual_accounts.figures.profit", "old": "7", "new": "-1"}
    ]


async def test_a_bank_is_unavailable_after_a_day_and_blocks_nobody(following: Following) -> None:
    await following.company(BANK)
    await following.company(FIRST)
    following.answers[BANK], following.answers[FIRST] = 500, [an_element()]

    states = []
    for _ in range(4):
        await following.once()
        states.append((await following.page(BANK)).state)
        following.now += 18 * HOUR

    assert states == ["unknown", "unknown", "unknown", "unavailable"]
    assert following.asked.count(BANK) == 4
    assert (await following.page(FIRST)).state is AccountsState.OK


async def test_a_register_that_fails_for_all_is_no_fact_about_any(following: Following) -> None:
    numbers = [f"9100000{each:02d}" for each in range(12)]
    for number in numbers:
        await following.company(number)
        following.answers[number] = 500

    with pytest.raises(RegisterUnavailable, match="every company"):
        await following.once()

    assert {(await following.page(number)).state for number in numbers} == {"unknown"}
    # They are banks, if another company has an answer.
    await following.company(FIRST)
    following.answers[FIRST] = [an_element()]
    following.now += HOUR
    await following.once()
    assert (await following.page(FIRST)).state is AccountsState.OK


async def test_a_sole_proprietor_is_not_asked_for(following: Following) -> None:
    await following.company(FIRST, form=LegalForm(code="ENK"))

    await following.once()

    assert following.asked == []
    assert (await following.page(FIRST)).state is AccountsState.UNAVAILABLE


async def test_a_removed_company_leaves_the_queue(following: Following) -> None:
    await following.company(FIRST)
    following.answers[FIRST] = [an_element()]
    await following.once()
    key = CompanyKey.parse(f"no:{FIRST}")
    await following.loader.remove(key)
    await StoredChecks(following.loader.database).want({key: "2026"}, following.now)

    tally = await following.once()
    await following.once()

    assert following.asked == [FIRST, FIRST]
    assert tally.results["removed"] == 1
