"""Open pages that follow events: their number is bounded, and a shutdown ends them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from portal.adapters.http.metrics import HttpMetrics


class TooManyReaders(Exception):
    """As many pages follow events as this process allows."""


class LiveReaders:
    """The tasks of the pages that follow events."""

    def __init__(self, maximum: int, metrics: HttpMetrics) -> None:
        self._maximum = maximum
        self._metrics = metrics
        self._tasks: set[asyncio.Task[Any]] = set()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The current task follows events during the body; raises TooManyReaders."""
        if len(self._tasks) >= self._maximum:
            raise TooManyReaders
        task = asyncio.current_task()
        assert task is not None, "handlers run in tasks"  # noqa: S101 (not an input)
        self._tasks.add(task)
        self._metrics.live_readers.set(len(self._tasks))
        try:
            yield
        finally:
            self._tasks.discard(task)
            self._metrics.live_readers.set(len(self._tasks))

    async def end(self, _app: web.Application) -> None:
        """Ends them all; browsers connect again, to another process."""
        for task in self._tasks:
            task.cancel()
