"""Collections of the webhooks' database, and inserts of documents that may exist already."""

from collections.abc import Sequence
from typing import Any

import pymongo.errors
from pymongo.asynchronous.collection import AsyncCollection

from common.contracts.failures import Unavailable
from common.mongo import DUPLICATE_KEY, translated_errors

Document = dict[str, Any]

#: The name of the database, unless a setting gives another.
DATABASE = "webhooks"

WEBHOOKS = "webhooks"
IDEMPOTENCY = "idempotency"
#: Ids of webhooks that were deleted, for the dispatchers that have them in memory.
DELETED = "deleted_webhooks"

#: Fields of a webhook: its notices, and whether there are any, for the index.
NOTICES, NOTICE_DUE = "notices", "notice_due"

DELIVERIES = "deliveries"
ATTEMPTS = "attempts"
EVENTS = "events"
RECOVERIES = "recoveries"

#: The index for `rows_of`: others begin with the webhook, and hold all of its rows.
BY_ID = "_id_"

WATCHLISTS = "watchlists"
MEMBERS = "watchlist_members"
#: Owners whose lists are being changed.
LOCKS = "watchlist_locks"

DIGESTS = "digests"
#: Hashes of mailboxes that were asked to confirm a digest within a day, and what each owner, as a
#: hash, has used of the day's budgets.
ASKED_ADDRESSES = "asked_addresses"
#: Hashes of an owner with a mailbox that does not want their mail.
REFUSALS = "digest_refusals"

#: Files of customers, their parts, and the decisions about their rows.
FILES = "customer_files"
FILE_PARTS = "customer_file_parts"
FILE_DECISIONS = "customer_file_decisions"


async def insert_new(
    collection: AsyncCollection[dict[str, Any]], documents: Sequence[dict[str, Any]]
) -> list[int]:
    """Inserts documents; returns the indexes of existing ones, which are left unchanged.

    Raises `Unavailable`.
    """
    with translated_errors():
        try:
            await collection.insert_many(documents, ordered=False)
        except pymongo.errors.BulkWriteError as error:
            return duplicates(error)
    return []


def duplicates(error: pymongo.errors.BulkWriteError) -> list[int]:
    """Returns the indexes of the writes whose id already existed.

    Raises Unavailable when no majority acknowledged the writes, and the error itself when a write
    failed for another reason.
    """
    if error.details["writeConcernErrors"]:
        # A newly elected primary may not have them.
        raise Unavailable("no majority of the database has acknowledged the write") from error
    faults = error.details["writeErrors"]
    if any(fault["code"] != DUPLICATE_KEY for fault in faults):
        raise error
    return [fault["index"] for fault in faults]
