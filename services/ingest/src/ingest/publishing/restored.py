"""Continues after a restore from a backup.

The restored register would give out revisions, event ids (which follow from them) and positions of
the feed a second time, with other content: receivers and readers would ignore the new ones.
"""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

from common.contracts.company import CompanyKey
from common.mongo import Database, translated_errors
from ingest.publishing.outbox import StoredOutbox
from register_store.documents import COMPANIES, REVISIONS, TOMBSTONES


async def skip_ahead(register: Database, by: int, *, retention: timedelta, at: datetime) -> int:
    """Raises the revision of each company and the newest position; returns the companies.

    Repeating it skips once more, which does no harm. Raises `Unavailable`.
    """
    await StoredOutbox(register, retention=retention).skip(by, at=at)
    with translated_errors():
        # Companies that were stored after the backup begin behind the revisions that they had.
        await register[REVISIONS].update_one(
            {"_id": "companies"}, {"$inc": {"skipped": by}}, upsert=True
        )
        # Revision 0 has only what belongs to a company that is not stored yet.
        raised = await register[COMPANIES].update_many(
            {"revision": {"$gt": 0}}, {"$inc": {"revision": by}}
        )
    return raised.modified_count


async def removed(register: Database) -> AsyncIterator[tuple[str, str]]:
    """Country and number of each removed company, the latest last.

    Removed units are not included: the register's own feed removes them again.
    """
    companies = {"is_unit": {"$ne": True}}
    with translated_errors():
        async for tombstone in register[TOMBSTONES].find(
            companies, sort=[("removed_at", 1), ("_id", 1)]
        ):
            key = CompanyKey.parse(tombstone["_id"])
            yield key.country, key.number
