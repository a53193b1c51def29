"""Cache of API keys in front of their storage."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from gateway.access.keys import ApiKey, ApiKeys
from gateway.problems import ServiceUnavailable

#: Seconds for which a key is cached. Decided: a revocation takes effect within 10 s everywhere.
LIFETIME = 5.0
#: Maximum number of cached keys, and of unknown ids: about 5 MB.
MAX_KEYS = 10_000

V = TypeVar("V")


class CachedApiKeys:
    """An `ApiKeys` that reads each key from another at most once in `lifetime` seconds.

    Concurrent requests with the same key share one read. Unknown ids are cached apart from known
    ones, so that made-up keys cannot evict valid ones.
    """

    def __init__(
        self,
        keys: ApiKeys,
        *,
        clock: Callable[[], float],
        lifetime: float = LIFETIME,
        max_keys: int = MAX_KEYS,
    ) -> None:
        """`clock` is monotonic, in seconds."""
        self._keys = keys
        self._known = _Recent[ApiKey](clock, lifetime, max_keys)
        self._unknown = _Recent[bool](clock, lifetime, max_keys)
        self._reads: dict[str, asyncio.Future[ApiKey | None]] = {}

    async def find(self, key_id: str) -> ApiKey | None:
        known = self._known.get(key_id)
        if known is not None or self._unknown.get(key_id):
            return known
        read = self._reads.get(key_id)
        if read is not None:
            # Shielded: a cancelled request must not cancel the others' read.
            return await asyncio.shield(read)
        return await self._read(key_id)

    async def _read(self, key_id: str) -> ApiKey | None:
        read = asyncio.get_running_loop().create_future()
        self._reads[key_id] = read
        try:
            key = await self._keys.find(key_id)
        except BaseException as error:
            read.set_exception(_for_others(error))
            read.exception()  # retrieved: asyncio would report it if no other request waits
            raise
        else:
            read.set_result(key)
        finally:
            del self._reads[key_id]
        if key is None:
            self._unknown.put(key_id, value=True)
        else:
            self._known.put(key_id, key)
        return key


def _for_others(error: BaseException) -> BaseException:
    """The error for requests that shared a read; a cancellation is not passed on."""
    if isinstance(error, Exception):
        return error
    return ServiceUnavailable("the API key could not be checked")


class _Recent(Generic[V]):
    """Recent values by key, oldest first; each expires."""

    def __init__(self, clock: Callable[[], float], lifetime: float, max_keys: int) -> None:
        self._clock = clock
        self._lifetime = lifetime
        self._max_keys = max_keys
        self._entries: OrderedDict[str, tuple[float, V]] = OrderedDict()

    def get(self, key: str) -> V | None:
        entry = self._entries.get(key)
        return entry[1] if entry is not None and self._clock() < entry[0] else None

    def put(self, key: str, value: V) -> None:
        self._entries[key] = (self._clock() + self._lifetime, value)
        self._entries.move_to_end(key)
        while len(self._entries) > self._max_keys:
            self._entries.popitem(last=False)
