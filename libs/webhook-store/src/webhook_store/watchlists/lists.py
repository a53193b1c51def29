"""Watchlists of owners: their names, sizes and deletion.

Decisions about several documents, such as a limit or the absence of webhooks that use a list, are
made under the owner's lock (`locks.py`).
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pymongo import DESCENDING, ReturnDocument
from pymongo.errors import DuplicateKeyError

from common.contracts.watchlists import Watchlist
from common.mongo import Database, translated_errors
from webhook_store.watchlists.documents import WATCHLISTS, watchlist_document, watchlist_of

_NEWEST = [("created_at", DESCENDING), ("_id", DESCENDING)]


class Watchlists:
    """The stored watchlists. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._lists = database[WATCHLISTS]

    async def create(self, new: Watchlist) -> Watchlist:
        """Stores a watchlist; returns the stored one if it exists, as after a redelivered call."""
        with translated_errors():
            try:
                await self._lists.insert_one(watchlist_document(new))
            except DuplicateKeyError:
                return await self.find(new.owner, new.id) or new
        return new

    async def find(self, owner: str, watchlist_id: str) -> Watchlist | None:
        """Returns an owner's watchlist; None if absent or another owner's."""
        with translated_errors():
            found = await self._lists.find_one({"_id": watchlist_id, "owner": owner})
        return None if found is None else watchlist_of(found)

    async def missing(self, owner: str, ids: Collection[str]) -> set[str]:
        """Returns the ids among `ids` that are of no list of the owner."""
        with translated_errors():
            found = self._lists.find({"_id": {"$in": list(ids)}, "owner": owner}, {"_id": 1})
            return set(ids) - {one["_id"] async for one in found}

    async def of_owner(self, owner: str) -> list[Watchlist]:
        """Returns an owner's watchlists, newest first."""
        with translated_errors():
            found = self._lists.find({"owner": owner}).sort(_NEWEST)
            return [watchlist_of(document) async for document in found]

    async def sizes(self, owner: str, ids: Collection[str] | None = None) -> Mapping[str, int]:
        """Returns the sizes of an owner's watchlists, or of those among `ids`."""
        some = {} if ids is None else {"_id": {"$in": list(ids)}}
        with translated_errors():
            found = self._lists.find({"owner": owner, **some}, {"size": 1})
            return {one["_id"]: one["size"] async for one in found}

    async def change(
        self, owner: str, watchlist_id: str, fields: Mapping[str, Any]
    ) -> Watchlist | None:
        """Sets fields of a watchlist; None when the owner has no such list."""
        with translated_errors():
            found = await self._lists.find_one_and_update(
                {"_id": watchlist_id, "owner": owner},
                {"$set": dict(fields)},
                return_document=ReturnDocument.AFTER,
            )
        return None if found is None else watchlist_of(found)

    async def delete(self, owner: str, watchlist_id: str, *, call_id: UUID, at: datetime) -> bool:
        """Deletes a list; False if it did not exist. Its companies are removed later.

        A redelivered call returns True again.
        """
        call = str(call_id)
        with translated_errors():
            result = await self._lists.update_one(
                {"_id": watchlist_id, "owner": owner},
                {"$set": {"owner": None, "deleted_at": at, "deleted_by": call}},
            )
            if result.modified_count:
                return True
            again = {"_id": watchlist_id, "deleted_by": call}
            return await self._lists.find_one(again, {"_id": 1}) is not None

    async def deleted(self) -> list[str]:
        """Returns the ids of deleted lists whose companies are not yet removed."""
        with translated_errors():
            found = self._lists.find({"deleted_at": {"$exists": True}}, {"_id": 1}, limit=100)
            return [one["_id"] async for one in found]

    async def forget(self, watchlist_id: str) -> None:
        """Deletes the document of a deleted list whose companies are removed."""
        with translated_errors():
            await self._lists.delete_one({"_id": watchlist_id, "owner": None})
