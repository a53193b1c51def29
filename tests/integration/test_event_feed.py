"""The feed of published events: each once, in one order, from any publishing process."""

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from common.contracts.company import Country
from common.contracts.events import EventType, FeedNotice, FeedPage, PublishedEvent
from common.contracts.failures import Unavailable
from register_store import feed as feed_module
from register_store.documents import EVENT_BATCHES, OUTBOX
from tests.builders.outbox import RETENTION, Outbox, bodies

pytestmark = pytest.mark.integration


async def test_a_reader_gets_each_event_once_in_the_order_of_publication(outbox: Outbox) -> None:
    await outbox.published("b", "a")
    await outbox.published("d", "c")

    first = await outbox.read(limit=3)
    rest = await outbox.read(first.position)

    assert (bodies(first), first.has_more) == (["b", "a", "d"], True)
    assert (bodies(rest), rest.has_more) == (["c"], False)
    assert bodies(await outbox.read(rest.position)) == []


async def test_an_unpublished_event_is_not_in_the_feed(outbox: Outbox) -> None:
    await outbox.store("a")

    assert await outbox.read() == FeedPage(position=0)
    assert await outbox.feed.event("a", owner="acme") is None


async def test_an_event_of_a_type_that_another_release_published_is_passed_over(
    outbox: Outbox,
) -> None:
    await outbox.published("a", "b", "c")
    await outbox.register[OUTBOX].update_one({"_id": "b"}, {"$set": {"type": "company.teleported"}})

    pages = [await outbox.read(), await outbox.read(1), await outbox.read(recent=True)]

    assert [bodies(page) for page in pages] == [["a", "c"], ["c"], ["a", "c"]]
    assert {page.position for page in pages} == {3}


async def test_a_reader_may_start_at_the_end_or_with_the_newest_events(outbox: Outbox) -> None:
    await outbox.published("a", "b", "c")
    await outbox.published("d", type="owners.changed")

    page = await outbox.read(recent=True, limit=2)
    kinds = (EventType.COMPANY_UPDATED,)
    filtered = await outbox.read(recent=True, limit=2, types=kinds)
    everything = await outbox.read(recent=True, limit=9)

    assert (bodies(page), page.position, page.has_more) == (["c", "d"], 4, False)
    assert (bodies(filtered), filtered.position) == (["b", "c"], 4)
    assert bodies(everything) == ["a", "b", "c", "d"]
    assert await outbox.read(page.position) == FeedPage(position=4)
    assert await outbox.read(latest=True) == FeedPage(position=4)


async def test_readers_are_notified_of_published_events(outbox: Outbox) -> None:
    await outbox.published("a", type="owners.changed")

    event = PublishedEvent(type=EventType.OWNERS_CHANGED, company="dk:12345674")
    assert outbox.bus.notices == [FeedNotice(position=1, events=(event,))]


async def test_filters_select_events(outbox: Outbox) -> None:
    await outbox.published("a")
    await outbox.published("b", company="no:923609016")
    await outbox.published("c", company="no:923609016", type="owners.changed")
    norwegian = {"countries": (Country.NO,)}
    filters: list[tuple[dict[str, Any], list[str]]] = [
        ({"types": (EventType.OWNERS_CHANGED,)}, ["c"]),
        (norwegian, ["b", "c"]),
        ({"companies": ("dk:12345674", "no:999")}, ["a"]),
        ({"companies": ("dk:12345674", "no:923609016"), "countries": (Country.DK,)}, ["a"]),
        ({"types": (EventType.COMPANY_UPDATED,), **norwegian}, ["b"]),
        ({"companies": ("no:1",)}, []),
    ]

    pages = [await outbox.read(**limits) for limits, _ in filters]

    assert [bodies(page) for page in pages] == [expected for _, expected in filters]
    assert {page.position for page in pages} == {3}


async def test_a_filter_that_matches_nothing_for_long_moves_on_by_bounded_steps(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "MAX_POSITIONS", 2)
    await outbox.published("a", "b", "c", "d", "e")

    first = await outbox.read(types=(EventType.COMPANY_REMOVED,))
    last = await outbox.read(4, types=(EventType.COMPANY_REMOVED,))

    assert (first.position, first.has_more, first.events) == (2, True, ())
    assert (last.position, last.has_more) == (5, False)


