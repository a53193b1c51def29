"""What became of a list of writes of which some may have been made before."""

import pymongo.errors

from common.contracts.failures import Unavailable

#: MongoDB's code of an insert whose id is there already.
_DUPLICATE = 11000


def duplicates(error: pymongo.errors.BulkWriteError) -> list[int]:
    """Which of the writes found their id taken, by their place in the list.

    Raises Unavailable when no majority is known to have what was written, and the error itself when
    some of the writes failed otherwise.
    """
    if error.details["writeConcernErrors"]:
        # A primary that was elected meanwhile may know nothing of them.
        raise Unavailable("no majority of the database has what was written") from error
    faults = error.details["writeErrors"]
    if any(fault["code"] != _DUPLICATE for fault in faults):
        raise error
    return [fault["index"] for fault in faults]
