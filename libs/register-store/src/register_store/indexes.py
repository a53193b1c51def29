"""Indexes, created by a command (in Kubernetes a Job), never when a service starts."""

from contextlib import suppress
from datetime import timedelta

from pymongo import ASCENDING, IndexModel, UpdateOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import CollectionInvalid

from common.mongo import Database, translated_errors
from common.mongo_commands import create_indexes, drop_indexes
from register_store.accounts import ACCOUNTS, ACCOUNTS_STATES
from register_store.documents import (
    COMPANIES,
    EVENT_BATCHES,
    GROUPS,
    HISTORY,
    OUTBOX,
    PARTICIPANTS,
    REORGANISATIONS,
    REVISIONS,
    UNITS,
    UPCOMING,
    Document,
)
from register_store.lists import order_fields

INDEXES = {
    COMPANIES: [
        # The best company of a number is the first entry of the index.
        IndexModel([("phones", ASCENDING), ("rank", ASCENDING)], name="phones_rank"),
        IndexModel([("units", ASCENDING)], name="units"),
        # The parties of a merger or demerger; few companies take part in one.
        IndexModel(
            [(f"{REORGANISATIONS}.number", ASCENDING)],
            name="reorganisations",
            partialFilterExpression={REORGANISATIONS: {"$exists": True}},
        ),
    ],
    UNITS: [
        # The order of a company's units, without a read of any unit.
        IndexModel(
            [(field, ASCENDING) for field in ("company", "ended", "_id", "started", "place")],
            name="company_units",
        ),
        IndexModel([("phones", ASCENDING)], name="phones"),
    ],
    # The identifiers of a holder, in order.
    PARTICIPANTS: [IndexModel([("holder", ASCENDING), ("_id", ASCENDING)], name="holder_id")],
    GROUPS: [
        IndexModel([("members", ASCENDING)], name="members"),
        # The ones that are to be read next.
        IndexModel([("asked_at", ASCENDING)], name="asked_at"),
    ],
    UPCOMING: [IndexModel([("day", ASCENDING)], name="day")],
    OUTBOX: [
        # Unpublished events, in order per company; it is nearly empty while the publisher runs.
        IndexModel(
            [("company", ASCENDING), ("revision", ASCENDING)],
            name="to_publish",
            partialFilterExpression={"published_at": None},
        ),
        # Published events without a receipt, the oldest first.
        IndexModel(
            [("published_at", ASCENDING), ("again_at", ASCENDING)],
            name="unconfirmed",
            partialFilterExpression={"again_at": {"$exists": True}},
        ),
        # The feed, with the fields that filters select by, and the feed of one company.
        IndexModel(
            [(field, ASCENDING) for field in ("position", "type", "company", "owner")],
            name="feed",
            partialFilterExpression={"position": {"$exists": True}},
        ),
        IndexModel([("company", ASCENDING), ("position", ASCENDING)], name="company_feed"),
        IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0),
    ],
    EVENT_BATCHES: [IndexModel([("at", ASCENDING)], name="at")],
    # The companies whose register is to be asked, the longest due first.
    ACCOUNTS_STATES: [IndexModel([("next_at", ASCENDING)], name="next_at")],
}


#: Ten years, of which three have 366 days.
HISTORY_RETENTION = timedelta(days=3653)
_EXPIRY = "expiry"
#: Replaced indexes, which only earlier releases use.
_REPLACED = {UNITS: ["company"], PARTICIPANTS: ["holder"]}
#: Units per write.
_BATCH = 1_000


async def make_indexes(
    database: Database, *, history_retention: timedelta = HISTORY_RETENTION
) -> list[str]:
    """Creates missing indexes, with the fields they need, and drops none (`create_indexes`)."""
    await _add_order(database[UNITS])
    await _prepare(database, HISTORY, ACCOUNTS)
    await _keep_history(database, history_retention)
    seconds = round(history_retention.total_seconds())
    expiry = IndexModel([("at", ASCENDING)], name=_EXPIRY, expireAfterSeconds=seconds)
    return await create_indexes(database, {**INDEXES, HISTORY: [expiry]})


async def _prepare(database: Database, *names: str) -> None:
    """Creates collections in which zstd halves texts that are much alike."""
    for name in names:
        with translated_errors(), suppress(CollectionInvalid):
            await database.create_collection(
                name, storageEngine={"wiredTiger": {"configString": "block_compressor=zstd"}}
            )


async def _keep_history(database: Database, retention: timedelta) -> None:
    """Notes how long the history is kept, and changes an index that keeps it for another time."""
    seconds = round(retention.total_seconds())
    with translated_errors():
        await database[REVISIONS].update_one(
            {"_id": HISTORY}, {"$set": {"kept_for": seconds * 1000}}, upsert=True
        )
        present = await database[HISTORY].index_information()
        if present.get(_EXPIRY, {}).get("expireAfterSeconds", seconds) != seconds:
            index = {"name": _EXPIRY, "expireAfterSeconds": seconds}
            await database.command("collMod", HISTORY, index=index)


async def drop_replaced(database: Database) -> list[str]:
    """Drops the indexes that only earlier releases use; returns the names of those that existed."""
    return await drop_indexes(database, _REPLACED)


async def _add_order(units: AsyncCollection[Document]) -> None:
    """Adds the fields of the order to the units that an earlier release stored."""
    found = units.find({"ended": {"$exists": False}}, {"core": 1}, batch_size=_BATCH)
    while documents := await found.to_list(_BATCH):
        await units.bulk_write(
            [
                # Unless the unit was stored meanwhile.
                UpdateOne(one, {"$set": order_fields(one["core"])})
                for one in documents
            ],
            ordered=False,
        )
