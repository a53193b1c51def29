"""One change of an owner's watchlists at a time, and of the webhooks that use them.

Limits then hold exactly, and no list is deleted while a webhook begins to use it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from pymongo.errors import DuplicateKeyError

from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from webhook_store.watchlists.documents import LOCKS

#: Time after which the lock of a process that died is free.
LEASE: Final = timedelta(seconds=30)
#: Maximum seconds of the work under a lock; the rest of the lease allows for wrong clocks.
MAX_HELD: Final = 20.0
#: Maximum seconds of waiting for the lock, and between two tries.
MAX_WAIT: Final = 10.0
_BETWEEN_TRIES: Final = 0.05


class OwnerLocks:
    """Locks that processes share through the database."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._locks = database[LOCKS]
        self._now = now

    @asynccontextmanager
    async def held(self, owner: str) -> AsyncIterator[None]:
        """Holds the owner's lock during the body; raises `Unavailable` if that takes too long."""
        token = uuid4().hex
        try:
            async with asyncio.timeout(MAX_WAIT):
                await self._wait_for(owner, token)
        except TimeoutError:
            raise Unavailable("another change of the owner's watchlists takes long") from None
        try:
            async with asyncio.timeout(MAX_HELD):
                yield
        except TimeoutError:
            raise Unavailable("a change of watchlists took too long") from None
        finally:
            # After a failure the lease ends by itself.
            with suppress(Unavailable), translated_errors():
                await self._locks.delete_one({"_id": owner, "token": token})

    async def _wait_for(self, owner: str, token: str) -> None:
        while True:
            if await self._take(owner, token):
                return
            await asyncio.sleep(_BETWEEN_TRIES)

    async def _take(self, owner: str, token: str) -> bool:
        now = self._now()
        with translated_errors():
            try:
                await self._locks.update_one(
                    {"_id": owner, "until": {"$lte": now}},
                    {"$set": {"token": token, "until": now + LEASE}},
                    upsert=True,
                )
            except DuplicateKeyError:
                return False
        return True
