"""XML rendering off the event loop: large documents are rendered in another process."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager

import structlog

from common.runtime.workers import follow_parent
from gateway.adapters.http.rendering import company_xml
from gateway.domain.problems import ServiceUnavailable

#: Bytes of JSON that are rendered in the loop: about 1 ms. 300 production units take 40 ms.
INLINE = 8 * 1024
#: Seconds for a large document, the first of which also starts the process.
TIMEOUT = 10.0
#: Maximum large documents in progress; at 40 ms each the last waits some seconds.
MAX_PENDING = 64

log = structlog.get_logger()


class XmlRenderer:
    """A `Renderer`. Its process is started when it is first needed."""

    def __init__(self, *, workers: int = 1, inline: int = INLINE) -> None:
        self._workers = workers
        self._inline = inline
        self._waiting = 0
        self._pool: ProcessPoolExecutor | None = None

    async def company(self, body: bytes) -> bytes:
        if len(body) <= self._inline:
            return company_xml(body)
        if self._waiting >= MAX_PENDING:
            raise ServiceUnavailable("too many large XML documents are being rendered")
        self._waiting += 1
        try:
            return await self._in_worker(body)
        finally:
            self._waiting -= 1

    async def _in_worker(self, body: bytes) -> bytes:
        pool = self._pool = self._pool or _new_pool(self._workers)
        try:
            async with asyncio.timeout(TIMEOUT):
                return await asyncio.get_running_loop().run_in_executor(pool, company_xml, body)
        except TimeoutError:
            raise ServiceUnavailable("the XML document was not ready in time") from None
        except BrokenProcessPool:
            log.error("xml.process_died", bytes=len(body))
            if self._pool is pool:
                self._pool = None  # the next large document starts a new one
            raise ServiceUnavailable("the XML document could not be rendered") from None

    async def close(self) -> None:
        if self._pool is not None:
            await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
            self._pool = None


def _new_pool(workers: int) -> ProcessPoolExecutor:
    # Spawned, not forked: a fork would copy the threads' locks and the open connections.
    return ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=follow_parent
    )


@asynccontextmanager
async def xml_renderer(*, workers: int) -> AsyncIterator[XmlRenderer]:
    renderer = XmlRenderer(workers=workers)
    try:
        yield renderer
    finally:
        await renderer.close()
