"""Digests and keys of the stored parts."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from pymongo import UpdateOne

from common.mongo import Database, translated_errors
from ingest.changes.states import DigestUpdate
from ingest.records.digests import Part
from ingest.records.source import RegisterSource
from register_store.documents import COMPANIES, PARTICIPANTS, UNITS

#: Keys per batch.
_LIST = 10_000


class _Place(NamedTuple):
    """The collection of a part, the fields of its digest and its version, and if it exists."""

    collection: str
    digest: str = "digest"
    version: str = "version.0"
    exists: Mapping[str, Any] = {}


_PLACES: Final = {
    Part.COMPANY: _Place(COMPANIES),
    Part.OWNERS: _Place(
        COMPANIES, "owners_digest", "owners_version.0", {"owners": {"$nin": [None, b"[]"]}}
    ),
    Part.UNIT: _Place(UNITS),
    Part.PARTICIPANT: _Place(PARTICIPANTS),
}


class StoredParts:
    """The digests and keys of stored records. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def digests(self, part: Part, keys: Collection[str]) -> Mapping[str, bytes | None]:
        """Returns the digests stored under these keys, None where absent."""
        place, query = _PLACES[part], {"_id": {"$in": list(keys)}}
        with translated_errors():
            # In one batch; the default first batch has 101 documents.
            found = self._database[place.collection].find(
                query, {place.digest: 1}, batch_size=len(keys) + 1
            )
            return {one["_id"]: one.get(place.digest) for one in await found.to_list(None)}

    async def keys(
        self, source: RegisterSource, *, until: datetime
    ) -> AsyncIterator[Sequence[str]]:
        """Yields batches of keys of the records whose version is not newer than `until`.

        For roles, the companies with owners from them; for e-invoicing, the identifiers.
        """
        place = _PLACES[source.part]
        query: dict[str, Any] = {place.version: {"$lte": until}, **place.exists}
        if source.country is not None:
            query["_id"] = {"$gte": f"{source.country}:", "$lt": f"{source.country};"}
        with translated_errors():
            found = self._database[place.collection].find(query, {"_id": 1}, batch_size=_LIST)
            while documents := await found.to_list(_LIST):
                yield [document["_id"] for document in documents]


def renewed(change: DigestUpdate) -> UpdateOne:
    """Returns the write of a digest, which applies only to the expected revision."""
    return UpdateOne(
        {"_id": change.key, "revision": change.expected},
        {
            "$set": {
                _PLACES[change.part].digest: change.digest,
                **({} if change.core is None else {"core": change.core}),
            }
        },
    )
