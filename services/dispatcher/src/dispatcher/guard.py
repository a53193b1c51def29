"""SSRF protection at the socket: no connection is made to a private address.

The check runs when the socket is created, on the address it will connect to. A check of host names
alone would miss URLs that contain an address, and names that change between check and use.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from aiohttp.abc import AbstractResolver, ResolveResult

from webhook_store.addresses import Network, blocked

#: Concurrent name lookups. A name whose servers never answer holds its thread for many seconds;
#: one owner's webhooks must not occupy every thread.
_THREADS = 128

#: In aiohttp's form: family, type, protocol, canonical name, socket address.
AddressInfo = tuple[int, int, int, str, tuple[str | int, ...]]


#: Resolves a name for a port and a family; blocks, and raises socket.gaierror.
Lookup = Callable[[str, int, socket.AddressFamily], list[ResolveResult]]


class BlockedAddress(OSError):
    """Refused address; the message gives the reason and is for our logs only."""


class SocketGuard:
    """Creates sockets to permitted addresses only."""

    def __init__(self, allowed: Sequence[Network]) -> None:
        self._allowed = allowed

    def check(self, address: str) -> None:
        """Raises BlockedAddress for an address that is not permitted."""
        reason = blocked(address, allowed=self._allowed)
        if reason is not None:
            raise BlockedAddress(f"{address} is {reason}")

    def make_socket(self, info: AddressInfo) -> socket.socket:
        """Implements aiohttp's `socket_factory`, which is called for every connection."""
        family, kind, protocol, _, address = info
        self.check(str(address[0]))
        return socket.socket(family, kind, protocol)


class GuardedResolver(AbstractResolver):
    """Resolves names in its own threads and filters out blocked addresses.

    The check at the socket is the protection. Filtering here lets a name that also has permitted
    addresses be called at those.
    """

    def __init__(self, guard: SocketGuard, lookup: Lookup, threads: ThreadPoolExecutor) -> None:
        self._guard = guard
        self._lookup = lookup
        self._threads = threads

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Returns the permitted addresses of a name; raises BlockedAddress if all are blocked."""
        # Not loop.getaddrinfo: uvloop gives it four threads, which four slow names would occupy.
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, self._lookup, host, port, family
        )
        allowed, reason = [], None
        for each in found:
            try:
                self._guard.check(each["host"])
                allowed.append(each)
            except BlockedAddress as error:
                reason = error
        if reason is not None and not allowed:
            raise reason
        return allowed

    async def close(self) -> None:
        """Does nothing: the creator of the threads closes them."""


def system_lookup(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    """Resolves a name with the system's resolver."""
    flags = socket.AI_ADDRCONFIG
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=flags)
    return [
        ResolveResult(
            hostname=host,
            # Without the zone of an IPv6 address, which is local.
            host=str(address[0]),
            port=int(address[1]),
            family=kind,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for kind, _, protocol, _, address in found
    ]


@asynccontextmanager
async def resolving(
    guard: SocketGuard, *, lookup: Lookup = system_lookup
) -> AsyncIterator[GuardedResolver]:
    """Opens a resolver for the body; leaving does not wait for pending lookups."""
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")
    try:
        yield GuardedResolver(guard, lookup, threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
