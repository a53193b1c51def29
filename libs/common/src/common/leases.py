"""Leases: one of several processes does a job."""

from datetime import UTC, datetime, timedelta

from pymongo import ReturnDocument

from common.mongo import Database, translated_errors

LEASES = "leases"

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class StoredLeases:
    """Timed by the database's clock. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, *, holder: str) -> None:
        self._leases = database[LEASES]
        self._holder = holder

    async def take(self, job: str, *, span: timedelta) -> bool:
        """Takes or renews the lease for `span` from now; False while another process holds it."""
        until = {"$add": ["$$NOW", int(span.total_seconds() * 1000)]}
        mine = {"$eq": ["$holder", self._holder]}
        over = {"$lt": [{"$ifNull": ["$until", _LONG_AGO]}, "$$NOW"]}
        free = {"$or": [mine, over]}
        with translated_errors():
            lease = await self._leases.find_one_and_update(
                {"_id": job},
                # Both conditions read the document as it was before this stage.
                [
                    {
                        "$set": {
                            "holder": {"$cond": [free, self._holder, "$holder"]},
                            "until": {"$cond": [free, until, "$until"]},
                        }
                    }
                ],
                upsert=True,
                return_document=ReturnDocument.AFTER,
            )
        return lease is not None and bool(lease["holder"] == self._holder)

    async def give_up(self, job: str) -> None:
        """Releases the lease, so that another process can acquire it immediately."""
        with translated_errors():
            await self._leases.delete_one({"_id": job, "holder": self._holder})
