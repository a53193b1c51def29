"""MongoDB's client, without a server."""

import asyncio

import pymongo.lock

import common.mongo  # noqa: F401 (mends the driver's waits)


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
