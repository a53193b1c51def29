"""Documents that an event loop reads for a thread, batch by batch."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import CancelledError, Future

from common.contracts.failures import Unavailable

#: Timeout of one read in seconds.
_READ_TIMEOUT = 60.0


class PulledDocuments:
    """Batches that the loop reads on request of a thread that builds an index."""

    def __init__(
        self, batches: AsyncIterator[Sequence[str]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._batches = batches
        self._loop = loop
        self._stopped = False
        self._reading: Future[Sequence[str]] | None = None

    def __iter__(self) -> Iterator[str]:
        """In the thread. Raises CancelledError once stopped, `Unavailable` after a timeout."""
        while documents := self._next():
            for document in documents:
                if self._stopped:
                    raise CancelledError
                yield document

    def stop(self) -> None:
        """Called in the loop. The thread ends at the next document."""
        self._stopped = True
        if self._reading is not None:
            self._reading.cancel()

    def _next(self) -> Sequence[str]:
        self._reading = asyncio.run_coroutine_threadsafe(self._following(), self._loop)
        if self._stopped:  # stopped between the check and the read
            self._reading.cancel()
        try:
            return self._reading.result(_READ_TIMEOUT)
        except TimeoutError:
            self._reading.cancel()
            raise Unavailable("no response of the database in time") from None

    async def _following(self) -> Sequence[str]:
        # Not `anext(batches, ())`, which fails at the end of a generator.
        async for documents in self._batches:
            return documents
        return ()
