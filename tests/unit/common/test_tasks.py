"""Tasks that run beside something end with it."""

import asyncio

import pytest

from common.runtime.tasks import beside


async def for_ever() -> None:
    await asyncio.Event().wait()


async def deaf(begun: asyncio.Event) -> None:
    """Goes on after a cancellation, as one does in which `asyncio.wait_for` forgot it."""
    try:
        begun.set()
        await for_ever()
    except asyncio.CancelledError:
        await for_ever()


async def test_what_runs_beside_ends_with_the_body() -> None:
    async with asyncio.timeout(5), beside(for_ever(), for_ever()):
        pass


async def test_a_task_that_forgot_its_cancellation_is_cancelled_again() -> None:
    begun = asyncio.Event()

    async with asyncio.timeout(5), beside(deaf(begun), patience=0.01):
        await begun.wait()


async def test_a_failure_ends_the_body() -> None:
    async def fail() -> None:
        raise ValueError("failed")

    with pytest.raises(ExceptionGroup):
        async with asyncio.timeout(5), beside(fail(), for_ever()):
            await for_ever()
