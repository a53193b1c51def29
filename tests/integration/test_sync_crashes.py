"""A sync killed at any step ends with the same records, events and cursors."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from lookup.ingest.feeds import Position
from lookup.ingest.register_source import RegisterSource
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from lookup.registers.cvr.sources import DK_COMPANIES, DK_UNITS
from lookup.registers.peppol.sources import PEPPOL
from lookup.registers.table import sources
from register_samples.server import Access
from register_samples.server.norwegian import innehaver
from tests.conftest import DatabaseNames
from tests.syncing.crashing import CrashingSync, Killed, Steps
from tests.syncing.world import NORWAY, World, a_world

pytestmark = pytest.mark.integration

#: Longer than the Peppol Directory is left alone after a download that came to nothing.
LATER = timedelta(hours=9)
#: Far more than there are; a story without an end would be a fault of the test.
MAX_STEPS = 200


async def first_of_all(_world: World) -> None:
    """Nothing is stored yet."""


async def a_day_later(world: World) -> None:
    """All was synced, and then the registers went on."""
    await world.sync(*sources().values())
    world.change_a_lot()
    world.registers.publish()
    world.clock.advance(timedelta(hours=25))


async def a_day_later_with_companies(world: World) -> None:
    """The companies are up to date already, so that nothing is done about them on the way."""
    await a_day_later(world)
    await world.sync(NO_ENTITIES, DK_COMPANIES)


async def a_new_company_later(world: World) -> None:
    """An entity that is stored before its units and its owners."""
    await world.sync(*sources().values())
    norwegian, _ = world.registers.add_companies()
    world.registers.no.units.add(
        {**world.registers.no.units.documents["310345687"], "overordnetEnhet": norwegian}
    )
    world.registers.no.set_roles(norwegian, innehaver("Kari", "Testesen", "1970-01-01"))


async def a_missed_week_later(world: World) -> None:
    """As before, but the feeds have no entry of the change."""
    await a_day_later(world)
    world.forget_feeds()
    world.clock.advance(timedelta(days=7))


@dataclass(frozen=True)
class Story:
    before: Callable[[World], Awaitable[None]]
    kind: RegisterSource

    def __str__(self) -> str:
        return f"{self.before.__name__}-{self.kind}"


async def a_missed_week_later_with_companies(world: World) -> None:
    await a_missed_week_later(world)
    await world.sync(NO_ENTITIES)


COMPANIES = (NO_ENTITIES, DK_COMPANIES)
OF_COMPANIES = (NO_UNITS, NO_ROLES, DK_UNITS)
STORIES = [
    *(Story(first_of_all, kind) for kind in sources().values()),
    *(Story(a_day_later, kind) for kind in (*COMPANIES, PEPPOL)),
    *(Story(a_day_later_with_companies, kind) for kind in OF_COMPANIES),
    *(Story(a_new_company_later, kind) for kind in OF_COMPANIES),
    Story(a_missed_week_later, NO_ENTITIES),
    *(Story(a_missed_week_later_with_companies, kind) for kind in NORWAY[1:]),
]


@pytest.mark.parametrize("story", STORIES, ids=str)
async def test_a_sync_killed_after_any_step_and_run_again_ends_like_an_undisturbed_one(
    story: Story, mongo_url: str, database_names: DatabaseNames
) -> None:
    often = Access(downloads_a_day=MAX_STEPS)
    async with a_world(
        mongo_url,
        database_names.register,
        companies=20,
        access=often,
        sync_page_size=8,
        peppol_max_downloads_per_day=MAX_STEPS,
    ) as world:
        await story.before(world)
        start = await everything(world)
        lived = Steps()
        await run(world, story.kind, lived)
        expected = await outcome(world, story.kind)

        for step in range(lived.count):
            await restore(world, start)
            with pytest.raises(Killed):
                await run(world, story.kind, Steps(dies_at=step))
            world.clock.advance(LATER)
            await run(world, story.kind, Steps())

            assert await outcome(world, story.kind) == expected, f"killed at step {step}"

        assert 5 < lived.count < MAX_STEPS


async def run(world: World, kind: RegisterSource, steps: Steps) -> None:
    await CrashingSync.around(world.wiring, steps).passes(kind).once()


async def everything(world: World) -> dict[str, list[dict[str, Any]]]:
    """The whole database."""
    names = await world.database.list_collection_names()
    return {name: await world.database[name].find().to_list(None) for name in names}


async def restore(world: World, start: dict[str, list[dict[str, Any]]]) -> None:
    for name in await world.database.list_collection_names():
        await world.database[name].delete_many({})
    for name, documents in start.items():
        if documents:
            await world.database[name].insert_many(documents)


async def outcome(world: World, kind: RegisterSource) -> tuple[dict[str, Any], Position]:
    """The stored records, events and cursors, without the times at which they were read."""
    stored = await world.contents()
    shown = {
        "companies": ("revision", "core", "owners"),
        "production_units": ("revision", "core", "company"),
        "participants": ("revision", "entry", "holder"),
        "tombstones": (),
        "outbox": ("type", "company", "revision"),
    }
    contents = {
        name: {found["_id"]: [found[field] for field in fields] for found in stored[name]}
        for name, fields in shown.items()
    }
    return contents, (await world.cursor(kind)).position
