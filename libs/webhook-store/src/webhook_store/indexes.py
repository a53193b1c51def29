"""Indexes are made by a command (in Kubernetes a Job), never when a service starts."""

from pymongo import ASCENDING, DESCENDING, IndexModel

from common.mongo import Database, outages
from webhook_store.delivery_documents import ATTEMPTS, DELIVERIES, EVENTS, WAITING
from webhook_store.delivery_models import DeliveryState
from webhook_store.documents import IDEMPOTENCY, WEBHOOKS

#: Partial indexes: most rows have succeeded, and are in neither.
_WAITING = {"state": WAITING}
_REPEATABLE = {"state": {"$in": [DeliveryState.FAILED.value, DeliveryState.CANCELLED.value]}}

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
        IndexModel(
            [("webhook_id", ASCENDING), ("state", ASCENDING), ("occurred_at", DESCENDING)],
            name="repeatable",
            partialFilterExpression=_REPEATABLE,
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
    EVENTS: [
        IndexModel([("company", ASCENDING), ("type", ASCENDING)], name="company_type"),
        IndexModel([("review_at", ASCENDING)], name="review_at"),
    ],
}


async def make_indexes(database: Database) -> list[str]:
    """Makes what is missing; harmless when all are there. Gives their names."""
    made = []
    with outages():
        for collection, models in INDEXES.items():
            names = await database[collection].create_indexes(models)
            made += [f"{collection}.{name}" for name in names]
    return made
