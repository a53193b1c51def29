"""The keys of what is stored, for comparing all of it with a register's whole file."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from common.mongo import Database, translated_errors
from lookup.ingest.records import Kind
from lookup.store.documents import COMPANIES, PARTICIPANTS, UNITS

#: Keys in a list.
_LIST = 10_000

_NORWEGIAN = {"_id": {"$gte": "no:", "$lt": "no;"}}

#: The collection of each kind with whole files, its version's time, and which of it are meant.
_STORED: dict[Kind, tuple[str, str, dict[str, Any]]] = {
    Kind.NO_ENTITIES: (COMPANIES, "version.0", _NORWEGIAN),
    Kind.NO_UNITS: (UNITS, "version.0", _NORWEGIAN),
    Kind.NO_ROLES: (
        COMPANIES,
        "owners_version.0",
        {**_NORWEGIAN, "owners": {"$nin": [None, b"[]"]}},
    ),
    Kind.PEPPOL: (PARTICIPANTS, "version.0", {}),
}


class MongoKeys:
    """`StoredKeys`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, kind: Kind, *, until: datetime) -> AsyncIterator[Sequence[str]]:
        name, version, condition = _STORED[kind]
        query = {version: {"$lte": until}, **condition}
        with translated_errors():
            found = self._database[name].find(query, {"_id": 1}, batch_size=_LIST)
            while documents := await found.to_list(_LIST):
                yield [document["_id"] for document in documents]
