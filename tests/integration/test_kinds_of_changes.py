"""Every kind of change of the registers ends as exactly one event.

tests/integration/test_sync_crashes.py kills syncs.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from common.contracts.company import Country
from common.contracts.find import ExportPage, ExportRequest
from common.mongo import Reads
from company_registry import Event
from company_registry.mirror_store import MirrorStore, Place
from ingest.registers import table
from lookup.answers.exports import AnswerExports
from register_store.feed import StoredFeed
from register_store.reads import StoredCopies, StoredRegister
from tests.conftest import DatabaseNames
from tests.syncing.changes import KINDS, Kind, Subjects, Told, counted, wrong
from tests.syncing.world import World, a_world

pytestmark = pytest.mark.integration

#: Longer than the Peppol Directory is left alone.
LATER = timedelta(hours=25)


EVENTS_OF = {
    Country.DK: {
        *("company.updated", "company.status_changed", "owners.changed"),
        *("production_unit.updated", "production_unit.ended", "einvoicing.changed"),
    },
    Country.NO: {
        *("company.created", "company.updated", "company.status_changed", "company.removed"),
        *("owners.changed", "production_unit.created", "production_unit.ended"),
    },
}


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


@pytest.mark.parametrize("country", Country)
async def test_a_mirror_after_events_of_every_kind_is_the_export(
    mongo_url: str, database_names: DatabaseNames, tmp_path: Path, country: Country
) -> None:
    async with a_world(mongo_url, database_names.register, companies=120) as world:
        await synced(world)
        before = await exported(world, country)
        world.clock.advance(LATER)
        made(list(KINDS), Subjects(world.registers, world.clock().date()))
        for day in (0, 1):
            world.clock.advance(timedelta(days=day))
            for _ in range(2):
                await synced(world)
        events = [Event.model_validate(each) for each in await world.told()]
        after = await exported(world, country)

    mirrored = bodies(tmp_path / "mirror.sqlite", country, before, events)

    assert len(before) > 100
    assert {each.type for each in events if each.country == country} >= EVENTS_OF[country]
    assert mirrored == bodies(tmp_path / "copy.sqlite", country, after, [])


async def exported(world: World, country: Country) -> list[bytes]:
    """The lines of an export."""
    # Without filters, an export needs no index.
    answers = AnswerExports(
        StoredCopies(world.database),
        StoredFeed(world.database, retention=timedelta(days=30), now=world.clock),
        None,  # type: ignore[arg-type]
        StoredRegister(Reads(world.database)),
        None,  # type: ignore[arg-type]
    )
    [page] = await answers([ExportRequest(country=country)])
    assert isinstance(page, ExportPage)
    return page.lines.splitlines()


def bodies(
    path: Path, country: Country, lines: Sequence[bytes], events: Sequence[Event]
) -> dict[str, str]:
    """The rows of a mirror of an export and the events after it, as they are stored."""
    with closing(MirrorStore(path, country.value)) as store:
        store.store(map(orjson.loads, lines), Place())
        store.apply(events, Place())
    with closing(sqlite3.connect(path)) as database:
        return dict(database.execute("SELECT vat, body FROM companies"))
