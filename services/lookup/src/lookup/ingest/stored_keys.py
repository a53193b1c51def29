"""Keys of stored records, for the comparison with a register's whole file."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Final

from common.mongo import Database, translated_errors
from lookup.ingest.digests import Part
from lookup.ingest.register_source import RegisterSource
from lookup.store.documents import COMPANIES, PARTICIPANTS, UNITS

#: Keys per batch.
_LIST = 10_000

#: The collection of each part, the time of its version, and the condition of its existence.
_STORED: Final[dict[Part, tuple[str, str, dict[str, Any]]]] = {
    Part.COMPANY: (COMPANIES, "version.0", {}),
    Part.OWNERS: (COMPANIES, "owners_version.0", {"owners": {"$nin": [None, b"[]"]}}),
    Part.UNIT: (UNITS, "version.0", {}),
    Part.PARTICIPANT: (PARTICIPANTS, "version.0", {}),
}


class MongoKeys:
    """`StoredKeys`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, source: RegisterSource, *, until: datetime) -> AsyncIterator[Sequence[str]]:
        name, version, condition = _STORED[source.part]
        query: dict[str, Any] = {version: {"$lte": until}, **condition}
        if source.country is not None:
            query["_id"] = {"$gte": f"{source.country}:", "$lt": f"{source.country};"}
        with translated_errors():
            found = self._database[name].find(query, {"_id": 1}, batch_size=_LIST)
            while documents := await found.to_list(_LIST):
                yield [document["_id"] for document in documents]
