"""Limits on posts in flight."""

import asyncio
from datetime import timedelta

import pytest

from common.contracts.webhooks import WebhookId
from dispatcher.slots import ConcurrencyLimits, LimitKey, PostsInFlight, Slots
from tests.delivery.waiting import SOON

POST_TIMEOUT = timedelta(seconds=10)


def a_place(webhook: str = "wh_1", host: str = "a.example", owner: str = "owner") -> LimitKey:
    return LimitKey(WebhookId(webhook), host, owner)


def taken(in_flight: PostsInFlight, *limit_keys: LimitKey) -> int:
    return sum(in_flight.acquire(limit_key) for limit_key in limit_keys)


@pytest.mark.parametrize(
    "limit_keys, most",
    [
        ([a_place()] * 5, 4),
        ([a_place(f"wh_{number}") for number in range(9)], 8),
        ([a_place(f"wh_{number}", owner=f"owner-{number}") for number in range(65)], 64),
        ([a_place(f"wh_{number}", f"{number}.example") for number in range(101)], 100),
    ],
    ids=["to-a-webhook", "of-an-owner-to-a-host", "to-a-host", "of-an-owner"],
)
def test_posts_in_flight_have_a_maximum(limit_keys: list[LimitKey], most: int) -> None:
    assert taken(PostsInFlight(ConcurrencyLimits()), *limit_keys) == most


def test_a_full_host_leaves_others_alone() -> None:
    in_flight = PostsInFlight(ConcurrencyLimits(host=1))
    in_flight.acquire(a_place())

    assert not in_flight.acquire(a_place("wh_2", owner="other"))
    assert in_flight.acquire(a_place("wh_2", host="b.example", owner="other"))


def limit_keys_of(owner: str) -> list[LimitKey]:
    return [a_place(f"{owner} {number}", f"{number}.{owner}", owner) for number in range(50)]


def test_an_owner_has_no_more_than_are_left_for_others() -> None:
    in_flight = PostsInFlight(ConcurrencyLimits(posts=12, owner=12))

    taken_by_owner = [taken(in_flight, *limit_keys_of(owner)) for owner in ("a", "b", "c", "d")]

    assert taken_by_owner == [6, 3, 2, 1]


def test_the_process_has_no_more_posts_than_its_maximum() -> None:
    in_flight = PostsInFlight(ConcurrencyLimits(posts=4))
    owners = [f"owner-{number}" for number in range(10)]

    assert taken(in_flight, *[a_place(owner, owner, owner) for owner in owners]) == 4


async def test_shares_of_owners_whose_receivers_hang_even_out() -> None:
    slots = Slots(ConcurrencyLimits(posts=12, owner=12), post_timeout=POST_TIMEOUT)
    held = {
        owner: [one for one in limit_keys_of(owner) if slots.acquire(one)] for owner in ("a", "b")
    }
    got: list[str] = []

    async def wait(limit_key: LimitKey) -> None:
        await slots.wait(limit_key)
        got.append(limit_key.owner)

    tasks = [
        asyncio.create_task(wait(limit_key))
        for limit_key in limit_keys_of("c") + limit_keys_of("a")[20:]
    ]
    await asyncio.sleep(0)
    for limit_key in held["a"][:4]:
        slots.release(limit_key)
        await asyncio.sleep(0)

    shares = {"a": len(held["a"]) - 4 + got.count("a"), "b": len(held["b"]), "c": got.count("c")}
    assert (len(held["a"]), shares) == (6, {"a": 3, "b": 3, "c": 3})
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_one_release_may_grant_several_slots() -> None:
    slots = Slots(ConcurrencyLimits(owner=1, host=1), post_timeout=POST_TIMEOUT)
    slots.acquire(a_place("wh_1", "a.example", "owner"))
    waiting = [
        asyncio.create_task(slots.wait(a_place("wh_2", "a.example", "other"))),  # for the host
        asyncio.create_task(slots.wait(a_place("wh_3", "b.example", "owner"))),  # for the owner
    ]
    await asyncio.sleep(0)

    slots.release(a_place("wh_1", "a.example", "owner"))

    done, _ = await asyncio.wait(waiting, timeout=SOON)
    assert done == set(waiting)


@pytest.fixture(name="taken_slot")
def _taken_slot() -> Slots:
    """Slots of which a webhook has one, which is taken."""
    slots = Slots(ConcurrencyLimits(webhook=1), post_timeout=POST_TIMEOUT)
    assert slots.acquire(a_place())
    return slots


async def begun(slots: Slots, count: int = 1) -> list[asyncio.Task[None]]:
    """Calls that wait for a slot."""
    waiting = [asyncio.create_task(slots.wait(a_place())) for _ in range(count)]
    await asyncio.sleep(0)
    return waiting


def test_a_released_slot_can_be_acquired_again(taken_slot: Slots) -> None:
    taken_slot.release(a_place())

    assert taken_slot.acquire(a_place())


async def test_a_waiting_call_gets_a_released_slot_before_new_calls(taken_slot: Slots) -> None:
    [waiting] = await begun(taken_slot)

    taken_slot.release(a_place())

    assert not taken_slot.acquire(a_place())
    await waiting


async def test_a_released_slot_goes_to_the_eligible_call_that_waited_longest() -> None:
    slots = Slots(ConcurrencyLimits(webhook=1, host=2), post_timeout=POST_TIMEOUT)
    busy, other = a_place("wh_1"), a_place("wh_2")
    assert slots.acquire(busy)
    assert slots.acquire(other)
    order: list[str] = []

    async def wait(limit_key: LimitKey, name: str) -> None:
        await slots.wait(limit_key)
        order.append(name)

    # The first cannot have it: its own webhook is still full.
    tasks = [asyncio.create_task(wait(busy, "first"))]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(wait(a_place("wh_3", owner="third"), "second")))
    await asyncio.sleep(0)
    slots.release(other)
    await asyncio.wait_for(tasks[1], SOON)
    slots.release(busy)
    await asyncio.wait_for(tasks[0], SOON)

    assert order == ["second", "first"]


async def test_a_cancelled_wait_acquires_no_slot(taken_slot: Slots) -> None:
    [waiting] = await begun(taken_slot)
    waiting.cancel()
    await asyncio.wait([waiting])

    taken_slot.release(a_place())

    assert taken_slot.acquire(a_place())


async def test_a_wait_cancelled_at_its_grant_releases_the_slot(taken_slot: Slots) -> None:
    [waiting] = await begun(taken_slot)
    taken_slot.release(a_place())
    waiting.cancel()
    await asyncio.wait([waiting])

    assert taken_slot.acquire(a_place())


async def test_a_grant_skips_a_cancelled_wait(taken_slot: Slots) -> None:
    gave_up, next_one = await begun(taken_slot, 2)

    gave_up.cancel()
    taken_slot.release(a_place())

    await asyncio.wait([gave_up, next_one])
    assert gave_up.cancelled()
    assert not taken_slot.acquire(a_place())


async def test_the_slot_of_a_timed_out_post_is_released_later() -> None:
    slots = Slots(ConcurrencyLimits(webhook=2, owner=2), post_timeout=POST_TIMEOUT)
    for _ in range(2):
        slots.acquire(a_place())
    for _ in range(2):
        slots.release_after_timeout(a_place())

    enqueued = slots.acquire(a_place())
    await asyncio.wait_for(slots.wait(a_place()), SOON)

    assert not enqueued
    assert not slots.acquire(a_place())  # the second is free half a time limit later
