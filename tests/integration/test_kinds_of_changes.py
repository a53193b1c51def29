"""Every kind of change of the registers ends as exactly one event.

tests/integration/test_sync_crashes.py kills syncs.
"""

from collections import Counter
from datetime import timedelta

import pytest

from ingest.registers import table
from tests.conftest import DatabaseNames
from tests.syncing.changes import KINDS, Kind, Subjects, Told, counted, wrong
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration

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
    async with a_world(mongo_url, database_names.register, companies=120) as world:
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
