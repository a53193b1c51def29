"""Limits on posts in flight."""

import asyncio

from common.contracts.webhooks import WebhookId
from dispatcher.deliveries.slots import ConcurrencyLimits, LimitKey, PostsInFlight, Slots
from tests.unit.dispatcher.conftest import POST_TIMEOUT


def a_place(webhook: str = "wh_1", host: str = "a.example", owner: str = "owner") -> LimitKey:
    return LimitKey(WebhookId(webhook), host, owner)


def taken(in_flight: PostsInFlight, *limit_keys: LimitKey) -> int:
    return sum(in_flight.acquire(limit_key) for limit_key in limit_keys)


def test_a_webhook_has_at_most_four_posts() -> None:
    assert taken(PostsInFlight(ConcurrencyLimits()), *[a_place()] * 5) == 4


def test_an_owner_has_at_most_eight_posts_to_a_host() -> None:
    limit_keys = [a_place(f"wh_{number}") for number in range(9)]

    assert taken(PostsInFlight(ConcurrencyLimits()), *limit_keys) == 8


def test_a_host_has_at_most_64_posts_of_all_owners() -> None:
    limit_keys = [a_place(f"wh_{number}", owner=f"owner-{number}") for number in range(65)]

    assert taken(PostsInFlight(ConcurrencyLimits()), *limit_keys) == 64


def test_a_full_host_leaves_others_alone() -> None:
    in_flight = PostsInFlight(ConcurrencyLimits(host=1))
    in_flight.acquire(a_place())

    assert not in_flight.acquire(a_place("wh_2", owner="other"))
    assert in_flight.acquire(a_place("wh_2", host="b.example", owner="other"))


def test_an_owner_has_at_most_a_hundred_posts_to_all_hosts() -> None:
    limit_keys = [a_place(f"wh_{number}", f"{number}.example") for number in range(101)]

    assert taken(PostsInFlight(ConcurrencyLimits()), *limit_keys) == 100


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

    done, _ = await asyncio.wait(waiting, timeout=1)
    assert done == set(waiting)


def test_a_released_slot_can_be_acquired_again() -> None:
    in_flight = PostsInFlight(ConcurrencyLimits(webhook=1))
    in_flight.acquire(a_place())
    in_flight.release(a_place())

    assert in_flight.acquire(a_place())


async def test_a_waiting_call_gets_a_released_slot_before_new_calls() -> None:
    slots = Slots(ConcurrencyLimits(webhook=1), post_timeout=POST_TIMEOUT)
    slots.acquire(a_place())
    waiting = asyncio.create_task(slots.wait(a_place()))
    await asyncio.sleep(0)

    slots.release(a_place())

    assert not slots.acquire(a_place())
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
    await asyncio.wait_for(tasks[1], 1)
    slots.release(busy)
    await asyncio.wait_for(tasks[0], 1)

    assert order == ["second", "first"]


async def test_a_cancelled_wait_acquires_no_slot() -> None:
    slots = Slots(ConcurrencyLimits(webhook=1), post_timeout=POST_TIMEOUT)
    slots.acquire(a_place())
    waiting = asyncio.create_task(slots.wait(a_place()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])

    slots.release(a_place())

    assert slots.acquire(a_place())


async def test_a_wait_cancelled_at_its_grant_releases_the_slot() -> None:
    slots = Slots(ConcurrencyLimits(webhook=1), post_timeout=POST_TIMEOUT)
    slots.acquire(a_place())
    waiting = asyncio.create_task(slots.wait(a_place()))
    await asyncio.sleep(0)
    slots.release(a_place())
    waiting.cancel()
    await asyncio.wait([waiting])

    assert slots.acquire(a_place())


async def test_a_grant_skips_a_cancelled_wait() -> None:
    slots = Slots(ConcurrencyLimits(webhook=1), post_timeout=POST_TIMEOUT)
    slots.acquire(a_place())
    gave_up = asyncio.create_task(slots.wait(a_place()))
    next_one = asyncio.create_task(slots.wait(a_place()))
    await asyncio.sleep(0)

    gave_up.cancel()
    slots.release(a_place())

    await asyncio.wait([gave_up, next_one])
    assert gave_up.cancelled()
    assert not slots.acquire(a_place())


async def test_the_slot_of_a_timed_out_post_is_released_later() -> None:
    slots = Slots(ConcurrencyLimits(webhook=2, owner=2), post_timeout=POST_TIMEOUT)
    for _ in range(2):
        slots.acquire(a_place())
    for _ in range(2):
        slots.release_after_timeout(a_place())

    enqueued = slots.acquire(a_place())
    await asyncio.wait_for(slots.wait(a_place()), 1)

    assert not enqueued
    assert not slots.acquire(a_place())  # the second is free half a time limit later
