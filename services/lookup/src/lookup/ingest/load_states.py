"""How far each source has been loaded."""

from collections.abc import Mapping
from datetime import datetime

from common.mongo import Database, translated_errors
from lookup.ingest.load import FileOrigin
from lookup.store.documents import LOADS, Document


class StoredLoadStates:
    """One document per source: `state` is `loading` until a file was read whole, then `loaded`."""

    def __init__(self, database: Database) -> None:
        self._loads = database[LOADS]

    async def begin(self, source: str, *, at: datetime) -> None:
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
        loaded: Document = {"state": "loaded", "finished_at": at, "counts": dict(counts)}
        if whole is not None:
            loaded[f"records.{whole}"] = counts["read"]
        with translated_errors():
            await self._loads.update_one({"_id": source}, {"$set": loaded})

    async def records(self, source: str, origin: FileOrigin) -> int:
        with translated_errors():
            found = await self._loads.find_one({"_id": source}, {"records": 1})
        return 0 if found is None else int(found.get("records", {}).get(origin, 0))

    async def is_loaded(self, source: str) -> bool:
        """Whether the source has once been loaded to the end of a file."""
        with translated_errors():
            found = await self._loads.find_one({"_id": source, "state": "loaded"}, {"_id": 1})
        return found is not None
