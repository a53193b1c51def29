"""Cached API keys expire after their lifetime."""

import asyncio

import pytest

from gateway.access.key_store import CachedApiKeys
from gateway.access.keys import ApiKey
from gateway.problems import ServiceUnavailable
from tests.builders.keys import NOON, an_api_key
from tests.fakes.gateway import FakeApiKeys, ManualClock, database_unavailable

KEY = an_api_key()


def a_store(*keys: ApiKey) -> FakeApiKeys:
    return FakeApiKeys({key.id: key for key in keys})


def a_slow_store() -> FakeApiKeys:
    """It has the key, and answers once its gate is set."""
    store = a_store(KEY)
    store.gate.clear()
    return store


async def test_a_key_is_read_once_in_its_lifetime() -> None:
    store = a_store(KEY)
    known = CachedApiKeys(store, clock=ManualClock())

    found = [await known.find(KEY.id) for _ in range(3)]

    assert found == [KEY, KEY, KEY]
    assert store.reads == [KEY.id]


async def test_a_revocation_is_visible_after_five_seconds() -> None:
    store, clock = a_store(KEY), ManualClock()
    known = CachedApiKeys(store, clock=clock)
    await known.find(KEY.id)

    await store.revoke(KEY.id, at=NOON)
    before = await known.find(KEY.id)
    clock.now += 5
    after = await known.find(KEY.id)

    assert before is not None
    assert before.revoked_at is None
    assert after is not None
    assert after.revoked_at == NOON


async def test_an_unknown_key_is_cached_too() -> None:
    store = a_store()
    known = CachedApiKeys(store, clock=ManualClock())

    found = [await known.find("made-up") for _ in range(2)]

    assert found == [None, None]
    assert store.reads == ["made-up"]


async def test_made_up_keys_do_not_evict_valid_ones() -> None:
    store = a_store(KEY)
    known = CachedApiKeys(store, clock=ManualClock(), max_keys=2)
    await known.find(KEY.id)

    for number in range(10):
        await known.find(f"made-up {number}")
    await known.find(KEY.id)

    assert store.reads.count(KEY.id) == 1


async def test_the_number_of_cached_keys_is_bounded() -> None:
    keys = [an_api_key(id=f"{number}") for number in range(3)]
    store = a_store(*keys)
    known = CachedApiKeys(store, clock=ManualClock(), max_keys=2)

    for key in [*keys, keys[2], keys[0]]:
        await known.find(key.id)

    assert store.reads == ["0", "1", "2", "0"]


async def test_a_key_works_without_the_database_for_its_lifetime_only() -> None:
    store, clock = a_store(KEY), ManualClock()
    known = CachedApiKeys(store, clock=clock)
    await known.find(KEY.id)

    store.fault = database_unavailable()
    clock.now += 4.9

    assert await known.find(KEY.id) == KEY
    clock.now += 0.1
    with pytest.raises(ServiceUnavailable):
        await known.find(KEY.id)


async def test_concurrent_requests_with_the_same_key_share_one_read() -> None:
    store = a_slow_store()
    known = CachedApiKeys(store, clock=ManualClock())

    async with asyncio.TaskGroup() as group:
        finds = [group.create_task(known.find(KEY.id)) for _ in range(5)]
        await asyncio.sleep(0)  # until all wait
        store.gate.set()

    assert [find.result() for find in finds] == [KEY] * 5
    assert store.reads == [KEY.id]


async def test_all_waiting_requests_fail_when_the_database_is_unavailable() -> None:
    store = a_slow_store()
    store.fault = database_unavailable()
    known = CachedApiKeys(store, clock=ManualClock())
    finds = [asyncio.ensure_future(known.find(KEY.id)) for _ in range(3)]
    await asyncio.sleep(0)  # until all wait

    store.gate.set()
    outcomes = await asyncio.gather(*finds, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [ServiceUnavailable] * 3


async def test_a_cancelled_request_does_not_cancel_the_shared_read() -> None:
    store = a_slow_store()
    known = CachedApiKeys(store, clock=ManualClock())
    first, second, third = (asyncio.ensure_future(known.find(KEY.id)) for _ in range(3))
    await asyncio.sleep(0)  # until all wait

    second.cancel()
    store.gate.set()

    assert await first == await third == KEY


async def test_when_the_reading_request_is_cancelled_another_reads() -> None:
    store = a_slow_store()
    known = CachedApiKeys(store, clock=ManualClock())
    first, *others = (asyncio.ensure_future(known.find(KEY.id)) for _ in range(3))
    await asyncio.sleep(0)  # until all wait

    first.cancel()
    store.gate.set()

    assert await asyncio.gather(*others) == [KEY, KEY]
    with pytest.raises(asyncio.CancelledError):
        await first
