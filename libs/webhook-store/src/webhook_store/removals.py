"""Removals by an operator: all that an owner has, and the events that name a limited person."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

import orjson
from pymongo import UpdateOne

from common.contracts.company import CompanyKey
from common.domain.limited import NameHash, mentions
from common.mongo import Database, translated_errors
from webhook_store.collections import (
    ATTEMPTS,
    BY_ID,
    DELETED,
    DELIVERIES,
    DIGESTS,
    EVENTS,
    FILE_DECISIONS,
    FILE_PARTS,
    FILES,
    IDEMPOTENCY,
    LOCKS,
    MEMBERS,
    RECOVERIES,
    WATCHLISTS,
    WEBHOOKS,
    Document,
)
from webhook_store.deliveries import WAITING, DeliveryState
from webhook_store.recipients import forget_owner
from webhook_store.watchlists import BATCH, Members, Watchlists

#: Retention of the ids of a removed owner: until then the removal continues, or is repeated for
#: what was in flight.
_KEPT = timedelta(days=1)
#: Rows without an attempt are in one of these states, each with an index of its own.
_STATES = (
    {"state": WAITING},
    {"state": {"$in": [DeliveryState.FAILED.value, DeliveryState.CANCELLED.value]}},
)


class OwnerCounts(NamedTuple):
    """Documents of an owner."""

    webhooks: int
    watchlists: int
    #: Companies in the watchlists.
    companies: int
    attempts: int
    #: Addresses to which the watchlists are sent.
    digests: int
    #: Files of customers.
    files: int


class OwnerRemoval:
    """Removes all that an owner has; run again, it continues. Methods may raise `Unavailable`."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner
        # The ids outlive the webhooks, which alone tell whose their deliveries are.
        self._job = f"owner:{sha256(owner.encode()).hexdigest()}"

    async def count(self) -> OwnerCounts:
        """Returns what the removal would delete."""
        webhooks, watchlists = await self._ids()
        with translated_errors():
            return OwnerCounts(
                await self._database[WEBHOOKS].count_documents({"owner": self._owner}),
                await self._database[WATCHLISTS].count_documents({"owner": self._owner}),
                await self._database[MEMBERS].count_documents({"list": {"$in": watchlists}}),
                await self._database[ATTEMPTS].count_documents({"webhook_id": {"$in": webhooks}}),
                await self._database[DIGESTS].count_documents({"owner": self._owner}),
                await self._database[FILES].count_documents({"owner": self._owner}),
            )

    async def run(self, *, at: datetime) -> OwnerCounts:
        """Deletes it in batches; returns how much."""
        webhooks, watchlists = await self._ids()
        with translated_errors():
            await self._database[IDEMPOTENCY].update_one(
                {"_id": self._job},
                {
                    "$addToSet": {
                        "webhooks": {"$each": webhooks},
                        "watchlists": {"$each": watchlists},
                    },
                    "$set": {"expires_at": at + _KEPT},
                },
                upsert=True,
            )
            removed = await self._remove_webhooks(webhooks, at)
            attempts = [await self._remove_deliveries(webhook_id) for webhook_id in webhooks]
            lists = await self._database[WATCHLISTS].update_many(
                {"owner": self._owner}, {"$set": {"owner": None, "deleted_at": at}}
            )
            digests = await self._database[DIGESTS].delete_many({"owner": self._owner})
            files, *_ = [
                await self._database[name].delete_many({"owner": self._owner})
                for name in (FILES, FILE_PARTS, FILE_DECISIONS)
            ]
            companies = [await self._remove_watchlist(one) for one in watchlists]
            await forget_owner(self._database, self._owner)
            await self._database[LOCKS].delete_one({"_id": self._owner})
        return OwnerCounts(
            removed,
            lists.modified_count,
            sum(companies),
            sum(attempts),
            digests.deleted_count,
            files.deleted_count,
        )

    async def _ids(self) -> tuple[list[str], list[str]]:
        """Returns the ids of the owner's webhooks and watchlists, of those removed lately too."""
        query: Document = {"filter": {"owner": self._owner}, "projection": {"_id": 1}}
        with translated_errors():
            job = await self._database[IDEMPOTENCY].find_one({"_id": self._job}) or {}
            webhooks = [one["_id"] async for one in self._database[WEBHOOKS].find(**query)]
            lists = [one["_id"] async for one in self._database[WATCHLISTS].find(**query)]
        return (
            sorted({*webhooks, *job.get("webhooks", ())}),
            sorted({*lists, *job.get("watchlists", ())}),
        )

    async def _remove_webhooks(self, ids: list[str], at: datetime) -> int:
        deleted = await self._database[WEBHOOKS].delete_many({"owner": self._owner})
        # Dispatchers then take them out of their index, after the deletion as in `Registrations`.
        notes = [
            UpdateOne({"_id": one}, {"$setOnInsert": {"deleted_at": at}}, upsert=True)
            for one in ids
        ]
        if notes:
            await self._database[DELETED].bulk_write(notes, ordered=False)
        await self._database[RECOVERIES].delete_many({"webhook_id": {"$in": ids}})
        return deleted.deleted_count

    async def _remove_deliveries(self, webhook_id: str) -> int:
        rows, attempts = self._database[DELIVERIES], self._database[ATTEMPTS]
        of_webhook = {"webhook_id": webhook_id}
        for state in _STATES:
            while found := await rows.find(
                {**of_webhook, **state}, {"event_id": 1}, limit=BATCH
            ).to_list(None):
                await self._remove_rows(webhook_id, {one["_id"]: one["event_id"] for one in found})
        removed = 0
        # A delivery that succeeded is in no index of webhooks; its attempts are.
        while found := await attempts.find(
            of_webhook, {"delivery_id": 1, "event_id": 1}, limit=BATCH
        ).to_list(None):
            rows_of = {one["delivery_id"]: one["event_id"] for one in found}
            await self._remove_rows(webhook_id, rows_of)
            ids = {"$in": [one["_id"] for one in found]}
            gone = await attempts.delete_many({"_id": ids, **of_webhook}, hint=BY_ID)
            removed += gone.deleted_count
        return removed

    async def _remove_rows(self, webhook_id: str, events: dict[str, str]) -> None:
        """Deletes deliveries, given with their events, and the events that are the owner's own."""
        own = {"_id": {"$in": list(events.values())}, "company": None}
        await self._database[EVENTS].delete_many(own)
        await self._database[DELIVERIES].delete_many(
            {"_id": {"$in": list(events)}, "webhook_id": webhook_id}, hint=BY_ID
        )

    async def _remove_watchlist(self, watchlist_id: str) -> int:
        members, removed = Members(self._database), 0
        while count := await members.remove_some(watchlist_id):
            removed += count
        await Watchlists(self._database).forget(watchlist_id)
        return removed


async def forget_person(database: Database, company: CompanyKey, name: NameHash) -> int:
    """Deletes the stored events of a company that name a person; returns their number.

    Deliveries that wait for them are cancelled at their next attempt. Raises `Unavailable`.
    """
    with translated_errors():
        found = database[EVENTS].find({"company": company}, {"body": 1})
        ids = [
            event["_id"]
            async for event in found
            if mentions(company, orjson.loads(event["body"]), [name])
        ]
        for part in _parts(ids):
            of_events: Document = {"event_id": {"$in": part}}
            # Before the events, so that none of these deliveries is repeated without its event.
            await database[DELIVERIES].update_many(of_events, {"$set": {"purged": True}})
            await database[EVENTS].delete_many({"_id": {"$in": part}})
    return len(ids)


def _parts(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]
