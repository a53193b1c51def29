"""How often a client may call: by its key once the API has accepted it, else by its address."""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

Network = IPv4Network | IPv6Network

#: Clients and keys that are remembered; beyond, the oldest is forgotten.
MAX_CLIENTS: Final = 10_000
#: A household or host has a whole /64, and may use a new address for every request.
_IPV6_PREFIX: Final = 64

_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600}
_RATE: Final = re.compile(rf"([1-9][0-9]{{0,8}})/({'|'.join(_SECONDS)})")
#: Some proxies add the port.
_WITH_PORT: Final = re.compile(r"\[([^\]]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests in each window of so many seconds."""

    count: int
    window: int


def parse_rate(text: str) -> Rate:
    """Reads `<count>/<second|minute|hour>`; raises ValueError for anything else."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError("write a rate as <count>/<second|minute|hour>, such as 60/minute")
    return Rate(int(match[1]), _SECONDS[match[2]])


class RateLimiter:
    """Fixed windows, which begin with a client's first request."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        """`clock` is in seconds."""
        self._rate = rate
        self._clock = clock
        #: Of each client the end of its window and the requests in it, the oldest window first.
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def take(self, client: str) -> float:
        """Counts a request and returns 0, or the seconds until one is allowed, and counts none."""
        now = self._clock()
        ends, used = self._windows.get(client, (now, 0))
        if ends <= now:
            self._windows.pop(client, None)
            ends, used = now + self._rate.window, 0
            if len(self._windows) == MAX_CLIENTS:
                self._windows.popitem(last=False)
        if used == self._rate.count:
            return ends - now
        self._windows[client] = (ends, used + 1)
        return 0.0


class KnownKeys:
    """Keys that the API has accepted, as hashes; any other counts by the address that sends it."""

    def __init__(self) -> None:
        self._hashes: OrderedDict[str, None] = OrderedDict()

    def add(self, key: str | None) -> None:
        """Remembers a key; None is none."""
        if key is not None:
            self._hashes[_hash(key)] = None
            self._hashes.move_to_end(_hash(key))
            if len(self._hashes) > MAX_CLIENTS:
                self._hashes.popitem(last=False)

    def client(self, key: str) -> str | None:
        """Returns the client whose key this is, if the API has accepted it."""
        found = _hash(key)
        return found if found in self._hashes else None


def _hash(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def address_of(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """Returns the address that a client counts by, an IPv4 address or an IPv6 /64.

    `forwarded` are the addresses of X-Forwarded-For in order. Each trusted proxy appends its peer's
    address on the right; addresses left of the first untrusted one may be forged.
    """
    client = _address(peer)
    for hop in reversed(forwarded):
        if client is None or not any(client in network for network in trusted):
            break
        nearer = _address(hop.strip())
        if nearer is None:
            break
        client = nearer
    if client is None or isinstance(client, IPv4Address):
        return str(client)
    return str(ip_network((client, _IPV6_PREFIX), strict=False))


def _address(text: str) -> IPv4Address | IPv6Address | None:
    match = _WITH_PORT.fullmatch(text)
    bare = text if match is None else match[1] or match[2]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
