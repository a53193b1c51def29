"""The guard at the socket: whatever a URL says, no connection is made to a private address.

It sits where the socket is made, with the very address that it is to connect to: a check of names
alone would miss URLs with an address in them, and names that change between check and use.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from aiohttp.abc import AbstractResolver, ResolveResult

from webhook_store.addresses import Network, blocked

#: Names resolved at once. A name whose servers never answer holds its thread for many seconds;
#: those of one owner's webhooks must not take all.
_THREADS = 128

#: As aiohttp gives it: family, type, protocol, canonical name, socket address.
AddressInfo = tuple[int, int, int, str, tuple[str | int, ...]]


#: The addresses of a name, for a port and a family; raises socket.gaierror. It blocks.
Lookup = Callable[[str, int, socket.AddressFamily], list[ResolveResult]]


class BlockedAddress(OSError):
    """The address may not be called; the message says why, and is for our logs only."""


class SocketGuard:
    """Makes sockets for addresses that may be called, and for no other."""

    def __init__(self, allowed: Sequence[Network]) -> None:
        self._allowed = allowed

    def check(self, address: str) -> None:
        """Raises BlockedAddress."""
        reason = blocked(address, allowed=self._allowed)
        if reason is not None:
            raise BlockedAddress(f"{address} is {reason}")

    def make_socket(self, info: AddressInfo) -> socket.socket:
        """A `socket_factory` of aiohttp; it is called for every single connection."""
        family, kind, protocol, _, address = info
        self.check(str(address[0]))
        return socket.socket(family, kind, protocol)


class GuardedResolver(AbstractResolver):
    """Resolves in threads of its own, and keeps addresses that may not be called to itself.

    The guard at the socket is what protects; without the blocked addresses here, a name that has
    others too is called at those.
    """

    def __init__(self, guard: SocketGuard, lookup: Lookup, threads: ThreadPoolExecutor) -> None:
        self._guard = guard
        self._lookup = lookup
        self._threads = threads

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        # Not loop.getaddrinfo: uvloop has four threads for it, which four slow names would hold.
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
        """The threads belong to who made them."""


def system_lookup(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    """What the system's resolver says."""
    flags = socket.AI_ADDRCONFIG
    found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=flags)
    return [
        ResolveResult(
            hostname=host,
            # Of an IPv6 address with a zone only the address counts: a zone is a local matter.
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
    """Resolves for the body's time; leaving does not wait for names that are still asked for."""
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")
    try:
        yield GuardedResolver(guard, lookup, threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
