"""API keys, `<id>.<secret>`, and their rates.

The id of a key is public, and only a hash of its secret is stored.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple, Protocol

SECONDS = {"second": 1, "minute": 60, "hour": 3600}

_RATE = re.compile(rf"(?P<count>[1-9][0-9]{{0,8}})/(?P<unit>{'|'.join(SECONDS)})")

#: 12 bytes as hexadecimal and 32 bytes as URL-safe base64, see `gateway.commands`.
_KEY = re.compile(r"(?P<id>[0-9a-f]{24})\.(?P<secret>[A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests that a client may make in each window."""

    count: int
    #: Length of the window in seconds.
    window: int

    def __str__(self) -> str:
        return f"{self.count} in {self.window} s"


def parse_rate(text: str) -> Rate:
    """Reads `<count>/<second|minute|hour>`; raises ValueError for anything else."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError("write a rate as <count>/<second|minute|hour>, such as 60/minute")
    return Rate(int(match["count"]), SECONDS[match["unit"]])


class Scope(StrEnum):
    """A permission of a key; a route requires one scope at most."""

    LOOKUP = "lookup"
    WEBHOOKS = "webhooks"
    EVENTS = "events"
    EXPORT = "export"


class PresentedKey(NamedTuple):
    """A key as a client sent it."""

    id: str
    secret: str

    def __repr__(self) -> str:
        return f"PresentedKey(id={self.id!r})"  # the secret must not reach a log by accident


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key."""

    id: str
    #: SHA-256 of the secret. It is 256 random bits, so it needs no slow hash.
    secret_hash: bytes
    name: str
    owner: str
    scopes: frozenset[Scope]
    created_at: datetime
    revoked_at: datetime | None = None
    #: None: the key does not expire.
    expires_at: datetime | None = None
    #: None: the rate of the settings.
    rate: Rate | None = None

    def accepts(self, presented: PresentedKey, *, at: datetime) -> bool:
        """Returns True if the presented key matches and is valid; compares in constant time."""
        same = compare_digest(self.secret_hash, hash_of(presented.secret))
        return same and self.is_valid(at)

    def is_valid(self, at: datetime) -> bool:
        """Returns True if the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


class ApiKeys(Protocol):
    """The issued keys, by id."""

    async def find(self, key_id: str) -> ApiKey | None:
        """Returns the key with that id, even if revoked; None when there is none.

        Raises ServiceUnavailable within 2 s when the key cannot be read.
        """


def parse_key(text: str) -> PresentedKey | None:
    """Returns the key in `text`; None when it does not have a key's form."""
    match = _KEY.fullmatch(text)
    return None if match is None else PresentedKey(match["id"], match["secret"])


def write_key(key: PresentedKey) -> str:
    """Returns the key as a client sends it, secret included; `parse_key` reads it."""
    return f"{key.id}.{key.secret}"


def hash_of(secret: str) -> bytes:
    """Returns the SHA-256 of a secret, which is stored in its place."""
    return sha256(secret.encode()).digest()
