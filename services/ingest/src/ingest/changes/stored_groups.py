"""Groups as MongoDB stores them: which to read again, and when.

One document per group, by its top company. A company that is in no group, or whose group is to be
asked for, has one of its own.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from pymongo import UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType
from common.mongo import Database, translated_errors
from ingest.changes.states import CompanyWrite, GroupState
from ingest.changes.stored_states import group_document, group_state
from ingest.records.records import SourceVersion
from register_store.documents import BEGINNING, COMPANIES, CURSORS, GROUPS, Document

#: The source of groups. Nothing is noted for it before it is first followed.
GROUPS_SOURCE: Final = "no-konsern"
#: The fields of a company whose change may be one of its group.
_TELLING: Final = frozenset(("in_group", "name", "status", "ended"))
#: In the JSON of a company that its register says to be in a group; no text contains it.
_IN_GROUP: Final = b'"in_group":true'
_ALONE: Final = GroupState(1, (), SourceVersion(BEGINNING), BEGINNING)


class Flagged(NamedTuple):
    """Companies in the order of their numbers: the last one, and those that are in a group."""

    last: CompanyKey
    in_group: Sequence[CompanyKey]


class StoredGroups:
    """The stored groups. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self.collection = database[GROUPS]
        self._companies = database[COMPANIES]
        self._cursors = database[CURSORS]

    async def of(self, keys: Collection[CompanyKey]) -> Mapping[CompanyKey, GroupState]:
        """Returns the groups with these companies, and those of companies that leave them."""
        with translated_errors():
            found = await self.collection.find({"members": {"$in": list(keys)}}).to_list(None)
            former = {key for group in found for key in group["members"]}.difference(keys)
            if former:
                known = {group["_id"] for group in found}
                others = {"_id": {"$in": list(former - known)}}
                found += await self.collection.find(others).to_list(None)
        return {CompanyKey.parse(one["_id"]): group_state(one) for one in found}

    async def grouped(self, keys: Collection[CompanyKey]) -> set[CompanyKey]:
        """Returns the companies among `keys` that are in a stored group, or in none for sure."""
        query = {"members": {"$in": list(keys)}}
        with translated_errors():
            found = await self.collection.find(query, {"members": 1}).to_list(None)
        return {CompanyKey.parse(key) for group in found for key in group["members"]}

    async def due(self, until: datetime, limit: int) -> Sequence[CompanyKey]:
        """Returns the top companies of groups that were last read by then, the longest ago first.

        Companies that are to be asked for are among them.
        """
        query = {"asked_at": {"$lte": until}}
        with translated_errors():
            found = self.collection.find(query, {"_id": 1}, sort=[("asked_at", 1)], limit=limit)
            return [CompanyKey.parse(one["_id"]) async for one in found]

    async def put_off(self, key: CompanyKey, at: datetime) -> None:
        """Notes that the group of a company was asked for at a time, without a usable answer."""
        alone = {name: value for name, value in _alone(key).items() if name != "asked_at"}
        change = {"$set": {"asked_at": at}, "$setOnInsert": alone}
        with translated_errors():
            await self.collection.update_one({"_id": key}, change, upsert=True)

    async def is_unchanged(
        self, asked: CompanyKey, top: CompanyKey, digest: bytes | None, at: datetime
    ) -> bool:
        """Returns True if a company's group is stored as it was answered, and notes the time.

        It is not if one of its companies has changed since then.
        """
        stored = {"_id": top, "members": asked, "digest": digest}
        since = {"$or": [{"changed_at": None}, {"changed_at": {"$lt": at}}]}
        with translated_errors():
            found = await self.collection.update_one(
                {**stored, **since}, {"$set": {"asked_at": at}}
            )
        return digest is not None and found.matched_count == 1

    async def flagged(self, country: Country, after: str, limit: int) -> Flagged | None:
        """Returns the next companies that follow a number; None after the last one."""
        # ";" follows ":"
        query = {"_id": {"$gt": f"{country}:{after}", "$lt": f"{country};"}}
        with translated_errors():
            found = self._companies.find(
                query, {"core": 1}, sort=[("_id", 1)], limit=limit, batch_size=limit + 1
            )
            read = await found.to_list(None)
        if not read:
            return None
        in_group = [one["_id"] for one in read if one["core"] and _IN_GROUP in one["core"]]
        return Flagged(CompanyKey.parse(read[-1]["_id"]), [*map(CompanyKey.parse, in_group)])

    async def to_read_again(
        self, companies: Collection[CompanyWrite], at: datetime, session: AsyncClientSession
    ) -> None:
        """Notes in a transaction that the groups of companies are to be read again, if they are."""
        telling = [one for one in companies if _tells_of_a_group(one)]
        if not telling or await self._cursors.find_one({"_id": GROUPS_SOURCE}, {"_id": 1}) is None:
            return
        keys = [one.key for one in telling]
        query = {"members": {"$in": keys}}
        found = self.collection.find(query, {"members": 1}, session=session)
        grouped = {key async for group in found for key in group["members"]}
        if grouped:
            changed = {"asked_at": BEGINNING, "changed_at": at}
            again = {"$set": changed, "$inc": {"revision": 1}}
            await self.collection.update_many(query, again, session=session)
        new = [one.key for one in telling if one.key not in grouped and _is_in_group(one)]
        if new:
            await self.collection.bulk_write([_to_ask(key) for key in new], session=session)

    async def leave(self, key: CompanyKey, at: datetime, session: AsyncClientSession) -> None:
        """Takes a removed company out of its groups in a transaction; these are to be read again.

        A group of which it was the top company is stored by another one.
        """
        again = {"asked_at": BEGINNING, "changed_at": at}
        own = await self.collection.find_one_and_delete({"_id": key}, session=session)
        await self.collection.update_many(
            {"members": key},
            {"$pull": {"members": key}, "$set": again, "$inc": {"revision": 1}},
            session=session,
        )
        others = [one for one in own["members"] if one != key] if own else []
        if own and others:
            await self.collection.update_one(
                {"_id": others[0]},
                {
                    "$addToSet": {"members": {"$each": others}},
                    "$set": {**again, "digest": None},
                    "$inc": {"revision": 1},
                    "$setOnInsert": {"version": own["version"]},
                },
                upsert=True,
                session=session,
            )


def _tells_of_a_group(write: CompanyWrite) -> bool:
    """Returns True if a company was created, renamed or ended, or joined or left a group."""
    return write.key.country is Country.NO and any(
        (event.type is EventType.COMPANY_CREATED and _is_in_group(write))
        or any(change.field in _TELLING for change in event.changes)
        for event in write.pending_events
    )


def _is_in_group(write: CompanyWrite) -> bool:
    return _IN_GROUP in (write.state.core or b"")


def _to_ask(key: CompanyKey) -> UpdateOne:
    return UpdateOne({"_id": key}, {"$setOnInsert": _alone(key)}, upsert=True)


def _alone(key: CompanyKey) -> Document:
    return {**group_document(_ALONE), "members": [key]}
