"""Waiting for an effect that nothing publish_events."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds in which something that is awaited has to happen on a busy machine.
SOON = 20.0

#: Seconds between two looks.
_POLL = 0.02


async def eventually(
    look: Callable[[], Awaitable[T]], condition: Callable[[T], bool], *, seconds: float = SOON
) -> T:
    """What is seen when the condition holds of it for the first time."""
    async with asyncio.timeout(seconds):
        while not condition(seen := await look()):  # noqa: ASYNC110 (nothing publish_events it)
            await asyncio.sleep(_POLL)
    return seen
