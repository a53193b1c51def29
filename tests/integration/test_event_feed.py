"""The feed of published events: each once, in one order, from any publishing process."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from common.contracts.company import Country
from common.contracts.events import EventType
from common.contracts.failures import Unavailable
from common.contracts.feed import FeedFilter, FeedNotice, FeedPage, FeedRequest, PublishedEvent
from common.mongo import Database
from lookup.changes.transaction import StoredRegisterWriter
from lookup.events import feed as feed_module
from lookup.events.feed import StoredFeed
from lookup.events.order import Superseded
from lookup.events.outbox import StoredOutbox
from lookup.events.publisher import PublishOutbox
from lookup.store.documents import EVENT_BATCHES, OUTBOX
from tests.builders.companies import an_outbox_row
from tests.fakes.lookup import FakeBus

pytestmark = pytest.mark.integration

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
RETENTION = timedelta(days=30)
TIMEOUT = timedelta(minutes=2)


@dataclass
class World:
    register: Database
    now: datetime = NOON
    bus: FakeBus = field(default_factory=FakeBus)

    def outbox(self) -> StoredOutbox:
        return StoredOutbox(self.register, retention=RETENTION)

    def publisher(self, outbox: StoredOutbox | None = None) -> PublishOutbox:
        return PublishOutbox(outbox or self.outbox(), self.bus, lambda: self.now, TIMEOUT)

    @property
    def feed(self) -> StoredFeed:
        return StoredFeed(self.register, retention=RETENTION, now=lambda: self.now)

    async def store(self, *ids: str, **fields: Any) -> None:
        await self.register[OUTBOX].insert_many(
            an_outbox_row(identifier, **{"revision": number, **fields})
            for number, identifier in enumerate(ids, 1)
        )

    async def published(self, *ids: str, **fields: Any) -> None:
        await self.store(*ids, **fields)
        await self.publisher()()

    async def read(
        self, after: int | None = None, *, owner: str = "acme", **fields: Any
    ) -> FeedPage:
        limits = FeedFilter(
            **{name: fields.pop(name) for name in FeedFilter.model_fields if name in fields}
        )
        request = FeedRequest(owner=owner, after=after, filter=limits, **{"limit": 100, **fields})
        return await self.feed.read(request)


@pytest.fixture(name="world")
def _world(register_db: Database) -> World:
    return World(register_db)


def bodies(page: FeedPage) -> list[str]:
    return [event.body.decode() for event in page.events]


async def test_a_reader_gets_each_event_once_in_the_order_of_publication(world: World) -> None:
    await world.published("b", "a")
    await world.published("d", "c")

    first = await world.read(limit=3)
    rest = await world.read(first.position)

    assert bodies(first) == ["b", "a", "d"]
    assert first.has_more
    assert bodies(rest) == ["c"]
    assert not rest.has_more
    assert bodies(await world.read(rest.position)) == []


async def test_an_event_that_is_stored_late_follows_published_ones(world: World) -> None:
    await world.published("late", revision=7)
    page = await world.read()
    await world.published("early", revision=1)

    assert bodies(await world.read(page.position)) == ["early"]


async def test_an_unpublished_event_is_not_in_the_feed(world: World) -> None:
    await world.store("a")

    assert await world.read() == FeedPage(position=0)
    assert await world.feed.event("a", owner="acme") is None


async def test_an_event_of_a_type_that_another_release_published_is_passed_over(
    world: World,
) -> None:
    await world.published("a", "b", "c")
    await world.register[OUTBOX].update_one({"_id": "b"}, {"$set": {"type": "company.teleported"}})

    pages = [await world.read(), await world.read(1), await world.read(recent=True)]

    assert [[event.body for event in page.events] for page in pages] == [
        [b"a", b"c"],
        [b"c"],
        [b"a", b"c"],
    ]
    assert {page.position for page in pages} == {3}


async def test_a_reader_may_start_at_the_end(world: World) -> None:
    await world.published("a", "b")

    page = await world.read(latest=True)

    assert page == FeedPage(position=2)


async def test_a_reader_may_start_with_the_newest_events(world: World) -> None:
    await world.published("a", "b", "c")
    await world.published("d", type="owners.changed")

    page = await world.read(recent=True, limit=2)
    kinds = (EventType.COMPANY_UPDATED,)
    filtered = await world.read(recent=True, limit=2, types=kinds)
    everything = await world.read(recent=True, limit=9)

    assert (bodies(page), page.position, page.has_more) == (["c", "d"], 4, False)
    assert (bodies(filtered), filtered.position) == (["b", "c"], 4)
    assert bodies(everything) == ["a", "b", "c", "d"]
    assert await world.read(page.position) == FeedPage(position=4)


async def test_readers_are_notified_of_published_events(world: World) -> None:
    await world.published("a", type="owners.changed")

    assert world.bus.notices == [
        FeedNotice(
            position=1,
            events=(PublishedEvent(type=EventType.OWNERS_CHANGED, company="dk:12345674"),),
        )
    ]


@pytest.mark.parametrize(
    "limits, expected",
    [
        ({"types": (EventType.OWNERS_CHANGED,)}, ["c"]),
        ({"countries": (Country.NO,)}, ["b", "c"]),
        ({"companies": ("dk:12345674", "no:999")}, ["a"]),
        ({"companies": ("dk:12345674", "no:923609016"), "countries": (Country.DK,)}, ["a"]),
        ({"types": (EventType.COMPANY_UPDATED,), "countries": (Country.NO,)}, ["b"]),
        ({"companies": ("no:1",)}, []),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list | dict) else "",
)
async def test_filters_select_events(
    world: World, limits: dict[str, Any], expected: list[str]
) -> None:
    await world.published("a")
    await world.published("b", company="no:923609016")
    await world.published("c", company="no:923609016", type="owners.changed")

    page = await world.read(**limits)

    assert bodies(page) == expected
    assert page.position == 3


async def test_a_filter_that_matches_nothing_for_long_moves_on_by_bounded_steps(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "MAX_POSITIONS", 2)
    await world.published("a", "b", "c", "d", "e")
    rare: dict[str, Any] = {"types": (EventType.COMPANY_REMOVED,)}

    first = await world.read(**rare)
    last = await world.read(4, **rare)

    assert (first.position, first.has_more, first.events) == (2, True, ())
    assert (last.position, last.has_more) == (5, False)


async def test_a_page_ends_before_it_becomes_too_large(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "MAX_BYTES", 1)
    await world.published("aa", "bb")

    page = await world.read()

    assert bodies(page) == ["aa"]
    assert page.has_more


async def test_events_about_a_webhook_are_seen_by_its_owner_only(world: World) -> None:
    await world.published("a", company=None, owner="acme", type="webhook.test")

    assert bodies(await world.read(owner="acme")) == ["a"]
    assert bodies(await world.read(owner="other")) == []
    assert await world.feed.event("a", owner="acme") == b"a"
    assert await world.feed.event("a", owner="other") is None


async def test_a_cursor_expires_with_the_events_behind_it(world: World) -> None:
    await world.published("a", "b")
    world.now += timedelta(days=20)
    await world.published("c")
    world.now += timedelta(days=11)

    too_old, oldest = await world.read(1), await world.read(2)

    assert too_old == FeedPage(position=2, expired=True)
    assert bodies(oldest) == ["c"]
    assert bodies(await world.read()) == ["c"]


async def test_the_newest_cursor_never_expires(world: World) -> None:
    await world.published("a")
    world.now += timedelta(days=31)
    outbox = world.outbox()
    await world.publisher(outbox)()

    await outbox.drop_expired(at=world.now)

    assert await world.read(1) == FeedPage(position=1)
    assert (await world.read(0)).expired
    assert await world.register[EVENT_BATCHES].count_documents({}) == 1


async def test_expired_batches_are_deleted(world: World) -> None:
    await world.published("a")
    world.now += timedelta(days=31)
    await world.published("b")
    outbox = world.outbox()
    await world.publisher(outbox)()

    await outbox.drop_expired(at=world.now)

    assert await world.register[EVENT_BATCHES].distinct("_id") == [2]
    assert bodies(await world.read()) == ["b"]


async def test_a_removed_company_leaves_the_feed_but_for_its_removal(world: World) -> None:
    await world.published("a")
    await world.published("other", company="dk:1")
    writer = StoredRegisterWriter(world.register)
    await world.published("gone", type="company.removed", revision=9)

    await writer.remove("dk:12345674", at=NOON, publish_events=True)  # type: ignore[arg-type]

    page = await world.read()
    assert bodies(page) == ["other", "gone"]
    assert page.position == 3


async def test_a_publisher_that_lost_its_lease_cannot_give_a_position(world: World) -> None:
    await world.published("a")
    deposed = world.outbox()
    await deposed.waiting(10)
    await world.store("b", "c")
    waiting = await deposed.waiting(10)
    await world.publisher()()

    with pytest.raises(Superseded):
        await deposed.mark([event.id for event in waiting], at=NOON, again_at=NOON)

    assert bodies(await world.read()) == ["a", "b", "c"]


class DyingOutbox(StoredOutbox):
    """Dies after it has appended a batch, and before any event has its position."""

    async def _completed(self, _batch: Any) -> Any:
        raise Unavailable("killed")


async def test_the_next_publisher_completes_the_batch_of_one_that_died(world: World) -> None:
    await world.published("a")
    await world.store("b", "c")
    with pytest.raises(Unavailable):
        await world.publisher(DyingOutbox(world.register, retention=RETENTION))()
    before = await world.read()
    await world.store("d", revision=9)

    await world.publisher()()

    assert bodies(before) == ["a"]
    assert bodies(await world.read()) == ["a", "b", "c", "d"]


async def test_competing_publishers_and_a_restarting_reader_lose_and_repeat_nothing(
    world: World,
) -> None:
    """Four publishers without any lease: the order holds by the chain of batches alone."""
    random = Random(5)
    ids = [f"{number:04}" for number in range(600)]
    seen: list[str] = []

    async def produce() -> None:
        for start in range(0, len(ids), 20):
            await world.store(*ids[start : start + 20], company=f"dk:{random.randrange(9)}")

    async def publish(done: asyncio.Event) -> None:
        outbox = world.outbox()
        while not done.is_set():
            if random.random() < 0.3:
                outbox = world.outbox()  # it was killed
            try:
                await world.publisher(outbox)()
            except Unavailable:
                await asyncio.sleep(0)

    async def read() -> None:
        position = 0
        while len(seen) < len(ids):
            page = await world.read(position, limit=random.randrange(1, 50))
            seen.extend(bodies(page))
            position = page.position

    done = asyncio.Event()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(publish(done))
        group.create_task(produce())
        await read()
        done.set()

    assert sorted(seen) == ids
    positions = [event.position for event in (await world.read(limit=500)).events]
    assert positions == sorted(positions)


async def test_reads_use_an_index_and_fetch_only_matches(world: World) -> None:
    await world.published(*(f"a{number}" for number in range(50)))
    query = {"position": {"$gt": 1, "$lte": 50}, "type": "company.removed", "owner": None}

    plan = await world.register[OUTBOX].find(query, sort=[("position", 1)]).explain()

    assert plan["executionStats"]["totalDocsExamined"] == 0
