"""API keys, `<id>.<secret>`, and their rates; their store and the cache in front of it.

The id of a key is public, and only a hash of its secret is stored: in MongoDB, database `access`,
collection `api_keys`, of which this module is the only writer.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pymongo import DESCENDING, IndexModel

from common.contracts.failures import Unavailable
from common.leases import LEASES
from common.mongo import Database, Reads, translated_errors
from common.runtime.public_port.rates import Rate
from common.runtime.tasks import SingleFlight
from gateway.problems import ServiceUnavailable

#: 12 bytes as hexadecimal and 32 bytes as URL-safe base64, see `gateway.commands`.
_KEY = re.compile(r"(?P<id>[0-9a-f]{24})\.(?P<secret>[A-Za-z0-9_-]{43})")

#: Seconds for reading a key: an unavailable database is reported within 2 s.
FIND_TIMEOUT = 1.5

#: Seconds for which a key is cached. Decided: a revocation takes effect within 10 s everywhere;
#: the portal says that its sessions end within 2 s.
LIFETIME = 2.0
#: Maximum number of cached keys, and of unknown ids: about 5 MB.
MAX_KEYS = 10_000

V = TypeVar("V")


class Scope(StrEnum):
    """A permission of a key; a route requires one scope at most, and `protected` no route."""

    LOOKUP = "lookup"
    WEBHOOKS = "webhooks"
    EVENTS = "events"
    EXPORT = "export"
    #: May have companies that are protected from advertising in groups.
    PROTECTED = "protected"
    #: May list, create, replace and end the keys of its owner.
    KEYS = "keys"


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
    #: Of a publishable key, which is in web pages: the sites whose scripts may use it.
    origins: tuple[str, ...] = ()
    #: Of a publishable key: the rate of each visitor; None is that of the settings.
    visitor_rate: Rate | None = None
    #: The ids of the keys that created and ended it; None: the operator.
    created_by: str | None = None
    ended_by: str | None = None

    @property
    def is_publishable(self) -> bool:
        """True if it may be in web pages, and so does no more than look up and suggest."""
        return bool(self.origins)

    def accepts(self, presented: PresentedKey, *, at: datetime) -> bool:
        """Returns True if the presented key matches and is valid; compares in constant time."""
        same = compare_digest(self.secret_hash, hash_of(presented.secret))
        return same and self.is_valid(at)

    def is_valid(self, at: datetime) -> bool:
        """Returns True if the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


class ApiKeys(Protocol):
    """The issued keys, by id."""

    async def get(self, key_id: str) -> ApiKey | None:
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


def utc_now() -> datetime:
    """Returns the current time, aware and in UTC; keys expire by it."""
    return datetime.now(UTC)


_KEYS = "api_keys"
#: Of `MongoKeys.all` and `of_owner`; single keys are read by `_id`.
KEY_INDEXES = {
    _KEYS: [
        IndexModel([("created_at", DESCENDING)]),
        IndexModel([("owner", 1), ("created_at", DESCENDING)]),
    ]
}

#: For which an ended key is listed, and counts as one of its owner's.
ENDED_KEPT = timedelta(days=30)


class MongoKeys:
    """The stored keys: `ApiKeys`, and the operations of the commands."""

    def __init__(self, database: Database) -> None:
        self._keys = database[_KEYS]
        self._known = Reads(database)[_KEYS]
        self._leases = database[LEASES]

    async def get(self, key_id: str) -> ApiKey | None:
        """Returns the stored key; None only when the primary has no such key either.

        Raises ServiceUnavailable when MongoDB is unavailable or takes over 1.5 s.
        """
        try:
            async with asyncio.timeout(FIND_TIMEOUT):
                with translated_errors():
                    document = await self._known.find_one({"_id": key_id})
                    if document is None:  # a secondary may not have it yet
                        document = await self._keys.find_one({"_id": key_id})
        except (Unavailable, TimeoutError):
            raise ServiceUnavailable("the API key cannot be checked now") from None
        return None if document is None else _read(document)

    async def add(self, key: ApiKey) -> None:
        """Stores a new key with the hash of its secret; raises Unavailable without MongoDB."""
        with translated_errors():
            await self._keys.insert_one(_written(key))

    async def all(self) -> Sequence[ApiKey]:
        """Returns all keys, newest first."""
        with translated_errors():
            found = self._keys.find().sort([("created_at", -1), ("_id", 1)])
            return [_read(document) async for document in found]

    async def of_owner(self, owner: str, *, at: datetime) -> Sequence[ApiKey]:
        """Returns an owner's keys, newest first, with those that ended in the last 30 days."""
        with translated_errors():
            found = self._keys.find(_recent(owner, at)).sort([("created_at", -1), ("_id", 1)])
            return [_read(document) async for document in found]

    async def add_within(self, key: ApiKey, maximum: int, *, at: datetime) -> bool:
        """Stores a new key; False if its owner has too many then, with the ended ones."""
        with translated_errors():
            await self._keys.insert_one(_written(key))
            # After it is stored: keys that are created at once count one another.
            if await self._keys.count_documents(_recent(key.owner, at)) <= maximum:
                return True
            await self._keys.delete_one({"_id": key.id})
            return False

    async def end(self, owner: str, key_id: str, *, at: datetime, by: str) -> bool:
        """Ends an owner's key; an earlier end keeps its time. False if the owner has no such key.

        A gateway may accept it for `LIFETIME` more seconds.
        """
        return await self._ended(owner, key_id, {"revoked_at": at, "ended_by": by})

    async def expire(self, owner: str, key_id: str, *, at: datetime, by: str) -> bool:
        """Lets an owner's key expire at a time, unless it does earlier; as `end` otherwise."""
        is_later = {"$or": [{"expires_at": None}, {"expires_at": {"$gt": at}}]}
        return await self._ended(owner, key_id, {"expires_at": at, "ended_by": by}, **is_later)

    async def _ended(self, owner: str, key_id: str, end: dict[str, Any], **chosen: Any) -> bool:
        of_owner = {"_id": key_id, "owner": owner}
        with translated_errors():
            await self._keys.update_one({**of_owner, "revoked_at": None, **chosen}, {"$set": end})
            return await self._keys.count_documents(of_owner, limit=1) == 1

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        """Revokes a key; an earlier revocation keeps its time. False when there is no such key."""
        with translated_errors():
            await self._keys.update_one(
                {"_id": key_id, "revoked_at": None}, {"$set": {"revoked_at": at}}
            )
            return await self._keys.count_documents({"_id": key_id}, limit=1) == 1

    async def remove_owner(self, owner: str, *, dry_run: bool) -> int:
        """Deletes the keys of an owner and the leases of their exports; returns the keys.

        A gateway may accept a deleted key for `LIFETIME` more seconds.
        """
        of_owner = {"owner": owner}
        with translated_errors():
            if dry_run:
                return await self._keys.count_documents(of_owner)
            ids = [one["_id"] async for one in self._keys.find(of_owner, {"_id": 1})]
            # First, since nothing else tells whose they are.
            jobs = {"$in": [export_job(key_id) for key_id in ids]}
            await self._leases.delete_many({"_id": jobs})
            return (await self._keys.delete_many(of_owner)).deleted_count


