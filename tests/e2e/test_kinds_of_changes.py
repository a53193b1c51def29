"""Every kind of change of the registers is one delivery, though the sync is killed in between."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pymongo
import pytest

from common.domain.countries import day_of
from common.leases import LEASES
from local_stack.processes import Process, wait_for
from register_samples.server import Registers, Served, serving
from tests.delivery.receiver import Receiver
from tests.delivery.waiting import SOON
from tests.e2e.client import Client
from tests.e2e.conftest import COMPANIES, Running
from tests.e2e.feed import FOLLOWED, started
from tests.syncing.changes import KINDS, Subjects, counted, wrong

pytestmark = pytest.mark.e2e

PATH = "/kinds"


async def test_each_kind_of_change_is_delivered_once(
    running: Running,
    owner: Client,
    receiver: Receiver,
    databases: pymongo.MongoClient[dict[str, Any]],
) -> None:
    registers = Registers(companies=COMPANIES)
    register = databases[running.names.register]
    async with serving(registers) as served:
        with syncing(running, served, "sync") as first:
            assert await asyncio.to_thread(
                wait_for, lambda: first.exit_status is not None, seconds=SOON
            )
        subjects = Subjects(registers, day_of(datetime.now(UTC)))
        expected = {kind.name: kind.told(kind.make(subjects)) for kind in KINDS}
        ahead = sum(kind.is_ahead for kind in KINDS)
        companies = sorted({company for _, company, _ in expected.values()})
        webhook = await owner.subscribe(receiver, PATH, filter={"companies": companies})

        with syncing(running, served, "serve") as killed:
            await receiver.next(PATH)
            await asyncio.to_thread(killed.kill)
        # As if its leases had expired.
        register[LEASES].delete_many({"_id": {"$regex": "^sync:"}})
        with syncing(running, served, "serve"):
            await receiver.next(PATH, number=len(KINDS) - ahead, seconds=2 * SOON)
        the_next_day(register, subjects)
        with syncing(running, served, "serve", cvr_overlap="PT0.001S"):
            await receiver.next(PATH, number=len(KINDS), seconds=2 * SOON)
            await owner.test(webhook)
            await receiver.next(PATH, number=len(KINDS) + 1)

    received = receiver.at(PATH)
    assert all(each.genuine for each in received)
    assert wrong(expected, counted(each.event for each in received[:-1])) == {}
    assert [each.event["type"] for each in received].count("webhook.test") == 1


@contextmanager
def syncing(running: Running, served: Served, command: str, **settings: str) -> Iterator[Process]:
    """A command over the sources but accounts, which ends with the body, also when that fails."""
    process = started(running.system, served, command, *FOLLOWED, **settings).process
    try:
        yield process
    finally:
        process.stop()


def the_next_day(register: Any, subjects: Subjects) -> None:
    """Upcoming records of tomorrow come today, as if a day had passed.

    The documents say tomorrow still, so the sync is to read others from here on.
    """
    danish = subjects.registers.dk
    for index in (danish.companies, danish.units):
        index.change(next(iter(index.documents)), lambda _: None)
    for stored in register["upcoming"].find({"day": str(subjects.tomorrow)}).to_list():
        days = [{**each, "day": str(subjects.today)} for each in stored["days"][:1]]
        change = {"day": str(subjects.today), "days": [*days, *stored["days"][1:]]}
        register["upcoming"].update_one({"_id": stored["_id"]}, {"$set": change})
