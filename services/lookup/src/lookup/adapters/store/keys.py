"""The keys of what is stored, for comparing all of it with a register's whole file."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from common.mongo import Database, outages
from lookup.adapters.store.documents import COMPANIES, UNITS
from lookup.domain.records import Kind

#: Keys in a list.
_LIST = 10_000

#: The collection of each Norwegian kind and what tells that one is there, by its version.
_STORED: dict[Kind, tuple[str, str, dict[str, Any]]] = {
    Kind.NO_ENTITIES: (COMPANIES, "version.0", {}),
    Kind.NO_UNITS: (UNITS, "version.0", {}),
    Kind.NO_ROLES: (COMPANIES, "owners_version.0", {"owners": {"$nin": [None, b"[]"]}}),
}


class MongoKeys:
    """`StoredKeys`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, kind: Kind, *, until: datetime) -> AsyncIterator[Sequence[str]]:
        name, version, condition = _STORED[kind]
        norwegian = {"_id": {"$gte": "no:", "$lt": "no;"}}
        query = {**norwegian, version: {"$lte": until}, **condition}
        with outages():
            found = self._database[name].find(query, {"_id": 1}, batch_size=_LIST)
            while documents := await found.to_list(_LIST):
                yield [document["_id"] for document in documents]
