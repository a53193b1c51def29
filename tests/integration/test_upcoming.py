"""Upcoming records are applied on their day, by a pass over their source or an import."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from common.contracts.company import CompanyKey, Status, UnitKey
from ingest.changes.states import Verdict
from ingest.following.passes import Outcome
from ingest.loading.load import apply_due
from ingest.records.records import SourceVersion
from ingest.registers import table
from ingest.registers.cvr.sync import DK_COMPANIES, DK_UNITS
from register_samples.server import Failure
from tests.builders.companies import (
    a_company,
    a_company_record,
    a_renamed_record,
    a_unit,
    a_unit_record,
)
from tests.conftest import DatabaseNames
from tests.integration.test_sync_crashes import everything, restore
from tests.syncing.crashing import Killed, Steps
from tests.syncing.world import START, World, a_world

pytestmark = pytest.mark.integration

#: Of a company and a unit that the sample registers do not have.
COMPANY, UNIT = CompanyKey.parse("dk:20000001"), UnitKey.parse("dk:2000000001")
VERSION = SourceVersion(START)
MORNING = START.date()


def day(number: int) -> date:
    return MORNING + timedelta(days=number)


async def store(world: World, *records: Any) -> None:
    for record in records:
        await world.wiring.stores.apply([record], VERSION, publish_events=True)


async def prepared(world: World) -> None:
    """Loads the register; a company is renamed twice and a unit ends on later days."""
    await world.sync(DK_COMPANIES, DK_UNITS)
    vat = COMPANY.number
    names = [a_renamed_record(name, vat=vat, version=VERSION) for name in ("Anden", "Tredje")]
    company = a_company_record(a_company(vat=vat), version=VERSION)
    unit = a_unit_record(a_unit(number=UNIT.number), company=vat, version=VERSION)
    ended = a_unit_record(
        a_unit(number=UNIT.number, status=Status.ENDED), company=vat, version=VERSION
    )
    await store(
        world,
        replace(company, upcoming=((day(2), names[0]), (day(5), names[1]))),
        replace(unit, upcoming=((day(2), ended),)),
    )
    await world.database["outbox"].delete_many({})


async def told(world: World) -> list[str]:
    return await world.events_of(COMPANY)


async def test_each_change_comes_with_the_pass_of_its_day(world: World) -> None:
    await prepared(world)

    happened = []
    for _ in range(7):
        await world.sync(DK_COMPANIES, DK_UNITS)
        happened.append(len(await told(world)))
        world.clock.advance(timedelta(days=1))

    assert happened == [0, 0, 2, 2, 2, 3, 3]
    assert await told(world) == ["company.updated", "production_unit.ended", "company.updated"]
    assert await world.name_of(COMPANY.number, country="dk") == "Tredje"
    assert await world.database["upcoming"].count_documents({}) == 0


async def test_days_that_passed_while_nothing_ran_are_one_change(world: World) -> None:
    await prepared(world)
    world.clock.advance(timedelta(days=30))

    await world.sync(DK_COMPANIES, DK_UNITS)

    assert await told(world) == ["company.updated", "production_unit.ended"]
    assert await world.name_of(COMPANY.number, country="dk") == "Tredje"


async def test_a_day_comes_also_if_the_register_does_not_answer(world: World) -> None:
    await prepared(world)
    world.clock.advance(timedelta(days=2))
    world.served.faults.plan("/virksomhed/_search", Failure(404))

    outcomes = await world.outcomes(DK_COMPANIES)

    assert outcomes == [Outcome.REGISTER_FAULT]
    assert await world.name_of(COMPANY.number, country="dk") == "Anden"


async def test_a_newer_record_replaces_what_was_to_come(world: World) -> None:
    await prepared(world)
    newer = a_renamed_record(
        "Fjerde", vat=COMPANY.number, version=SourceVersion(START + timedelta(days=1))
    )
    await store(world, newer)
    world.clock.advance(timedelta(days=9))

    await world.sync(DK_COMPANIES)

    assert await world.name_of(COMPANY.number, country="dk") == "Fjerde"
    assert await told(world) == ["company.updated"]


async def test_a_removed_company_takes_what_was_to_come_with_it(world: World) -> None:
    await prepared(world)
    await world.wiring.stores.remove_company(DK_COMPANIES.name, COMPANY)
    world.clock.advance(timedelta(days=2))

    await world.sync(DK_COMPANIES, DK_UNITS)

    assert await told(world) == ["company.removed"]
    assert await world.database["upcoming"].count_documents({}) == 0


async def test_what_an_earlier_release_has_replaced_is_forgotten(world: World) -> None:
    await prepared(world)
    later = [START + timedelta(days=1), 0]
    await world.database["companies"].update_one({"_id": COMPANY}, {"$set": {"version": later}})
    world.clock.advance(timedelta(days=2))

    verdicts = await apply_due(DK_COMPANIES, world.wiring.stores)

    assert verdicts == [Verdict.STALE]
    assert await told(world) == []
    assert await world.found("upcoming", COMPANY) is None


async def test_a_sync_killed_on_the_day_and_run_again_makes_each_change_once(
    mongo_url: str, database_names: DatabaseNames
) -> None:
    async with a_world(mongo_url, database_names.register, companies=3) as world:
        await prepared(world)
        world.clock.advance(timedelta(days=2))
        start = await everything(world)
        lived = Steps()
        await table.passes(lived.of(world.wiring), DK_COMPANIES).once()

        for step in range(len(lived.taken)):
            await restore(world, start)
            with pytest.raises(Killed):
                await table.passes(Steps(dies_at=step).of(world.wiring), DK_COMPANIES).once()
            world.clock.advance(timedelta(minutes=1))
            await world.sync(DK_COMPANIES)

            assert await told(world) == ["company.updated"], f"killed at step {step}"
            assert await world.name_of(COMPANY.number, country="dk") == "Anden"

        assert "write" in lived.taken
