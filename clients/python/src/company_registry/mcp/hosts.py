"""The names under which a server may be called: loopback's, and those that it was given.

A web page could otherwise reach a server on its reader's machine, by a name that resolves to it
(DNS rebinding).
"""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit


class Hosts:
    """Names with any port, in any case; loopback is always among them, in all its spellings."""

    def __init__(self, given: Iterable[str] = ()) -> None:
        self._given = frozenset(filter(None, map(_name, given)))

    def allows(self, host: str) -> bool:
        """Returns whether a `Host` is one of the names."""
        name = _name(host)
        return name is not None and (name in self._given or _is_loopback(name))

    def allows_origin(self, origin: str) -> bool:
        """Returns whether an `Origin` is a page of one of the names."""
        scheme, separator, host = origin.partition("://")
        return bool(separator) and scheme.lower() in ("http", "https") and self.allows(host)


def _name(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018 (raises ValueError where it is no number)
    except ValueError:
        return None
    is_plain = parts.netloc == host and parts.username is None
    return parts.hostname.removesuffix(".") if is_plain and parts.hostname else None


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
