"""Batches of the outbox keep one order through every failure in their middle."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

import pytest

from common.contracts.failures import Unavailable
from ingest.publishing import publisher
from ingest.publishing.outbox import StoredOutbox, WaitingEvent
from register_store.documents import OUTBOX
from register_store.feed import Batch, Superseded
from tests.builders.outbox import RETENTION, Outbox, bodies
from tests.fakes.ingest import FakeBus

pytestmark = pytest.mark.integration

BATCH = 4


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "BATCH", BATCH)


async def store(outbox: Outbox, *, companies: int = 3, revisions: int = 8) -> list[str]:
    """Events of each company, whose ids begin with it and end with their revision."""
    for company in range(companies):
        ids = [f"{company}-{revision:02}" for revision in range(1, revisions + 1)]
        await outbox.store(*ids, company=f"dk:{company}")
    return sorted(await outbox.unpublished())


def is_in_order(events: Sequence[str]) -> bool:
    """Whether the first publications of each company's events are in the order of revisions."""
    revisions: defaultdict[str, list[str]] = defaultdict(list)
    for event in dict.fromkeys(events):
        revisions[event.partition("-")[0]].append(event)
    return all(one == sorted(one) for one in revisions.values())


@dataclass
class FailingBus(FakeBus):
    """Does not take each event at its first publication that is in `failing`."""

    failing: set[str] = field(default_factory=set)

    async def publish(self, event: WaitingEvent) -> None:
        if event.id in self.failing:
            self.failing.remove(event.id)
            raise Unavailable("the broker did not take it")
        await super().publish(event)


@pytest.mark.parametrize("failing", [{"0-01"}, {"0-05"}, {"0-06", "1-05"}, {"2-08"}, {"1-03"}])
async def test_no_event_overtakes_an_unpublished_one_of_its_company(
    outbox: Outbox, failing: set[str]
) -> None:
    ids = await store(outbox)
    bus = FailingBus(failing=set(failing))
    publish = outbox.publisher(bus=bus)

    while await outbox.unpublished():
        try:
            await publish()
        except Unavailable:
            assert not bus.taken  # the first event of all

    feed = bodies(await outbox.read())
    assert sorted(bus.taken) == sorted(feed) == ids
    assert is_in_order(bus.taken)
    assert is_in_order(feed)
    assert bus.taken == feed


@dataclass
class TakenOver(StoredOutbox):
    """Loses its lease to another process, which publishes everything, before its second mark."""

    outbox: Outbox
    marks: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.outbox.register, retention=RETENTION)

    async def mark(self, events: Sequence[str], *, at: datetime, again_at: datetime) -> int:
        self.marks += 1
        if self.marks == 2:
            await self.outbox.publisher()()
        return await super().mark(events, at=at, again_at=again_at)


async def test_a_process_that_loses_its_lease_between_batches_gives_no_more_positions(
    outbox: Outbox,
) -> None:
    ids = await store(outbox)
    stored = TakenOver(outbox)
    publish = outbox.publisher(stored)

    with pytest.raises(Superseded):
        await publish()
    count = await publish()

    repeated = Counter(outbox.bus.taken)
    assert (stored.marks, count) == (2, 0)
    assert bodies(await outbox.read()) == ids
    assert sorted(repeated) == ids
    assert is_in_order(outbox.bus.taken)
    # The batch that could not be marked.
    assert sum(repeated.values()) - len(ids) == BATCH


class Killed(Exception):
    """The process was killed; nothing that it does after that happens."""


@dataclass
class Life:
    """A process that is killed after so many steps."""

    steps: int

    def step(self) -> None:
        if self.steps == 0:
            raise Killed
        self.steps -= 1


class MortalOutbox(StoredOutbox):
    """May be killed before and after each of its reads and writes."""

    def __init__(self, outbox: Outbox, life: Life) -> None:
        super().__init__(outbox.register, retention=RETENTION)
        self._life = life

    async def waiting(self, limit: int) -> Sequence[WaitingEvent]:
        self._life.step()
        events = await super().waiting(limit)
        self._life.step()
        return events

    async def mark(self, events: Sequence[str], *, at: datetime, again_at: datetime) -> int:
        self._life.step()
        position = await super().mark(events, at=at, again_at=again_at)
        self._life.step()
        return position

    async def _completed(self, batch: Batch) -> Batch:
        self._life.step()  # it is appended
        completed = await super()._completed(batch)
        self._life.step()
        return completed


@dataclass
class MortalBus(FakeBus):
    """May be killed before and after the confirm of an event."""

    life: Life = field(default_factory=lambda: Life(0))

    async def publish(self, event: WaitingEvent) -> None:
        self.life.step()
        await super().publish(event)
        self.life.step()


@pytest.mark.parametrize("seed", range(12))
async def test_a_process_that_is_killed_anywhere_repeats_one_batch_at_most(
    outbox: Outbox, seed: int
) -> None:
    random = Random(seed)
    ids = await store(outbox)
    taken = outbox.bus.taken
    deaths = 0

    while await outbox.unpublished():
        life = Life(random.randrange(60))
        publish = outbox.publisher(MortalOutbox(outbox, life), MortalBus(taken=taken, life=life))
        try:
            await publish()
        except Killed:
            deaths += 1

    await outbox.publisher()()
    feed = bodies(await outbox.read())
    positions = await outbox.register[OUTBOX].distinct("position")
    assert deaths
    assert sorted(feed) == sorted(set(taken)) == ids
    assert is_in_order(taken)
    assert is_in_order(feed)
    assert positions == list(range(1, len(ids) + 1))
    assert len(taken) - len(ids) <= deaths * BATCH
