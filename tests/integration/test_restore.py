"""A register restored from a backup, by the commands of docs/operations.md.

tests/contract/test_releases.py has the Jobs that `deploy/k8s/run resume` makes of them.
"""

import asyncio
import os
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from common.mongo import Database
from ingest.app import connect
from ingest.commands import main
from ingest.publishing.outbox import StoredOutbox
from ingest.registers.brreg.sync import NO_ENTITIES
from register_store.indexes import make_indexes
from tests.commanding import run_main
from tests.conftest import DatabaseNames
from tests.syncing.world import NORWAY, World, sync_settings

pytestmark = pytest.mark.integration

COMPANY, REMOVED, FOUNDED = "310345679", "310345806", "310999911"
RETENTION = timedelta(days=30)
#: By which `restored` skips unless told otherwise: events of both registers may have any number.
SKIPPED = 1_000_000


Dump = dict[str, list[dict[str, Any]]]


async def dump(database: Database) -> Dump:
    names = await database.list_collection_names()
    return {name: await database[name].find().to_list(None) for name in names}


async def restore(dumped: Dump, database: Database) -> None:
    for name, documents in dumped.items():
        if documents:
            await database[name].insert_many(documents)
    await make_indexes(database)


async def change(world: World, name: str) -> dict[str, Any]:
    """The event of a company's new name."""
    world.rename(COMPANY, name)
    await world.sync(NO_ENTITIES)
    return (await world.told())[-1]


async def founding(world: World) -> dict[str, Any]:
    """The event of the company that is founded after the backup."""
    [event] = [event for event in await world.told() if event["vat"] == FOUNDED]
    return event


async def publish(world: World) -> int:
    """The position of the last event that waited."""
    outbox = StoredOutbox(world.database, retention=RETENTION)
    at = world.clock()
    waiting = [event.id for event in await outbox.waiting(100)]
    return await outbox.mark(waiting, at=at, again_at=at)


async def test_what_is_given_out_after_a_restore_is_new(
    world: World, mongo_url: str, database_names: DatabaseNames
) -> None:
    #: Restored under this name.
    empty = database_names.access

    async def typed(name: str, *words: str) -> str:
        own = {"MONGO_URL": mongo_url, "REGISTER_DB": name}
        ran = partial(run_main, "ingest", *words, environment={**os.environ, **own})
        status, output, error = await asyncio.to_thread(ran)
        assert status == 0, error
        return output

    await world.sync(*NORWAY)
    await change(world, "BEFORE AS")
    await publish(world)
    backup = await dump(world.database)
    world.registers.no.entities.add({"organisasjonsnummer": FOUNDED, "navn": "PRØVEN AS"})
    lost = await change(world, "LOST AS")
    founded = await founding(world)
    lost_position = await publish(world)
    await typed(world.database.name, "remove", "no", REMOVED)
    removed = await typed(world.database.name, "removed")

    async with AsyncExitStack() as stack:
        settings = sync_settings(mongo_url, empty, world.served)
        wiring = await connect(*settings, stack, holder="restored", now=world.clock)
        restored = World(world.served, wiring, world.clock)
        await restore(backup, restored.database)
        for line in removed.splitlines():
            await typed(empty, "remove", *line.split())
        await typed(empty, "restored")
        await typed(empty, "republish", "--since", world.clock().isoformat())
        told = await change(restored, "NEW AS")
        founded_again = await founding(restored)
        position = await publish(restored)
        stored = await restored.contents()

    assert removed == f"no {REMOVED}\n"
    assert told["data"]["company"]["name"] == "NEW AS"
    # Without these commands, receivers and readers would take them for what they have already.
    assert told["id"] != lost["id"]
    assert told["revision"] > lost["revision"]
    assert founded_again["revision"] > founded["revision"]
    assert position > lost_position + SKIPPED // 2
    assert f"no:{REMOVED}" not in {company["_id"] for company in stored["companies"]}


async def test_a_reloaded_register_continues_above_the_positions_of_the_lost_one(
    world: World, mongo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONGO_URL", mongo_url)
    monkeypatch.setenv("REGISTER_DB", world.database.name)
    await world.sync(*NORWAY)
    lost = await change(world, "LOST AS")
    lost_position = await publish(world)
    for name in await world.database.list_collection_names():
        await world.database[name].delete_many({})

    with pytest.raises(SystemExit, match="0"):
        await asyncio.to_thread(main, ["restored"])
    await world.sync(*NORWAY)
    told = await change(world, "NEW AS")
    position = await publish(world)

    assert told["revision"] > lost["revision"]
    assert told["id"] != lost["id"]
    assert position > lost_position + SKIPPED // 2
