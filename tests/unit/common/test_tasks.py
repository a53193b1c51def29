"""Background tasks end with their body."""

import asyncio

import pytest

from common.runtime.tasks import beside


async def for_ever(ended: asyncio.Event | None = None) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        if ended is not None:
            ended.set()


async def deaf(begun: asyncio.Event, ended: asyncio.Event) -> None:
    """Continues after a cancellation, as a task does when `asyncio.wait_for` loses it."""
    try:
        begun.set()
        await for_ever()
    except asyncio.CancelledError:
        await for_ever(ended)


async def test_a_background_task_ends_with_the_body() -> None:
    ended = [asyncio.Event(), asyncio.Event()]
    async with asyncio.timeout(5), beside(*map(for_ever, ended)):
        await asyncio.sleep(0)

    assert all(each.is_set() for each in ended)


async def test_a_task_that_lost_its_cancellation_is_cancelled_again() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async with asyncio.timeout(5), beside(deaf(begun, ended), patience=0.01):
        await begun.wait()

    assert ended.is_set()


async def test_a_failure_ends_the_body() -> None:
    async def fail() -> None:
        raise ValueError("failed")

    with pytest.raises(ExceptionGroup):
        async with asyncio.timeout(5), beside(fail(), for_ever()):
            await for_ever()
