"""Check of a webhook's URL, with the addresses that the system's resolver returns for its host."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from typing import Protocol

from common.contracts.failures import FieldError
from webhook_registry.replies import invalid_body
from webhook_registry.urls import Destination, refusal
from webhook_store.addresses import Address, Network


class Resolver(Protocol):
    """Resolves the host names of webhook URLs when they are checked."""

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Returns the addresses of a name; none when it does not resolve in time."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """Refuses webhook URLs whose host is local or private."""

    resolver: Resolver
    #: Private networks that may be called.
    allowed: Sequence[Network]

    async def check(self, destination: Destination | None) -> None:
        """Raises Rejected when the host is local or private; None is unchanged.

        A name that does not resolve is accepted: receivers are often registered before they are
        deployed, and each connection is checked again.
        """
        if destination is None:
            return
        resolved = (
            await self.resolver.addresses(destination.host, destination.port)
            if destination.address is None
            else ()
        )
        reason = refusal(destination, resolved, allowed=self.allowed)
        if reason is not None:
            raise invalid_body(
                "deliveries may not be sent to this URL",
                FieldError(parameter="url", message=reason),
            )


#: Concurrent lookups. A name whose servers never answer occupies its thread for many seconds; the
#: pool is separate so that other work of the process keeps its threads.
_THREADS = 16


class SystemResolver:
    """`Resolver` over the system's resolver."""

    def __init__(self, threads: ThreadPoolExecutor, *, timeout: timedelta) -> None:
        self._threads = threads
        self._timeout = timeout.total_seconds()

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Returns the addresses of a name; none if unknown or timed out."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout):
                return await loop.run_in_executor(self._threads, _resolve, host, port)
        except (OSError, TimeoutError, UnicodeError):
            return ()


def _resolve(host: str, port: int) -> Sequence[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(address[0]) for *_, address in found]


@asynccontextmanager
async def system_resolver(*, timeout: timedelta) -> AsyncIterator[SystemResolver]:
    """Opens a resolver for the body; leaving does not wait for pending lookups."""
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")
    try:
        yield SystemResolver(threads, timeout=timeout)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
