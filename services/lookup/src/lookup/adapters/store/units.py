"""Purging a production unit that its register ordered removed."""

from datetime import datetime

from common.contracts.company import UnitKey
from common.mongo import Client, Database, outages
from lookup.adapters.store.documents import COMPANIES, PARTICIPANTS, TOMBSTONES, UNITS, Document


class StoredUnitRemover:
    def __init__(self, client: Client, database: Database) -> None:
        self._client = client
        self._companies = database[COMPANIES]
        self._units = database[UNITS]
        self._participants = database[PARTICIPANTS]
        self._tombstones = database[TOMBSTONES]

    async def remove_unit(self, key: UnitKey, *, at: datetime) -> bool:
        with outages():
            async with (
                self._client.start_session() as session,
                await session.start_transaction(),
            ):
                unit: Document | None = await self._units.find_one_and_delete(
                    {"_id": key}, session=session
                )
                await self._participants.delete_many({"holder": key}, session=session)
                await self._tombstones.update_one(
                    {"_id": key}, {"$setOnInsert": {"removed_at": at}}, upsert=True, session=session
                )
                if unit is not None and unit["company"] is not None:
                    # What its company's answer shows has changed.
                    await self._companies.update_one(
                        {"_id": unit["company"], "core": {"$ne": None}},
                        {"$inc": {"revision": 1}},
                        session=session,
                    )
        return unit is not None
