"""Reads go on from a secondary while the primary does not answer."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Self, cast

import pytest
from pymongo import ReadPreference
from pymongo.errors import AutoReconnect

from common import mongo_reads
from common.contracts.failures import Unavailable
from common.mongo import Database
from common.mongo_reads import Reads

PRIMARY, SECONDARY = ReadPreference.PRIMARY_PREFERRED, ReadPreference.SECONDARY_PREFERRED
PATIENCE = 0.01


@dataclass
class Members:
    """A database whose members answer by their read preference, or hang."""

    #: Those that hang, and those of which the first operation does.
    hanging: list[Any]
    hanging_once: list[Any] = field(default_factory=list)
    read_preference: Any = None
    asked: list[Any] = field(default_factory=list)

    def with_options(self, read_preference: Any) -> Self:
        return type(self)(self.hanging, self.hanging_once, read_preference, self.asked)

    async def command(self, _name: str, *, read_preference: Any) -> None:
        await self.answer(read_preference)

    async def answer(self, preference: Any) -> None:
        self.asked.append(preference)
        hangs = preference in self.hanging
        if preference in self.hanging_once:
            self.hanging_once.remove(preference)
            hangs = True
        if hangs:
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
    # The third is a ping: a secondary that does not answer either is not waited for.
    assert members.asked == [PRIMARY, SECONDARY, SECONDARY, SECONDARY]


async def test_another_secondary_is_asked_beside_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mongo_reads, "SECONDARY_PATIENCE", PATIENCE)
    members = Members(hanging=[PRIMARY], hanging_once=[SECONDARY])
    companies = reads_of(members)["companies"]

    first = await companies.find_one({})
    members.hanging_once.append(SECONDARY)
    second = await companies.find_one({})

    assert first == second == {"_id": "dk:12345674"}


@dataclass
class Answers:
    """Reads that wait for an event, and then fail or not, in their order."""

    outcomes: list[bool]
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def find_one(self, _condition: object) -> dict[str, Any]:
        fails = not self.outcomes.pop(0)
        if not self.outcomes:
            self.go.set()  # both end in the same turn of the loop
        await self.go.wait()
        if fails:
            raise AutoReconnect("the member is gone")
        return {"_id": "dk:12345674"}


@pytest.mark.parametrize("outcomes", [[True, True], [True, False], [False, True]])
async def test_of_two_secondaries_that_end_together_the_one_with_an_answer_counts(
    outcomes: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo_reads, "SECONDARY_PATIENCE", PATIENCE)
    members = Members(hanging=[PRIMARY])
    reads = reads_of(members)
    await reads["companies"].find_one({})  # from now on a secondary is read at once

    monkeypatch.setattr(Members, "__getitem__", lambda _self, _name: Answers(outcomes))

    assert await reads["companies"].find_one({}) == {"_id": "dk:12345674"}


async def test_reads_fail_at_once_while_no_member_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mongo_reads, "PING_TIMEOUT", PATIENCE)
    members = Members(hanging=[PRIMARY, SECONDARY])
    reads = reads_of(members)

    with pytest.raises(Unavailable):
        await reads["companies"].find_one({})
    asked = len(members.asked)
    with pytest.raises(Unavailable):
        await reads["companies"].find_one({})

    assert len(members.asked) == asked


async def test_reads_go_on_when_a_member_answers_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mongo_reads, "PING_TIMEOUT", PATIENCE)
    monkeypatch.setattr(mongo_reads, "PROBE_INTERVAL", 0.0)
    members = Members(hanging=[PRIMARY, SECONDARY])
    companies = reads_of(members)["companies"]
    with pytest.raises(Unavailable):
        await companies.find_one({})
    members.hanging.clear()

    assert await companies.find_one({}) is not None


async def test_reads_of_the_primary_alone_wait_for_it() -> None:
    members = Members(hanging=[ReadPreference.PRIMARY])
    companies = Reads(cast(Database, members), from_secondaries=False, patience=PATIENCE)[
        "companies"
    ]

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(companies.find_one({}), 10 * PATIENCE)

    assert members.asked == [ReadPreference.PRIMARY]
