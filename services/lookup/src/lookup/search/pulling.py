"""Batches of companies that an event loop reads for a thread."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError, Future

from common.contracts.failures import Unavailable
from lookup.search.index.documents import Batch

#: Timeout of one read in seconds.
_READ_TIMEOUT = 60.0


class PulledBatches:
    """Batches that the loop reads on request of a thread that builds an index."""

    def __init__(self, batches: AsyncIterator[Batch], loop: asyncio.AbstractEventLoop) -> None:
        self._batches = batches
        self._loop = loop
        self._stopped = False
        self._reading: Future[Batch | None] | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Yields in the thread; raises CancelledError once stopped, `Unavailable` when late."""
        while batch := self._next():
            if self._stopped:
                raise CancelledError
            yield batch

    def stop(self) -> None:
        """Stops the thread at its next batch; called in the loop."""
        self._stopped = True
        if self._reading is not None:
            self._reading.cancel()

    def _next(self) -> Batch | None:
        self._reading = asyncio.run_coroutine_threadsafe(self._following(), self._loop)
        if self._stopped:  # stopped between the check and the read
            self._reading.cancel()
        try:
            return self._reading.result(_READ_TIMEOUT)
        except TimeoutError:
            self._reading.cancel()
            raise Unavailable("no response of the database in time") from None

    async def _following(self) -> Batch | None:
        # Not `anext(batches, None)`, which fails at the end of a generator.
        async for batch in self._batches:
            return batch
        return None
