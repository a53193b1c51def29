"""Indexes are made by a command (in Kubernetes a Job), never when a service starts."""

from pymongo import ASCENDING, DESCENDING, IndexModel

from common.contracts.events import RECEIPTS
from common.mongo import Database, translated_errors
from webhook_store.delivery_documents import ATTEMPTS, DELIVERIES, EVENTS, RECOVERIES, WAITING
from webhook_store.delivery_models import DeliveryState
from webhook_store.documents import IDEMPOTENCY, WEBHOOKS

#: Partial indexes: most rows have succeeded, and are in neither.
_WAITING = {"state": WAITING}
_REPEATABLE = {"state": {"$in": [DeliveryState.FAILED.value, DeliveryState.CANCELLED.value]}}
#: As `_WAITING`; not for the dispatcher's queries, whose choice of an index it would make harder.
_WAITING_NEWEST = {**_WAITING, "occurred_at": {"$exists": True}}

_NEWEST = [("occurred_at", DESCENDING), ("_id", DESCENDING)]

INDEXES = {
    WEBHOOKS: [
        # At most one webhook in each slot of an owner.
        IndexModel([("owner", ASCENDING), ("slot", ASCENDING)], name="owner_slot", unique=True),
        IndexModel([("match_keys", ASCENDING)], name="match_keys"),
    ],
    IDEMPOTENCY: [
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    DELIVERIES: [
        # A webhook's next: first attempts before retries.
        IndexModel(
            [("webhook_id", ASCENDING), ("retries", ASCENDING), ("due_at", ASCENDING)],
            name="next_due",
            partialFilterExpression=_WAITING,
        ),
        # The sweeper's, in the same order; also counts what waits by delay.
        IndexModel(
            [("retries", ASCENDING), ("wake_at", ASCENDING)],
            name="overdue",
            partialFilterExpression=_WAITING,
        ),
        # What owners may have sent again: what ended, and what waits under an earlier generation.
        IndexModel(
            [("webhook_id", ASCENDING), ("state", ASCENDING), *_NEWEST],
            name="ended_newest",
            partialFilterExpression=_REPEATABLE,
        ),
        IndexModel(
            [("webhook_id", ASCENDING), *_NEWEST, ("generation", ASCENDING)],
            name="waiting_newest",
            partialFilterExpression=_WAITING_NEWEST,
        ),
        IndexModel([("event_id", ASCENDING)], name="event_id"),
        # What waits has no such field, and never expires.
        IndexModel(
            [("expires_at", ASCENDING)],
            name="expires_at",
            expireAfterSeconds=0,
            partialFilterExpression={"expires_at": {"$exists": True}},
        ),
    ],
    ATTEMPTS: [
        IndexModel(
            [("webhook_id", ASCENDING), ("attempted_at", DESCENDING), ("_id", DESCENDING)],
            name="latest",
        ),
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    # What is unfinished has no such field; finding it uses this index, too.
    RECOVERIES: [
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    RECEIPTS: [
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    EVENTS: [
        IndexModel([("company", ASCENDING), ("type", ASCENDING)], name="company_type"),
        IndexModel([("review_at", ASCENDING)], name="review_at"),
    ],
}

#: Indexes of earlier versions, in whose place others stand.
REPLACED = {DELIVERIES: ["repeatable"]}


async def make_indexes(database: Database) -> list[str]:
    """Makes what is missing and drops what was replaced; harmless when all is done.

    Gives the names of the present ones.
    """
    made = []
    with translated_errors():
        for collection, models in INDEXES.items():
            names = await database[collection].create_indexes(models)
            made += [f"{collection}.{name}" for name in names]
        for collection, replaced in REPLACED.items():
            present = await database[collection].index_information()
            for name in present.keys() & replaced:
                await database[collection].drop_index(name)
    return made
