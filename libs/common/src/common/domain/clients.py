"""Addresses of clients, behind trusted proxies."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

#: A household or host has a whole /64, and may use a new address for every request.
IPV6_PREFIX = 64

#: Peers without an address, on a Unix socket, count as one client.
NO_ADDRESS = "local"

#: Some proxies add the port.
_WITH_PORT = re.compile(r"\[(?P<v6>[^\]]+)\](?::[0-9]+)?|(?P<v4>[0-9.]+):[0-9]+")


def client_of(peer: str | None, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """Returns an IPv4 address or IPv6 /64 that identifies the client.

    `forwarded` are the addresses of X-Forwarded-For in order. Each trusted proxy appends its peer's
    address on the right; addresses left of the first untrusted one may be forged.
    """
    client = _address(peer or "")
    for hop in reversed(forwarded):
        if client is None or not any(client in network for network in trusted):
            break
        nearer = _address(hop)
        if nearer is None:
            break
        client = nearer
    return NO_ADDRESS if client is None else _bucket(client)


def _address(text: str) -> Address | None:
    match = _WITH_PORT.fullmatch(text)
    bare = text if match is None else match["v6"] or match["v4"]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _bucket(address: Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    return str(ip_network((address, IPV6_PREFIX), strict=False))
