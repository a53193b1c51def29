"""XML rendering off the event loop: large documents are rendered in another process."""

import asyncio
from collections.abc import Callable

import structlog

from common.contracts.failures import Unavailable
from common.runtime.processes import Workers
from gateway.http.rendering import accounts_xml, company_xml
from gateway.problems import ServiceUnavailable

#: Bytes of JSON that are rendered in the loop: about 1 ms. 300 production units take 40 ms.
INLINE = 8 * 1024
#: Seconds for a large document, the first of which also starts the process.
TIMEOUT = 10.0
#: Maximum large documents in progress; at 40 ms each the last waits some seconds.
MAX_PENDING = 64

log = structlog.get_logger()


class XmlRenderer:
    """Renders small documents itself and large ones in a process."""

    def __init__(self, processes: Workers, *, inline: int = INLINE) -> None:
        self._processes = processes
        self._inline = inline
        self._waiting = 0

    async def company(self, body: bytes) -> bytes:
        """Returns the XML of a company given as JSON; raises ServiceUnavailable when too busy."""
        return await self._rendered(company_xml, body)

    async def accounts(self, body: bytes) -> bytes:
        """Returns the XML of a page of annual accounts likewise."""
        return await self._rendered(accounts_xml, body)

    async def _rendered(self, render: Callable[[bytes], bytes], body: bytes) -> bytes:
        if len(body) <= self._inline:
            return render(body)
        if self._waiting >= MAX_PENDING:
            raise ServiceUnavailable("too many large XML documents are being rendered")
        self._waiting += 1
        try:
            return await self._in_worker(render, body)
        finally:
            self._waiting -= 1

    async def _in_worker(self, render: Callable[[bytes], bytes], body: bytes) -> bytes:
        try:
            async with asyncio.timeout(TIMEOUT):
                return await self._processes.run(render, body)
        except TimeoutError:
            raise ServiceUnavailable("the XML document was not ready in time") from None
        except Unavailable:
            log.error("xml.process_died", bytes=len(body))
            raise ServiceUnavailable("the XML document could not be rendered") from None
