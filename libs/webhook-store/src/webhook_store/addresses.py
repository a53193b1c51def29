"""Addresses that deliveries may be sent to: public unicast addresses only.

A receiver's URL is untrusted and must not reach our internal network. The URL check and the guard
at the socket share this table. `ipaddress.is_global` is not enough: among others it is True for
multicast and for NAT64 and 6to4 forms of private addresses.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

#: IANA's registry of special-purpose IPv4 addresses, and a cloud address in public space.
BLOCKED_IPV4: Final = tuple(
    (IPv4Network(network), word)
    for network, word in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's own services"),  # Azure, inside every virtual network
        ("169.254.0.0/16", "link-local"),  # with the metadata services of most clouds
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "reserved for AS112"),
        ("192.52.193.0/24", "reserved for AMT"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved for AS112"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

#: First match wins. Addresses outside global unicast are refused as well.
BLOCKED_IPV6: Final = tuple(
    (IPv6Network(network), word)
    for network, word in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::/96", "IPv4-compatible"),
        ("::ffff:0:0:0/96", "IPv4-translated"),
        ("64:ff9b:1::/48", "local NAT64"),
        ("100::/64", "discarded"),
        ("100:0:0:1::/64", "reserved"),
        ("2001::/32", "Teredo"),
        ("2001:2::/48", "benchmarking"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "reserved for AS112"),
        ("3fff::/20", "documentation"),
        ("5f00::/16", "segment routing"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")

#: IPv6 forms of IPv4 addresses that a host or a translator unwraps: the inner address decides. A
#: network that reaches IPv4 through DNS64 sees public hosts in the second form only.
_WRAPPED: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


def blocked(address: Address | str, *, allowed: Sequence[Network] = ()) -> str | None:
    """Returns the reason to block an address, in a word or two; None when it is permitted.

    `allowed` are private networks that may be called. A zone index (`fe80::1%eth0`) is ignored.
    Raises ValueError for an invalid address.
    """
    plain = _plain(ip_address(address))
    if any(plain.version == network.version and plain in network for network in allowed):
        return None
    if isinstance(plain, IPv4Address):
        return next((word for network, word in BLOCKED_IPV4 if plain in network), None)
    listed = next((word for network, word in BLOCKED_IPV6 if plain in network), None)
    return listed or (None if plain in _GLOBAL_UNICAST else "not global unicast")


def _plain(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    bare = IPv6Address(int(address))
    if any(bare in network for network in _WRAPPED):
        return IPv4Address(int(bare) & 0xFFFFFFFF)
    return bare
