"""Updates of quota windows; simultaneous ones share a message."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pymongo import UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError

from common.contracts.failures import Unavailable
from common.mongo import DUPLICATE_KEY, translated_errors

#: Maximum updates of a message.
_MAX_BATCH = 500

Document = Mapping[str, Any]


class Refused(Exception):
    """MongoDB cannot make an update; the message has its reason."""


class _Update(NamedTuple):
    window_id: str
    operation: UpdateOne
    document: asyncio.Future[Document]


class BatchedUpdates:
    """Sends one message at a time, with all updates requested meanwhile."""

    def __init__(self, windows: AsyncCollection[dict[str, Any]]) -> None:
        self._windows = windows
        self._pending: list[_Update] = []
        self._sending = asyncio.Lock()

    async def send(self, window_id: str, operation: UpdateOne) -> Document:
        """Returns the window after an update that may insert it; raises Unavailable, Refused."""
        update = _Update(window_id, operation, asyncio.get_running_loop().create_future())
        self._pending.append(update)
        try:
            async with self._sending:
                if not update.document.done():
                    await self._send_pending()
            return update.document.result()
        finally:
            if update in self._pending:
                self._pending.remove(update)

    async def report(self, operations: Sequence[UpdateOne]) -> None:
        """Makes updates without reading the windows; raises PyMongoError."""
        await self._written_twice(operations)

    async def _send_pending(self) -> None:
        batch, self._pending = self._pending[:_MAX_BATCH], self._pending[_MAX_BATCH:]
        try:
            with translated_errors():
                await self._answer(batch)
        finally:
            for update in batch:
                if not update.document.done():
                    update.document.set_exception(Unavailable("the update was not answered"))
                    update.document.exception()  # it may have no reader

    async def _answer(self, batch: Sequence[_Update]) -> None:
        refused = await self._written_twice([update.operation for update in batch])
        ids = [update.window_id for update in batch]
        found = {each["_id"]: each async for each in self._windows.find({"_id": {"$in": ids}})}
        for n, update in enumerate(batch):
            if update.document.done():
                continue
            if refused.get(n, DUPLICATE_KEY) != DUPLICATE_KEY:
                update.document.set_exception(Refused(f"code {refused[n]}"))
            elif update.window_id in found:
                update.document.set_result(found[update.window_id])

    async def _written_twice(self, operations: Sequence[UpdateOne]) -> dict[int, int]:
        """Returns the codes of the operations that failed.

        A duplicate key is tried again: another gateway may have begun the window at that moment.
        A second one means that a later window has begun.
        """
        refused = await self._written(operations)
        again = [n for n, code in refused.items() if code == DUPLICATE_KEY]
        await self._written([operations[n] for n in again])
        return refused

    async def _written(self, operations: Sequence[UpdateOne]) -> dict[int, int]:
        """Returns the codes of the operations that failed."""
        if not operations:
            return {}
        try:
            await self._windows.bulk_write(operations, ordered=False)
        except BulkWriteError as error:
            return {each["index"]: each["code"] for each in error.details["writeErrors"]}
        return {}
