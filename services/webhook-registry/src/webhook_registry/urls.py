"""Permitted destinations: https, to a host that is neither local nor private.

The check of a given URL reports errors to its owner. The name may resolve differently later, so the
dispatcher checks the address of every connection again.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from webhook_registry.replies import InvalidValue
from webhook_store.addresses import Address, Network, blocked

MAX_URL_LENGTH = 2048


#: Characters that RFC 3986 permits in a URL. Parsers disagree on all others.
_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")


#: The components of a URL (RFC 3986, appendix B) and of its authority (3.2): only a port may
#: follow the brackets of an IPv6 address.
_COMPONENTS = re.compile(
    r"(?:(?P<scheme>[^:/?#]+):)?(?://(?P<authority>[^/?#]*))?(?P<rest>[^#]*)(?P<fragment>#.*)?"
)


_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]*)(?::(?P<port>[0-9]*))?")


#: A path and query (3.3, 3.4) hold no bracket, and `%` only before two hexadecimal digits.
_REST = re.compile(r"(?:[^\[\]%]|%[0-9A-Fa-f]{2})*")


_MAX_PORT = 65_535


_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")


_MAX_HOST_LENGTH = 253


#: Last labels that make many programs parse the host as an address: `127.1`, `0x7f000001`.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


#: Suffixes of names that resolve only inside one network.
_LOCAL_ENDS = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "home.arpa",
    "lan",
)


@dataclass(frozen=True, slots=True)
class Destination:
    """Well-formed URL, with its host for the address check."""

    url: str
    #: Lower case, without a trailing dot or the brackets of an IPv6 address.
    host: str
    port: int
    #: The host, if it is an address.
    address: Address | None = None

    @property
    def is_local_name(self) -> bool:
        """Returns True if the name belongs to a local host."""
        return self.address is None and (
            "." not in self.host
            or any(self.host == end or self.host.endswith(f".{end}") for end in _LOCAL_ENDS)
        )


def read_destination(url: object) -> Destination:
    """Returns the destination of a URL; raises Wrong when it is malformed."""
    if not isinstance(url, str):
        raise InvalidValue("give the URL as a string, such as https://example.com/hooks")
    if len(url) > MAX_URL_LENGTH:
        raise InvalidValue(f"give a URL of at most {MAX_URL_LENGTH} characters")
    if not _CHARACTERS.fullmatch(url):
        raise InvalidValue(
            "write the URL in the characters of RFC 3986: percent-encode others, "
            "and give an international host name in its xn-- form"
        )
    parts = _COMPONENTS.fullmatch(url)
    if parts is None or (parts["scheme"] or "").lower() != "https":
        raise InvalidValue("give a URL that starts with https://")
    if parts["fragment"] is not None:
        raise InvalidValue("leave out the fragment (#…): it is never sent")
    written, port = _authority(parts["authority"] or "")
    if not _REST.fullmatch(parts["rest"]):
        raise InvalidValue(
            "percent-encode what RFC 3986 does not allow in a path or query, % as %25"
        )
    host, address = _host(written)
    return Destination(url, host, port, address)


def refusal(
    destination: Destination, resolved: Collection[Address], *, allowed: Sequence[Network]
) -> str | None:
    """Returns the reason to refuse a destination, with a hint; None if permitted.

    `resolved` are the name's present addresses, empty when it does not resolve. `allowed` are
    private networks that may be called; if any, a local name is checked by its addresses.
    """
    addresses = resolved if destination.address is None else (destination.address,)
    reasons = [word for word in (blocked(one, allowed=allowed) for one in addresses) if word]
    if destination.is_local_name and not (allowed and addresses):
        reasons.append("a local name")
    if not reasons:
        return None
    return f"give a host that is reached over the public internet (this one is: {reasons[0]})"


def _authority(authority: str) -> tuple[str, int]:
    if "@" in authority:
        raise InvalidValue("leave out user name and password: deliveries are signed instead")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None or not 1 <= (port := int(parts["port"] or 443)) <= _MAX_PORT:
        raise InvalidValue("give a host, and a port from 1 to 65535 if any")
    return parts["host"].lower(), port


def _host(written: str) -> tuple[str, Address | None]:
    if written.startswith("["):
        address = _literal(IPv6Address, written[1:-1])
        return str(address), address
    host = written.removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return written, _literal(IPv4Address, written)
    if len(host) > _MAX_HOST_LENGTH or not all(_LABEL.fullmatch(label) for label in labels):
        raise InvalidValue("give a host name, such as example.com")
    return host, None


def _literal(family: type[IPv4Address] | type[IPv6Address], text: str) -> Address:
    try:
        address = family(text)
    except ValueError:
        address = None
    # A zone (fe80::1%eth0) names a local interface.
    if address is None or "%" in text:
        raise InvalidValue(
            "give an IP address in its usual form, such as 192.0.2.7 or [2001:db8::7]"
        )
    return address
