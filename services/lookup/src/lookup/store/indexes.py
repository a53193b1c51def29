"""Indexes are made by a command (in Kubernetes a Job), never when a service starts."""

from pymongo import ASCENDING, IndexModel

from common.mongo import Database
from lookup.store.documents import COMPANIES, OUTBOX, PARTICIPANTS, UNITS

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
        # What is to be published, in order per company; it empties as the publisher goes on.
        IndexModel(
            [("company", ASCENDING), ("revision", ASCENDING)],
            name="to_publish",
            partialFilterExpression={"published_at": None},
        ),
        # What was published and has no receipt, the oldest first; it empties as receipts come.
        IndexModel(
            [("published_at", ASCENDING), ("again_at", ASCENDING)],
            name="unconfirmed",
            partialFilterExpression={"again_at": {"$exists": True}},
        ),
        IndexModel([("company", ASCENDING)], name="company"),
        IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0),
    ],
}


async def make_indexes(database: Database) -> list[str]:
    """Makes what is missing; harmless when all are there. Gives their names."""
    made = []
    for collection, models in INDEXES.items():
        made += [
            f"{collection}.{name}" for name in await database[collection].create_indexes(models)
        ]
    return made
