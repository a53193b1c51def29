"""Every kind of change of the registers ends as exactly one event, whatever happens to the sync."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from ingest.registers import table
from tests.conftest import DatabaseNames
from tests.integration.test_sync_crashes import everything, restore
from tests.syncing.changes import KINDS, Kind, Subjects, Told, counted, wrong
from tests.syncing.crashing import Killed, Steps
from tests.syncing.stories import MAX_STEPS
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration

SETTINGS: dict[str, Any] = {"companies": 120, "peppol_max_downloads_per_day": MAX_STEPS}
#: Longer than the Peppol Directory is left alone.
LATER = timedelta(hours=25)


async def told(world: World) -> Counter[Told]:
    return counted(await world.told())


def made(kinds: list[Kind], subjects: Subjects) -> dict[str, Told]:
    """Makes the changes; returns what is to be told of each."""
    return {kind.name: kind.told(kind.make(subjects)) for kind in kinds}


async def synced(world: World) -> None:
    await world.sync(*table.sources().values())


async def test_each_kind_of_change_is_one_event(
    mongo_url: str, database_names: DatabaseNames
) -> None:
    async with a_world(mongo_url, database_names.register, **SETTINGS) as world:
        await synced(world)
        world.clock.advance(LATER)
        subjects = Subjects(world.registers, world.clock().date())
        now = made([kind for kind in KINDS if not kind.is_ahead], subjects)
        ahead = made([kind for kind in KINDS if kind.is_ahead], subjects)

        for _ in range(2):
            await synced(world)
        at_once = await told(world)
        events = len(await world.events())
        world.clock.advance(timedelta(days=1))
        for _ in range(2):
            await synced(world)
        in_the_end = await told(world)

        assert wrong(now, at_once) == {}
        assert {name: at_once[each] for name, each in ahead.items() if at_once[each]} == {}
        assert wrong({**now, **ahead}, in_the_end) == {}
        assert (events, len(await world.events())) == (len(now), len(KINDS))


async def test_a_sync_killed_anywhere_and_run_again_makes_one_event_of_each(
    mongo_url: str, database_names: DatabaseNames
) -> None:
    async with a_world(mongo_url, database_names.register, **SETTINGS) as world:
        await synced(world)
        world.clock.advance(LATER)
        expected = made(list(KINDS), Subjects(world.registers, world.clock().date()))
        now = {kind.name: expected[kind.name] for kind in KINDS if not kind.is_ahead}

        await killed_anywhere(world, now)
        world.clock.advance(timedelta(days=1))
        await killed_anywhere(world, expected)


async def killed_anywhere(world: World, expected: dict[str, Told]) -> None:
    """Kills the pass over each source after each of its writes, and runs all again."""
    start, at = await everything(world), world.clock()
    for source in table.sources().values():
        lived = Steps()
        await table.passes(lived.of(world.wiring), source).once()
        for step in range(len(lived.taken)):
            await restore(world, start)
            with pytest.raises(Killed):
                await table.passes(Steps(dies_at=step).of(world.wiring), source).once()
            # The lease of the killed process ends, and the directory may be asked again.
            world.clock.advance(timedelta(hours=9))
            await synced(world)

            came = await told(world)
            assert wrong(expected, came) == {}, f"killed at step {step} of {source}"
            assert len(await world.events()) == len(expected)
            world.clock.advance(at - world.clock())
        await restore(world, start)
    await synced(world)
