"""MongoDB's client, without a server: reads while the primary does not answer, and its waits."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Self, cast

import pymongo.lock
import pytest
from pymongo import ReadPreference
from pymongo.errors import AutoReconnect

from common.contracts.failures import Unavailable
from common.mongo import Database, Reads

PRIMARY, SECONDARY = ReadPreference.PRIMARY_PREFERRED, ReadPreference.SECONDARY_PREFERRED
PATIENCE = 0.01


@dataclass
class Members:
    """A database whose members answer by their read preference, or hang."""

    #: Members that hang, are gone, or hang at their next read.
    hanging: list[Any]
    failing: list[Any] = field(default_factory=list)
    hanging_once: list[Any] = field(default_factory=list)
    read_preference: Any = None
    asked: list[Any] = field(default_factory=list)

    def with_options(self, read_preference: Any) -> Self:
        return type(self)(
            self.hanging, self.failing, self.hanging_once, read_preference, self.asked
        )

    async def command(self, _name: str, *, read_preference: Any) -> None:
        await self.answer(read_preference)

    async def answer(self, preference: Any) -> None:
        self.asked.append(preference)
        if preference in self.failing:
            raise AutoReconnect("the member is gone")
        if preference in self.hanging_once:
            self.hanging_once.remove(preference)
            await asyncio.Event().wait()
        if preference in self.hanging:
            await asyncio.Event().wait()

    def __getitem__(self, _name: str) -> "Collection":
        return Collection(self)


@dataclass
class Collection:
    members: Members

    async def find_one(self, _condition: object) -> dict[str, Any]:
        await self.members.answer(self.members.read_preference)
        return {"_id": "dk:12345674"}


def reads_of(members: Members) -> Reads:
    return Reads(cast(Database, members), patience=PATIENCE)


async def test_the_primary_is_read_while_it_answers() -> None:
    members = Members(hanging=[])

    await reads_of(members)["companies"].find_one({})

    assert members.asked == [PRIMARY]


async def test_a_secondary_is_read_when_the_primary_hangs_and_then_at_once() -> None:
    members = Members(hanging=[PRIMARY])
    companies = reads_of(members)["companies"]

    found = [await companies.find_one({}) for _ in range(2)]

    assert found == [{"_id": "dk:12345674"}] * 2
    assert members.asked == [PRIMARY, SECONDARY, SECONDARY]


async def test_the_primary_is_read_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.mongo._SPARED", 0.0)
    members = Members(hanging=[PRIMARY])
    companies = reads_of(members)["companies"]
    await companies.find_one({})
    members.hanging.clear()

    await companies.find_one({})

    assert members.asked == [PRIMARY, SECONDARY, PRIMARY]


async def test_another_secondary_is_read_when_one_that_is_back_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("common.mongo.SECONDARY_PATIENCE", PATIENCE)
    members = Members(hanging=[PRIMARY], hanging_once=[SECONDARY])

    found = await reads_of(members)["companies"].find_one({})

    assert found == {"_id": "dk:12345674"}
    assert members.asked == [PRIMARY, SECONDARY, SECONDARY]


async def test_an_error_of_every_member_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.mongo.SECONDARY_PATIENCE", 0.0)
    members = Members(hanging=[PRIMARY], failing=[SECONDARY])

    with pytest.raises(Unavailable):
        await reads_of(members)["companies"].find_one({})


async def test_an_error_of_the_driver_is_unavailable() -> None:
    members = Members(hanging=[], failing=[PRIMARY])

    with pytest.raises(Unavailable):
        await reads_of(members).ping()


async def test_reads_of_the_primary_alone_wait_for_it() -> None:
    members = Members(hanging=[ReadPreference.PRIMARY])
    companies = Reads(cast(Database, members), from_secondaries=False, patience=PATIENCE)[
        "companies"
    ]

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(companies.find_one({}), 10 * PATIENCE)

    assert members.asked == [ReadPreference.PRIMARY]


async def test_an_operation_cancelled_while_its_wait_times_out_gets_its_lock_back() -> None:
    lock = pymongo.lock._async_create_lock()
    changed = pymongo.lock._async_create_condition(lock)

    async def operation() -> None:
        async with lock:
            await pymongo.lock._async_cond_wait(changed, 0.0)

    waiting = asyncio.create_task(operation())
    await asyncio.sleep(0)
    await lock.acquire()
    for _ in range(5):  # its wait times out, and it waits for the lock
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting], timeout=0.01)
    ended_without_lock = waiting.done()
    lock.release()
    await asyncio.wait([waiting])

    assert not ended_without_lock
    assert waiting.cancelled()
    assert not lock.locked()