async def test_a_page_ends_before_it_becomes_too_large(
    outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "MAX_BYTES", 1)
    await outbox.published("aa", "bb")

    page = await outbox.read()

    assert (bodies(page), page.has_more) == (["aa"], True)


async def test_events_about_a_webhook_are_seen_by_its_owner_only(outbox: Outbox) -> None:
    await outbox.published("a", company=None, owner="acme", type="webhook.test")

    assert bodies(await outbox.read(owner="acme")) == ["a"]
    assert bodies(await outbox.read(owner="other")) == []
    assert await outbox.feed.event("a", owner="acme") == b"a"
    assert await outbox.feed.event("a", owner="other") is None


async def test_a_cursor_expires_with_the_events_behind_it(outbox: Outbox) -> None:
    await outbox.published("a", "b")
    outbox.now += timedelta(days=20)
    await outbox.published("c")
    outbox.now += timedelta(days=11)

    assert await outbox.read(1) == FeedPage(position=2, expired=True)
    assert bodies(await outbox.read(2)) == bodies(await outbox.read()) == ["c"]


async def test_a_reader_may_start_at_a_time_of_publication(outbox: Outbox) -> None:
    hour = timedelta(hours=1)
    assert await outbox.read(since=outbox.now - hour) == FeedPage(position=0)
    for event in ("a", "b", "c"):
        await outbox.published(event)
        outbox.now += hour

    pages = [await outbox.read(since=outbox.now - hours * hour) for hours in (4, 3, 2.5, 1, 0)]
    read_on = await outbox.read(pages[3].position, since=outbox.now - 3 * hour)

    assert [bodies(page) for page in pages] == [["a", "b", "c"]] * 2 + [["b", "c"], ["c"], []]
    assert read_on == FeedPage(position=3)
    # Events before all that is kept may be missing.
    assert (await outbox.read(since=outbox.now - RETENTION)).expired


async def test_expired_batches_are_deleted_but_the_newest_cursor_never_expires(
    outbox: Outbox,
) -> None:
    for event in ("a", "b"):
        await outbox.published(event)
        outbox.now += timedelta(days=31)
    stored = outbox.stored
    await outbox.publisher(stored)()

    await stored.drop_expired(at=outbox.now)

    assert await outbox.register[EVENT_BATCHES].distinct("_id") == [2]
    assert await outbox.read(2) == FeedPage(position=2)
    assert (await outbox.read(1)).expired


async def test_competing_publishers_and_a_restarting_reader_lose_and_repeat_nothing(
    outbox: Outbox,
) -> None:
    """Four publishers without any lease: the order holds by the chain of batches alone."""
    random = Random(5)
    ids = [f"{number:04}" for number in range(600)]
    seen: list[str] = []

    async def produce() -> None:
        for start in range(0, len(ids), 20):
            await outbox.store(*ids[start : start + 20], company=f"dk:{random.randrange(9)}")

    async def publish(done: asyncio.Event) -> None:
        stored = outbox.stored
        while not done.is_set():
            if random.random() < 0.3:
                stored = outbox.stored  # it was killed
            try:
                await outbox.publisher(stored)()
            except Unavailable:
                await asyncio.sleep(0)

    async def read() -> None:
        position = 0
        while len(seen) < len(ids):
            page = await outbox.read(position, limit=random.randrange(1, 50))
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
    positions = [event.position for event in (await outbox.read(limit=500)).events]
    assert positions == sorted(positions)


async def test_reads_use_an_index_and_fetch_only_matches(outbox: Outbox) -> None:
    await outbox.published(*(f"a{number}" for number in range(50)))
    query = {"position": {"$gt": 1, "$lte": 50}, "type": "company.removed", "owner": None}

    plan = await outbox.register[OUTBOX].find(query, sort=[("position", 1)]).explain()

    assert plan["executionStats"]["totalDocsExamined"] == 0
