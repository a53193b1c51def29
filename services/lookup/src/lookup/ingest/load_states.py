"""Load states of the sources."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from common.mongo import Database, translated_errors
from lookup.store.documents import LOADS, Document


class FileOrigin(StrEnum):
    """The origin of a file. Files are compared with the last one of the same origin."""

    IMPORTED = "imported"
    DOWNLOADED = "downloaded"


class StoredLoadStates:
    """One document per source: `state` is `loading` until a file was read whole, then `loaded`.

    Every method may raise `Unavailable`.
    """

    def __init__(self, database: Database) -> None:
        self._loads = database[LOADS]

    async def begin(self, source: str, *, at: datetime) -> None:
        """Records the start of a load; a source that was never loaded to the end is `loading`."""
        with translated_errors():
            await self._loads.update_one(
                {"_id": source},
                {"$set": {"begun_at": at}, "$setOnInsert": {"state": "loading"}},
                upsert=True,
            )

    async def finish(
        self,
        source: str,
        *,
        at: datetime,
        counts: Mapping[str, int],
        whole: FileOrigin | None = None,
    ) -> None:
        """Records that a file was read to its end: the source is `loaded` from now on.

        `whole` is the origin of a file that later ones of the same origin are compared with.
        """
        loaded: Document = {"state": "loaded", "finished_at": at, "counts": dict(counts)}
        if whole is not None:
            loaded[f"records.{whole}"] = counts["read"]
        with translated_errors():
            await self._loads.update_one({"_id": source}, {"$set": loaded})

    async def records(self, source: str, origin: FileOrigin) -> int:
        """The number of records in the last whole file of that origin; 0 before the first."""
        with translated_errors():
            found = await self._loads.find_one({"_id": source}, {"records": 1})
        return 0 if found is None else int(found.get("records", {}).get(origin, 0))

    async def is_loaded(self, source: str) -> bool:
        """True if a file of the source has been loaded to its end."""
        with translated_errors():
            found = await self._loads.find_one({"_id": source, "state": "loaded"}, {"_id": 1})
        return found is not None
