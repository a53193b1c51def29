"""Background tasks end with their body."""

import asyncio

import pytest

from common.runtime.tasks import beside


async def for_ever() -> None:
    await asyncio.Event().wait()


async def deaf(begun: asyncio.Event) -> None:
    """Continues after a cancellation, as a task does when `asyncio.wait_for` loses it."""
    try:
        begun.set()
        await for_ever()
    except asyncio.CancelledError:
        await for_ever()


async def test_a_background_task_ends_with_the_body() -> None:
    async with asyncio.timeout(5), beside(for_ever(), for_ever()):
        pass


async def test_a_task_that_lost_its_cancellation_is_cancelled_again() -> None:
    begun = asyncio.Event()

    async with asyncio.timeout(5), beside(deaf(begun), patience=0.01):
        await begun.wait()


async def test_a_failure_ends_the_body() -> None:
    async def fail() -> None:
        raise ValueError("failed")

    with pytest.raises(ExceptionGroup):
        async with asyncio.timeout(5), beside(fail(), for_ever()):
            await for_ever()