def export_job(key_id: str) -> str:
    """Returns the job of a key's export, which its lease is named after."""
    return f"export {key_id}"


def _written(key: ApiKey) -> dict[str, Any]:
    return {
        "_id": key.id,
        "secret_hash": key.secret_hash,
        "name": key.name,
        "owner": key.owner,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at,
        "revoked_at": key.revoked_at,
        "expires_at": key.expires_at,
        "rate": _written_rate(key.rate),
        "origins": list(key.origins),
        "visitor_rate": _written_rate(key.visitor_rate),
        "created_by": key.created_by,
        "ended_by": key.ended_by,
    }


def _written_rate(rate: Rate | None) -> dict[str, int] | None:
    return None if rate is None else {"count": rate.count, "window": rate.window}


def _read_rate(document: dict[str, int] | None) -> Rate | None:
    return Rate(**document) if document else None


def _recent(owner: str, at: datetime) -> dict[str, Any]:
    """Selects the keys of an owner that are valid, or have ended in the last 30 days."""
    long_ago = {"$lt": at - ENDED_KEPT}
    return {"owner": owner, "$nor": [{"revoked_at": long_ago}, {"expires_at": long_ago}]}


def _read(document: dict[str, Any]) -> ApiKey:
    return ApiKey(
        id=document["_id"],
        secret_hash=document["secret_hash"],
        name=document["name"],
        owner=document["owner"],
        scopes=frozenset(Scope(scope) for scope in document["scopes"]),
        created_at=document["created_at"],
        revoked_at=document["revoked_at"],
        # Keys of an earlier release have none of these.
        expires_at=document.get("expires_at"),
        rate=_read_rate(document.get("rate")),
        origins=tuple(document.get("origins", ())),
        visitor_rate=_read_rate(document.get("visitor_rate")),
        created_by=document.get("created_by"),
        ended_by=document.get("ended_by"),
    )


class CachedApiKeys:
    """An `ApiKeys` that reads each key from another at most once in `LIFETIME` seconds.

    Concurrent requests with the same key share one read. Unknown ids are cached apart from known
    ones, so that made-up keys cannot evict valid ones.
    """

    def __init__(
        self,
        keys: ApiKeys,
        *,
        clock: Callable[[], float],
        max_keys: int = MAX_KEYS,
    ) -> None:
        """`clock` is monotonic, in seconds."""
        self._keys = keys
        self._known = _Recent[ApiKey](clock, max_keys)
        self._unknown = _Recent[bool](clock, max_keys)
        self._reads = SingleFlight[ApiKey | None]()

    async def get(self, key_id: str) -> ApiKey | None:
        """Returns the key as it was up to `LIFETIME` seconds ago; None if there was none.

        Raises ServiceUnavailable if it cannot be read; failures are not cached.
        """
        known = self._known.get(key_id)
        if known is not None or self._unknown.get(key_id):
            return known
        return await self._reads(key_id, partial(self._read, key_id))

    async def _read(self, key_id: str) -> ApiKey | None:
        key = await self._keys.get(key_id)
        if key is None:
            self._unknown.put(key_id, value=True)
        else:
            self._known.put(key_id, key)
        return key


class _Recent(Generic[V]):
    def __init__(self, clock: Callable[[], float], max_keys: int) -> None:
        self._clock = clock
        self._max_keys = max_keys
        self._entries: OrderedDict[str, tuple[float, V]] = OrderedDict()

    def get(self, key: str) -> V | None:
        entry = self._entries.get(key)
        return entry[1] if entry is not None and self._clock() < entry[0] else None

    def put(self, key: str, value: V) -> None:
        self._entries[key] = (self._clock() + LIFETIME, value)
        self._entries.move_to_end(key)
        while len(self._entries) > self._max_keys:
            self._entries.popitem(last=False)
