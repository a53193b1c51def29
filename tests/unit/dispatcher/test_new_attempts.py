"""Events wait while too many attempts are new."""

import asyncio

import pytest

from dispatcher.fan_out import NewAttempts
from tests.delivery.waiting import SOON


async def test_events_continue_until_as_many_attempts_are_new() -> None:
    new = NewAttempts(2)
    new.begin(1)

    await new.wait()
    new.begin(1)

    waiting = asyncio.create_task(new.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


async def test_each_end_lets_the_next_event_in_line_continue() -> None:
    new = NewAttempts(2)
    group = new.begin(3)
    order: list[int] = []

    async def event(number: int) -> None:
        await new.wait()
        order.append(number)
        new.begin(1)

    async with asyncio.timeout(SOON), asyncio.TaskGroup() as events:
        for number in (1, 2):
            events.create_task(event(number))
        await asyncio.sleep(0)
        new.end(group, 2)
        while order != [1]:  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(0)
        new.end(group)

    assert order == [1, 2]


async def test_waiting_events_continue_together_when_a_quarter_has_ended() -> None:
    new = NewAttempts(8)
    group = new.begin(8)
    waiting = [asyncio.create_task(new.wait()) for _ in range(2)]
    await asyncio.sleep(0)

    new.end(group)
    await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)

    new.end(group)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert all(one.done() for one in waiting)


async def test_attempts_that_hang_hold_nothing_back() -> None:
    new = NewAttempts(1, seconds=0.01)
    group = new.begin(5)

    async with asyncio.timeout(SOON):
        await new.wait()
    new.end(group, 5)

    # Forgotten ones are not counted a second time.
    new.begin(1)
    waiting = asyncio.create_task(new.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.parametrize("attempts", [0, 1, 200])
async def test_attempts_that_ended_leave_nothing(attempts: int) -> None:
    new = NewAttempts(1)
    new.end(new.begin(attempts), attempts)

    async with asyncio.timeout(SOON):
        await new.wait()
