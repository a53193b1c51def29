"""Background tasks end with their body."""

import asyncio

import pytest
from structlog.testing import capture_logs

from common.contracts.failures import Unavailable
from common.runtime.tasks import beside, repeat


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


async def test_a_job_is_repeated_whatever_comes_of_a_run() -> None:
    runs, done = [Unavailable("away"), ValueError("failed"), None], asyncio.Event()

    async def job() -> None:
        if error := runs.pop(0):
            raise error
        done.set()
        await for_ever()

    with capture_logs() as logs:
        repeated = repeat(job, every=0.001, unavailable="job.waiting", failed="job.failed")
        async with asyncio.timeout(5), beside(repeated):
            await done.wait()

    assert [line["event"] for line in logs] == ["job.waiting", "job.failed"]
