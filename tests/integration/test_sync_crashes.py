"""A sync killed after a write to MongoDB ends with the same records, events and cursors.

Every step of every story is in `tests/unit/lookup/test_sync_crashes.py`, in memory. These stories
have each kind of write, and each kind of record among them.
"""

from typing import Any

import pytest

from lookup.ingest.feeds import Position
from lookup.ingest.passes import Outcome
from lookup.ingest.register_source import RegisterSource
from lookup.registers.brreg.sources import NO_ENTITIES, NO_ROLES, NO_UNITS
from lookup.registers.cvr.sources import DK_COMPANIES
from lookup.registers.peppol.sources import PEPPOL
from tests.conftest import DatabaseNames
from tests.syncing.crashing import Killed, Steps
from tests.syncing.stories import (
    LATER,
    SETTINGS,
    Story,
    a_day_later,
    a_day_later_with_companies,
    a_new_company_later,
    first_of_all,
    run,
)
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration

#: A sync is killed after the first of each of these.
WRITES = ("take", "begin", "write", "remove", "finish", "move")

STORIES = {
    Story(first_of_all, DK_COMPANIES): {"take", "begin", "write", "move", "finish"},
    Story(first_of_all, PEPPOL): {"take", "move", "begin", "write", "finish"},
    Story(a_day_later, NO_ENTITIES): {"take", "remove", "write", "move"},
    Story(a_day_later_with_companies, NO_UNITS): {"take", "write", "move"},
    Story(a_new_company_later, NO_ROLES): {"take", "write", "move"},
}


@pytest.mark.parametrize("story", STORIES, ids=str)
async def test_a_sync_killed_after_a_write_and_run_again_ends_like_an_undisturbed_one(
    story: Story, mongo_url: str, database_names: DatabaseNames
) -> None:
    async with a_world(mongo_url, database_names.register, **SETTINGS) as world:
        await story.before(world)
        start = await everything(world)
        lived = Steps()
        await run(world, story.kind, lived)
        expected = await outcome(world, story.kind)
        written = {method: lived.taken.index(method) for method in WRITES if method in lived.taken}

        for step in written.values():
            await restore(world, start)
            with pytest.raises(Killed):
                await run(world, story.kind, Steps(dies_at=step))
            world.clock.advance(LATER)

            assert await run(world, story.kind, Steps()) is Outcome.DONE
            assert await outcome(world, story.kind) == expected, f"killed at step {step}"

        assert written.keys() == STORIES[story]


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
