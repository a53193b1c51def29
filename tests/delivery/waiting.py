"""Polling for an effect that no event signals."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from common.messaging.connection import SupervisedConnection

T = TypeVar("T")

#: Timeout of an awaited effect, in seconds. An idle machine takes a fraction of a second; several
#: test processes that start and kill servers take many.
SOON = 60.0

#: Poll interval in seconds.
_POLL = 0.02


async def eventually(
    look: Callable[[], Awaitable[T]], condition: Callable[[T], bool], *, seconds: float = SOON
) -> T:
    """First observed value that fulfils the condition."""
    async with asyncio.timeout(seconds):
        while not condition(seen := await look()):  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(_POLL)
    return seen


async def until_connected(*connections: SupervisedConnection) -> None:
    async with asyncio.timeout(SOON):
        while not all(connection.ready for connection in connections):  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(_POLL)
