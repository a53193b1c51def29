"""Duplicate keys in the result of a bulk write."""

import pymongo.errors

from common.contracts.failures import Unavailable

#: MongoDB's error code for a duplicate key.
_DUPLICATE = 11000


def duplicates(error: pymongo.errors.BulkWriteError) -> list[int]:
    """Returns the indexes of the writes whose id already existed.

    Raises Unavailable when no majority acknowledged the writes, and the error itself when a write
    failed for another reason.
    """
    if error.details["writeConcernErrors"]:
        # A newly elected primary may not have them.
        raise Unavailable("no majority of the database has acknowledged the write") from error
    faults = error.details["writeErrors"]
    if any(fault["code"] != _DUPLICATE for fault in faults):
        raise error
    return [fault["index"] for fault in faults]
