"""Every kind of change of the registers ends as exactly one event, whatever happens to the sync."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from lookup.registers import table
from tests.conftest import DatabaseNames
from tests.syncing.changes import KINDS, Kind, Subjects, Told
from tests.syncing.stories import MAX_STEPS
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration

SETTINGS: dict[str, Any] = {"companies": 120, "peppol_max_downloads_per_day": MAX_STEPS}
#: Longer than the Peppol Directory is left alone.
LATER = timedelta(hours=25)


async def told(world: World) -> Counter[Told]:
    """Type, company and first part of each changed field of the events."""
    return Counter(
        (event["type"], f"{event['country']}:{event['vat']}", field)
        for event in await world.told()
        for field in {change["field"].partition(".")[0] for change in event["data"]["changes"]}
        or {""}
    )


def made(kinds: list[Kind], subjects: Subjects) -> dict[str, Told]:
    """Makes the changes; returns what is to be told of each."""
    return {kind.name: kind.told(kind.make(subjects)) for kind in kinds}


def wrong(expected: dict[str, Told], came: Counter[Told]) -> dict[str, int]:
    """How many events came of each kind that has not exactly one."""
    counts = {name: came[each] for name, each in expected.items()}
    return {name: count for name, count in counts.items() if count != 1}


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
