"""A sync killed at any step and run again ends with the same records, events and cursors.

The stores are in memory. A killed sync leaves them as they were after its last step, so the second
sync begins on a copy that the undisturbed one made there. `tests/integration` kills syncs at some
of these steps over MongoDB.
"""

from typing import Any

import pytest

from lookup.ingest.passes import Outcome
from lookup.ingest.register_source import RegisterSource
from tests.syncing.crashing import Steps
from tests.syncing.memory import MemoryStores, a_world_in_memory
from tests.syncing.stories import LATER, MAX_STEPS, SETTINGS, STORIES, Story, run


@pytest.mark.parametrize("story", STORIES, ids=str)
async def test_a_sync_killed_at_any_step_and_run_again_ends_like_an_undisturbed_one(
    story: Story,
) -> None:
    async with a_world_in_memory(**SETTINGS) as world:
        await story.before(world)
        left: list[MemoryStores] = []
        lived = Steps(then=lambda: left.append(world.stores.snapshot()))
        await run(world, story.kind, lived)
        expected = outcome(world.stores, story.kind)

        for step, stores in enumerate(left):
            world.clock.advance(LATER)

            assert await run(world.on(stores), story.kind, Steps()) is Outcome.DONE
            assert outcome(stores, story.kind) == expected, f"killed at step {step}"

        assert 5 < len(lived.taken) < MAX_STEPS


def outcome(stores: MemoryStores, kind: RegisterSource) -> tuple[Any, ...]:
    """The stored records, events and cursors, without the times at which they were read."""
    writer = stores.writer
    return (
        {key: (one.revision, one.core, one.owners) for key, one in writer.companies.items()},
        {key: (one.revision, one.core, one.company) for key, one in writer.units.items()},
        {key: (one.revision, one.entry, one.holder) for key, one in writer.participants.items()},
        writer.tombstones,
        {event.id: (event.type, event.company, event.revision) for event in writer.outbox},
        stores.cursors.cursors[kind.name].position,
    )
