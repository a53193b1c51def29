"""Stored cursors: one document per source."""

from dataclasses import asdict
from typing import Any

from pymongo.errors import DuplicateKeyError

from common.mongo import Database, translated_errors
from lookup.ingest.feeds import Cursor, Position
from lookup.ingest.planning.states import Conflict
from lookup.store.documents import CURSORS, Document


class StoredCursors:
    """Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._cursors = database[CURSORS]

    async def read(self, source: str) -> Cursor | None:
        with translated_errors():
            document = await self._cursors.find_one({"_id": source})
        return None if document is None else _cursor(document)

    async def move(self, source: str, cursor: Cursor) -> Cursor:
        """Replaces the cursor of the same revision; returns the stored successor.

        Raises Conflict if another process has moved it since it was read.
        """
        document = _document(cursor)
        try:
            with translated_errors():
                if cursor.revision == 0:
                    await self._cursors.insert_one({"_id": source, **document})
                else:
                    before = {"_id": source, "revision": cursor.revision}
                    result = await self._cursors.replace_one(before, document)
                    if result.matched_count == 0:
                        raise Conflict("another sync has moved the cursor")
        except DuplicateKeyError:
            raise Conflict("another sync has started at the same time") from None
        return _cursor(document)


def _document(cursor: Cursor) -> Document:
    return {**asdict(cursor), "revision": cursor.revision + 1}


def _cursor(document: Document) -> Cursor:
    position: dict[str, Any] = document["position"]
    return Cursor(
        position=Position(position["at"], position["sequence"], tuple(position["seen"])),
        until=document["until"],
        reconciled_at=document["reconciled_at"],
        etag=document["etag"],
        downloads=tuple(document["downloads"]),
        revision=document["revision"],
    )
