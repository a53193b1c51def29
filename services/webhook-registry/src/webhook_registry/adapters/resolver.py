"""What host names stand for, by the system's resolver, within a time limit."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import ip_address

from webhook_store.addresses import Address

#: Names resolved at once. One whose servers never answer keeps its thread for many seconds, and
#: must not take those that other work of the process needs.
_THREADS = 16


class SystemResolver:
    """A `Resolver`."""

    def __init__(self, threads: ThreadPoolExecutor, *, limit: timedelta) -> None:
        self._threads = threads
        self._limit = limit.total_seconds()

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Every address of the name; none when it has none, or not in time."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._limit):
                return await loop.run_in_executor(self._threads, _resolve, host, port)
        except (OSError, TimeoutError, UnicodeError):
            return ()


def _resolve(host: str, port: int) -> Sequence[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(address[0]) for *_, address in found]


@asynccontextmanager
async def system_resolver(*, limit: timedelta) -> AsyncIterator[SystemResolver]:
    """Resolves for the body's time; leaving does not wait for names that are still asked for."""
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")
    try:
        yield SystemResolver(threads, limit=limit)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
