"""Stored digests of documents."""

from collections.abc import Collection, Mapping
from typing import Final

from pymongo import UpdateOne

from common.mongo import Database, translated_errors
from lookup.ingest.digests import Part
from lookup.ingest.planning.states import DigestUpdate
from lookup.store.documents import COMPANIES, PARTICIPANTS, UNITS

#: The collection and field of each part's digest.
_PLACES: Final[dict[Part, tuple[str, str]]] = {
    Part.COMPANY: (COMPANIES, "digest"),
    Part.OWNERS: (COMPANIES, "owners_digest"),
    Part.UNIT: (UNITS, "digest"),
    Part.PARTICIPANT: (PARTICIPANTS, "digest"),
}


class MongoDigests:
    """`StoredDigests`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, part: Part, keys: Collection[str]) -> Mapping[str, bytes | None]:
        name, field = _PLACES[part]
        query = {"_id": {"$in": list(keys)}}
        with translated_errors():
            # In one batch; the default first batch has 101 documents.
            found = self._database[name].find(query, {field: 1}, batch_size=len(keys) + 1)
            return {document["_id"]: document.get(field) for document in await found.to_list(None)}


def renewed(change: DigestUpdate) -> UpdateOne:
    _, field = _PLACES[change.part]
    return UpdateOne(
        {"_id": change.key, "revision": change.expected}, {"$set": {field: change.digest}}
    )
