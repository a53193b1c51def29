"""A sync killed after any write and run again ends with the same records, events and cursors."""

from typing import Any

import pytest

from ingest.following.passes import Outcome
from ingest.loading.stores import Position
from ingest.records.source import RegisterSource
from ingest.registers.brreg.group_sync import NO_GROUPS
from tests.conftest import DatabaseNames
from tests.syncing.crashing import Killed, Steps
from tests.syncing.stories import LATER, MAX_STEPS, SETTINGS, STORIES, Story, run
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("story", STORIES, ids=str)
async def test_a_sync_killed_after_any_write_and_run_again_ends_like_an_undisturbed_one(
    story: Story, mongo_url: str, database_names: DatabaseNames
) -> None:
    async with a_world(mongo_url, database_names.register, **SETTINGS) as world:
        await story.before(world)
        start, begun = await everything(world), world.clock()
        for kind in story.kinds:
            await restore(world, start)
            world.clock.set(begun)
            lived = Steps()
            await run(world, kind, lived)
            expected = await outcome(world, kind)

            for step in range(len(lived.taken)):
                await restore(world, start)
                killed = Steps(dies_at=step)
                with pytest.raises(Killed):
                    await run(world, kind, killed)
                world.clock.advance(LATER)

                assert await run(world, kind, Steps()) is Outcome.DONE
                assert await outcome(world, kind) == expected, f"{kind}, killed at step {step}"

            assert 3 < len(lived.taken) < MAX_STEPS, kind


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


async def outcome(world: World, kind: RegisterSource) -> tuple[dict[str, Any], Position | None]:
    """The stored records, events and cursors, without the times at which they were read."""
    stored = await world.contents()
    shown = {
        "companies": ("revision", "core", "owners"),
        "production_units": ("revision", "core", "company"),
        "participants": ("revision", "entry", "holder"),
        "tombstones": (),
        "outbox": ("type", "company", "revision"),
        "groups": ("members", "digest"),
    }
    contents = {
        name: {found["_id"]: [found[field] for field in fields] for found in stored[name]}
        for name, fields in shown.items()
    }
    # The place of a source without a feed is the time of its last look at all companies.
    is_time = kind is NO_GROUPS
    return contents, None if is_time else (await world.cursor(kind)).position
