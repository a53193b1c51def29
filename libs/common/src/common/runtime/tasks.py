"""Tasks have a parent: they end with the body they run beside, and end it when they fail."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

#: Seconds that a task has to close what it holds before it is cancelled once more.
PATIENCE = 6.0


@asynccontextmanager
async def beside(
    *work: Coroutine[Any, Any, None], patience: float = PATIENCE
) -> AsyncIterator[None]:
    """Runs `work` beside the body; leaving the body cancels it, its failure ends the body."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(coroutine) for coroutine in work]
        try:
            yield
        finally:
            await _cancelled(tasks, patience)


async def _cancelled(tasks: Iterable[asyncio.Task[None]], patience: float) -> None:
    """Returns when all have ended.

    Once is not always enough: before Python 3.12 `asyncio.wait_for`, which the drivers use, forgets
    a cancellation that comes just when what it waits for is done, and the task goes on for ever.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=patience)
