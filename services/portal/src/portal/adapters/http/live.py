"""Open pages that follow events: their number is bounded, and a shutdown ends them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from portal.adapters.http.metrics import HttpMetrics
from portal.domain.wording import LimitReached


class TooManyReaders(LimitReached):
    """As many pages follow events as this process allows."""

    detail = "Too many pages follow events live."


class TooManyOfKey(LimitReached):
    """As many pages of this key follow events as this process allows."""

    status = 429
    title = "Too many live pages"
    detail = "Too many pages follow events live with your key. Close some of them."


class LiveReaders:
    """The tasks of the pages that follow events."""

    def __init__(self, maximum: int, maximum_per_key: int, metrics: HttpMetrics) -> None:
        self._maximum = maximum
        self._maximum_per_key = maximum_per_key
        self._metrics = metrics
        #: The key of each task.
        self._tasks: dict[asyncio.Task[Any], str] = {}

    @contextmanager
    def reading(self, key: str) -> Iterator[None]:
        """Counts the current task as a reader in the body; raises TooManyReaders, TooManyOfKey."""
        if len(self._tasks) >= self._maximum:
            raise TooManyReaders
        if list(self._tasks.values()).count(key) >= self._maximum_per_key:
            raise TooManyOfKey
        task = asyncio.current_task()
        assert task is not None, "handlers run in tasks"  # noqa: S101 (not an input)
        self._tasks[task] = key
        self._metrics.live_readers.set(len(self._tasks))
        try:
            yield
        finally:
            del self._tasks[task]
            self._metrics.live_readers.set(len(self._tasks))

    async def end(self, _app: web.Application) -> None:
        """Ends all readers; browsers connect again, to another process."""
        for task in self._tasks:
            task.cancel()
