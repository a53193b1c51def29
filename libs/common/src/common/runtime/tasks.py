"""Structured concurrency: background tasks end with their body, and end it when they fail."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

#: Seconds for a task to clean up before it is cancelled once more.
PATIENCE = 6.0


@asynccontextmanager
async def beside(
    *work: Coroutine[Any, Any, None], patience: float = PATIENCE
) -> AsyncIterator[None]:
    """Runs `work` during the body; leaving the body cancels it, its failure ends the body."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in work]
        try:
            yield
        finally:
            await _cancelled(tasks, patience)


async def _cancelled(tasks: Iterable[asyncio.Task[None]], patience: float) -> None:
    """Cancel the tasks and return when all have ended.

    One cancellation is not always enough: before Python 3.12 `asyncio.wait_for`, which the drivers
    use, loses a cancellation that arrives just as its awaitable completes, and the task never ends.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=patience)
