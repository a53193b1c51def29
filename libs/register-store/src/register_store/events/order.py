"""The order of published events: a chain of batches, each appended by a compare-and-swap.

A batch's `_id` is its predecessor's plus one, so of two publishers with the same predecessor only
one appends. Positions of a batch follow those of its predecessor. A batch is complete when each of
its events has its position; readers read up to the last complete batch (ADR 0024).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pymongo.errors
from pymongo.read_concern import ReadConcern

from common.contracts.failures import Unavailable
from common.mongo import Database, translated_errors
from register_store.documents import EVENT_BATCHES


class Superseded(Unavailable):
    """Another process has appended a batch and holds the lease."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of published events at consecutive positions."""

    number: int
    #: The position of its first event.
    first: int
    count: int
    at: datetime
    #: Time at which its events are due again unless they are confirmed.
    again_at: datetime
    #: The events in order; empty once the batch is complete.
    ids: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """The position of its last event."""
        return self.first + self.count - 1


_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
#: The predecessor of the first batch.
_NONE = Batch(number=0, first=1, count=0, at=_LONG_AGO, again_at=_LONG_AGO)


class EventLog:
    """The batches, as the publisher accesses them. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._batches = database[EVENT_BATCHES]
        # Only a batch that survives a failover may have a successor.
        self._majority = self._batches.with_options(read_concern=ReadConcern("majority"))

    async def newest(self) -> Batch:
        """Returns the last batch, which may be incomplete."""
        with translated_errors():
            found = await self._majority.find_one({}, sort=[("_id", -1)])
        return _NONE if found is None else _batch(found)

    async def append(
        self, after: Batch, ids: Sequence[str], *, at: datetime, again_at: datetime
    ) -> Batch:
        """Appends an incomplete batch; raises `Superseded` when `after` is not the newest."""
        batch = Batch(
            after.number + 1, after.last + 1, len(ids), max(at, after.at), again_at, tuple(ids)
        )
        try:
            with translated_errors():
                await self._batches.insert_one(_document(batch))
        except pymongo.errors.DuplicateKeyError as error:
            raise Superseded("another process publishes the outbox") from error
        return batch

    async def complete(self, batch: Batch) -> Batch:
        """Makes a batch visible to readers, once each of its events has its position."""
        with translated_errors():
            await self._batches.update_one(
                {"_id": batch.number}, {"$set": {"complete": True}, "$unset": {"ids": ""}}
            )
        return replace(batch, ids=())

    async def prune(self, newest: Batch, *, before: datetime) -> None:
        """Deletes batches whose events have expired, but never the newest."""
        with translated_errors():
            await self._batches.delete_many({"_id": {"$lt": newest.number}, "at": {"$lt": before}})


def _document(batch: Batch) -> dict[str, Any]:
    fields = asdict(batch)
    return {"_id": fields.pop("number"), **fields, "complete": False}


def _batch(document: Mapping[str, Any]) -> Batch:
    return Batch(
        document["_id"],
        document["first"],
        document["count"],
        document["at"],
        document["again_at"],
        tuple(document.get("ids", ())),
    )
