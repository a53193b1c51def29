"""Indexes, created by a command (a Job in Kubernetes), never at a service's start."""

from pymongo import ASCENDING, DESCENDING, IndexModel

from common.contracts.events import RECEIPTS
from common.contracts.webhooks import AttemptStatus, WebhookStatus
from common.mongo import Database
from common.mongo_commands import create_indexes, drop_indexes
from webhook_store.collections import (
    ASKED_ADDRESSES,
    ATTEMPTS,
    DELETED,
    DELIVERIES,
    DIGESTS,
    EVENTS,
    FILE_DECISIONS,
    FILE_PARTS,
    FILES,
    IDEMPOTENCY,
    MEMBERS,
    NOTICE_DUE,
    RECOVERIES,
    REFUSALS,
    WATCHLISTS,
    WEBHOOKS,
)
from webhook_store.deliveries import WAITING, DeliveryState

_DISABLED = {"status": WebhookStatus.DISABLED.value}
#: Partial indexes: most rows have succeeded and are in neither.
_WAITING = {"state": WAITING}
_REPEATABLE = {"state": {"$in": [DeliveryState.FAILED.value, DeliveryState.CANCELLED.value]}}
#: Like `_WAITING`, but written so that the dispatcher's queries do not consider its index.
_WAITING_NEWEST = {**_WAITING, "occurred_at": {"$exists": True}}

_NEWEST = [("occurred_at", DESCENDING), ("_id", DESCENDING)]

_LATEST = [("webhook_id", ASCENDING), ("attempted_at", DESCENDING), ("_id", DESCENDING)]

#: Seconds for which deleted webhooks are remembered; a dispatcher rebuilds its index each hour.
_DAY = 24 * 3600

INDEXES = {
    WEBHOOKS: [
        # One webhook per slot of an owner.
        IndexModel([("owner", ASCENDING), ("slot", ASCENDING)], name="owner_slot", unique=True),
        IndexModel([("match_keys", ASCENDING)], name="match_keys"),
        # Webhooks that have changed since a dispatcher last looked.
        IndexModel([("updated_at", ASCENDING)], name="updated_at"),
        # Disabled webhooks, which are few, so that counting them reads no other.
        IndexModel([("status", ASCENDING)], name="disabled", partialFilterExpression=_DISABLED),
        IndexModel(
            [(NOTICE_DUE, ASCENDING)],
            name=NOTICE_DUE,
            partialFilterExpression={NOTICE_DUE: True},
        ),
    ],
    IDEMPOTENCY: [
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    DELIVERIES: [
        # A webhook's due rows: first attempts before retries.
        IndexModel(
            [("webhook_id", ASCENDING), ("retries", ASCENDING), ("due_at", ASCENDING)],
            name="next_due",
            partialFilterExpression=_WAITING,
        ),
        # Overdue rows, in the same order; also counts waiting rows by delay.
        IndexModel(
            [("retries", ASCENDING), ("wake_at", ASCENDING)],
            name="overdue",
            partialFilterExpression=_WAITING,
        ),
        # Recoverable rows: ended ones, and waiting ones of an earlier generation.
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
        # Waiting rows lack this field and never expire.
        IndexModel(
            [("expires_at", ASCENDING)],
            name="expires_at",
            expireAfterSeconds=0,
            partialFilterExpression={"expires_at": {"$exists": True}},
        ),
    ],
    ATTEMPTS: [
        # With the status, so that counting reads the index alone.
        IndexModel(
            [*_LATEST, ("status", ASCENDING)],
            name="latest_with_status",
        ),
        # Failures are rare, so that finding them must not read all attempts.
        IndexModel(
            _LATEST,
            name="latest_failed",
            partialFilterExpression={"status": AttemptStatus.FAILED.value},
        ),
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    # Unfinished recoveries lack this field; finding them uses this index as well.
    RECOVERIES: [
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    RECEIPTS: [
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    DELETED: [
        IndexModel([("deleted_at", ASCENDING)], name="deleted_at", expireAfterSeconds=_DAY),
    ],
    WATCHLISTS: [
        IndexModel([("owner", ASCENDING)], name="owner"),
        # Deleted lists whose companies are still to be removed.
        IndexModel(
            [("deleted_at", ASCENDING)],
            name="deleted_at",
            partialFilterExpression={"deleted_at": {"$exists": True}},
        ),
    ],
    # The other way, the lists of a company, are found by the id, which begins with the company.
    MEMBERS: [IndexModel([("list", ASCENDING), ("_id", ASCENDING)], name="list")],
    DIGESTS: [
        IndexModel([("owner", ASCENDING), ("address_key", ASCENDING)], name="owner"),
        IndexModel([("watchlist_id", ASCENDING)], name="watchlist"),
        # Ended digests, and those to be confirmed, lack this field.
        IndexModel(
            [("due_at", ASCENDING)],
            name="due_at",
            partialFilterExpression={"due_at": {"$exists": True}},
        ),
        IndexModel(
            [("failing_since", ASCENDING)],
            name="failing_since",
            partialFilterExpression={"failing_since": {"$exists": True}},
        ),
        # Ended digests, and those to be confirmed, have this field.
        IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
    ],
    ASKED_ADDRESSES: [
        IndexModel([("until", ASCENDING)], name="until", expireAfterSeconds=0),
    ],
    REFUSALS: [IndexModel([("owner", ASCENDING)], name="owner")],
    # Parts and decisions of a file are found by the id, which begins with the file's.
    **{
        name: [
            IndexModel([("owner", ASCENDING)], name="owner"),
            IndexModel([("expires_at", ASCENDING)], name="expires_at", expireAfterSeconds=0),
        ]
        for name in (FILES, FILE_PARTS, FILE_DECISIONS)
    },
    EVENTS: [
        IndexModel([("company", ASCENDING), ("type", ASCENDING)], name="company_type"),
        IndexModel([("review_at", ASCENDING)], name="review_at"),
    ],
}

#: Replaced indexes, which only earlier releases use.
REPLACED = {DELIVERIES: ["repeatable"], ATTEMPTS: ["latest"]}


async def make_indexes(database: Database) -> list[str]:
    """Creates missing indexes and drops none, as `create_indexes` does."""
    return await create_indexes(database, INDEXES)


async def drop_replaced(database: Database) -> list[str]:
    """Drops the indexes that only earlier releases use; returns the names of those that existed."""
    return await drop_indexes(database, REPLACED)
