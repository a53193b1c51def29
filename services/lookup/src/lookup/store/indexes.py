"""Indexes, created by a command (in Kubernetes a Job), never when a service starts."""

from pymongo import ASCENDING, IndexModel

from common.mongo import Database
from lookup.store.documents import COMPANIES, EVENT_BATCHES, OUTBOX, PARTICIPANTS, UNITS

INDEXES = {
    COMPANIES: [
        # The best company of a number is the first entry of the index.
        IndexModel([("phones", ASCENDING), ("rank", ASCENDING)], name="phones_rank"),
        IndexModel([("units", ASCENDING)], name="units"),
    ],
    UNITS: [
        IndexModel([("company", ASCENDING)], name="company"),
        IndexModel([("phones", ASCENDING)], name="phones"),
    ],
    PARTICIPANTS: [IndexModel([("holder", ASCENDING)], name="holder")],
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
}


async def make_indexes(database: Database) -> list[str]:
    """Creates missing indexes; returns the names of all."""
    made = []
    for collection, models in INDEXES.items():
        made += [
            f"{collection}.{name}" for name in await database[collection].create_indexes(models)
        ]
    return made
