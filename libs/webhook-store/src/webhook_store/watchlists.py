"""Watchlists of owners, and the companies in them.

A company in a list is one document of `MEMBERS`. Its id is the company's key and the list's id, so
the ids of the lists that have a company are a range of the index of ids. Each write is of at most
`BATCH` documents, well within the timeout of an operation.

Decisions about several documents, such as a limit or the absence of webhooks that use a list, are
made under the owner's lock: limits then hold exactly, and no list is deleted while a webhook begins
to use it.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from hmac import compare_digest
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID, uuid4

from bson.regex import Regex
from pymongo import DESCENDING, ReturnDocument
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import DuplicateKeyError

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Unavailable
from common.contracts.watchlists import (
    WatchedCompanies,
    WatchedQuery,
    Watchlist,
    WatchlistId,
    packed,
)
from common.mongo import Database, translated_errors
from webhook_store.collections import LOCKS, MEMBERS, WATCHLISTS, Document

_BETWEEN = "/"


def watchlist_document(watchlist: Watchlist) -> Document:
    """Returns the document of a new watchlist."""
    fields = watchlist.model_dump(exclude={"id", "has_feed"})
    return {"_id": watchlist.id, **fields, "owner": watchlist.owner}


def watchlist_of(document: Document) -> Watchlist:
    """Returns the watchlist of a stored document."""
    known = {"id": document["_id"], "has_feed": "feed" in document}
    return Watchlist.model_validate({**document, **known})


def member_id(company: CompanyKey, watchlist_id: str) -> str:
    """Returns the id of a company in a list."""
    return f"{company}{_BETWEEN}{watchlist_id}"


def company_of(member: str) -> CompanyKey:
    """Returns the company of a member's id."""
    return CompanyKey.parse(member.partition(_BETWEEN)[0])


def parts_of(member: str) -> tuple[CompanyKey, WatchlistId]:
    """Returns the company and the list of a member's id."""
    company, _, watchlist_id = member.partition(_BETWEEN)
    return CompanyKey.parse(company), WatchlistId(watchlist_id)


def ids_of(companies: Collection[CompanyKey]) -> Document:
    """Returns the condition on the ids of these companies' members.

    MongoDB reads a prefix as a range of the index, which `$in` combines to one scan. It does so
    without flags only: a compiled pattern of Python has one, and every id would be compared.
    """
    return {"$in": [Regex(f"^{company}{_BETWEEN}") for company in companies]}


_NEWEST = [("created_at", DESCENDING), ("_id", DESCENDING)]


class Watchlists:
    """The stored watchlists. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._lists = database[WATCHLISTS]

    async def create(self, new: Watchlist) -> Watchlist:
        """Stores a watchlist; returns the stored one if it exists, as after a redelivered call."""
        with translated_errors():
            try:
                await self._lists.insert_one(watchlist_document(new))
            except DuplicateKeyError:
                return await self.find(new.owner, new.id) or new
        return new

    async def find(self, owner: str, watchlist_id: str) -> Watchlist | None:
        """Returns an owner's watchlist; None if absent or another owner's."""
        with translated_errors():
            found = await self._lists.find_one({"_id": watchlist_id, "owner": owner})
        return None if found is None else watchlist_of(found)

    async def missing(self, owner: str, ids: Collection[str]) -> set[str]:
        """Returns the ids among `ids` that are of no list of the owner."""
        with translated_errors():
            found = self._lists.find({"_id": {"$in": list(ids)}, "owner": owner}, {"_id": 1})
            return set(ids) - {one["_id"] async for one in found}

    async def of_owner(self, owner: str) -> list[Watchlist]:
        """Returns an owner's watchlists, newest first."""
        with translated_errors():
            found = self._lists.find({"owner": owner}).sort(_NEWEST)
            return [watchlist_of(document) async for document in found]

    async def sizes(self, owner: str, ids: Collection[str] | None = None) -> Mapping[str, int]:
        """Returns the sizes of an owner's watchlists, or of those among `ids`."""
        some = {} if ids is None else {"_id": {"$in": list(ids)}}
        with translated_errors():
            found = self._lists.find({"owner": owner, **some}, {"size": 1})
            return {one["_id"]: one["size"] async for one in found}

    async def change(
        self, owner: str, watchlist_id: str, fields: Mapping[str, Any]
    ) -> Watchlist | None:
        """Sets fields of a watchlist; None when the owner has no such list."""
        with translated_errors():
            found = await self._lists.find_one_and_update(
                {"_id": watchlist_id, "owner": owner},
                {"$set": dict(fields)},
                return_document=ReturnDocument.AFTER,
            )
        return None if found is None else watchlist_of(found)

    async def set_feed(
        self, owner: str, watchlist_id: str, token_hash: str, *, call_id: UUID
    ) -> bool:
        """Replaces the token of a list's feed; False if the owner has no such list.

        Raises `Unavailable` for a redelivered call: the token of its first delivery, which the
        client may have, stays valid.
        """
        call = str(call_id)
        with translated_errors():
            result = await self._lists.update_one(
                {"_id": watchlist_id, "owner": owner, "feed.call": {"$ne": call}},
                {"$set": {"feed": {"token_hash": token_hash, "call": call}}},
            )
            if result.matched_count:
                return True
            if await self._lists.find_one({"_id": watchlist_id, "owner": owner}, {"_id": 1}):
                raise Unavailable("the token was renewed by an earlier delivery of the call")
        return False

    async def end_feed(self, owner: str, watchlist_id: str) -> bool:
        """Ends a list's feed, if it has one; False if the owner has no such list."""
        with translated_errors():
            result = await self._lists.update_one(
                {"_id": watchlist_id, "owner": owner}, {"$unset": {"feed": ""}}
            )
        return bool(result.matched_count)

    async def of_feed(self, watchlist_id: str, token_hash: str) -> Watchlist | None:
        """Returns the list whose feed has the token; None if absent or deleted."""
        with translated_errors():
            found = await self._lists.find_one({"_id": watchlist_id, "owner": {"$ne": None}})
        feed = (found or {}).get("feed", {})
        if found is None or not compare_digest(feed.get("token_hash", ""), token_hash):
            return None
        return watchlist_of(found)

    async def delete(self, owner: str, watchlist_id: str, *, call_id: UUID, at: datetime) -> bool:
        """Deletes a list; False if it did not exist. Its companies are removed later.

        A redelivered call returns True again.
        """
        call = str(call_id)
        with translated_errors():
            result = await self._lists.update_one(
                {"_id": watchlist_id, "owner": owner},
                {
                    "$set": {"owner": None, "deleted_at": at, "deleted_by": call},
                    "$unset": {"feed": ""},
                },
            )
            if result.modified_count:
                return True
            again = {"_id": watchlist_id, "deleted_by": call}
            return await self._lists.find_one(again, {"_id": 1}) is not None

    async def deleted(self) -> list[str]:
        """Returns the ids of deleted lists whose companies are not yet removed."""
        with translated_errors():
            found = self._lists.find({"deleted_at": {"$exists": True}}, {"_id": 1}, limit=100)
            return [one["_id"] async for one in found]

    async def forget(self, watchlist_id: str) -> None:
        """Deletes the document of a deleted list whose companies are removed."""
        with translated_errors():
            await self._lists.delete_one({"_id": watchlist_id, "owner": None})


T = TypeVar("T")

#: Documents of one write, and companies of one read.
BATCH = 1000
#: Companies that a transaction removes: with as many that it adds it fits into a small cache.
MAX_AT_ONCE: Final = 10_000

_ID = {"_id": 1}


class WatchedNumbers(NamedTuple):
    """The companies of a list at one moment."""

    #: None if the list does not exist any more.
    updated_at: datetime | None
    #: By country, `packed`.
    numbers: Mapping[str, bytes]


class Members:
    """The companies in lists. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._members = database[MEMBERS]
        self._lists = database[WATCHLISTS]

    async def lists_of(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, tuple[WatchlistId, ...]]:
        """Returns the lists of any owner that have a company, of each company in one."""
        lists: defaultdict[CompanyKey, list[WatchlistId]] = defaultdict(list)
        if not companies:
            return {}
        with translated_errors():
            cursor = self._members.find({"_id": ids_of(companies)}, _ID, batch_size=10 * BATCH)
            for member in await cursor.to_list(None):
                company, watchlist_id = parts_of(member["_id"])
                lists[company].append(watchlist_id)
        return {company: tuple(found) for company, found in lists.items()}

    async def page(self, watchlist_id: str, query: WatchedQuery) -> WatchedCompanies | None:
        """Returns a page of a list's companies, in the order of their keys.

        Returns None if the list was replaced since the page before.
        """
        async with self._snapshot() as session:
            limit = query.limit + 1
            found = await self._read(watchlist_id, session, after=query.after, limit=limit)
            stored = await self._lists.find_one(
                {"_id": watchlist_id}, {"replaced": 1}, session=session
            )
        replaced = (stored or {}).get("replaced", 0)
        if query.replaced not in (None, replaced):
            return None
        page = found[: query.limit]
        cursor = f"{page[-1]}~{replaced}" if len(found) > query.limit else None
        return WatchedCompanies(companies=tuple(page), cursor=cursor)

    async def all(self, watchlist_id: str) -> set[CompanyKey]:
        """Returns all companies of a list."""
        async with self._snapshot() as session:
            pages = self._pages(watchlist_id, session)
            return {company_of(member) async for page in pages for member in page}

    async def numbers(self, watchlist_id: str) -> "WatchedNumbers":
        """Returns the registration numbers of all companies of a list.

        No key is made of each, which would take most of the time for a large list.
        """
        found: dict[str, list[int]] = {country: [] for country in Country}
        async with self._snapshot() as session:
            stored = await self._lists.find_one(
                {"_id": watchlist_id}, {"updated_at": 1}, session=session
            )
            async for page in self._pages(watchlist_id, session):
                for member in page:
                    key = member.partition(_BETWEEN)[0]
                    found[key[:2]].append(int(key[3:]))
        numbers = {country: packed(each) for country, each in found.items()}
        return WatchedNumbers((stored or {}).get("updated_at"), numbers)

    async def _pages(
        self, watchlist_id: str, session: AsyncClientSession
    ) -> AsyncIterator[list[str]]:
        last: CompanyKey | None = None
        while True:
            page = await self._ids(watchlist_id, session, after=last, limit=20 * BATCH)
            yield page
            if len(page) < 20 * BATCH:
                return
            last = company_of(page[-1])

    async def present(
        self, watchlist_ids: Sequence[str], companies: Collection[CompanyKey]
    ) -> set[CompanyKey]:
        """Returns the companies that one of the lists has."""
        found: set[CompanyKey] = set()
        for part in _batches(companies):
            ids = [member_id(company, one) for company in part for one in watchlist_ids]
            with translated_errors():
                members = await self._members.find(
                    {"_id": {"$in": ids}}, _ID, batch_size=len(ids) + 1
                ).to_list(None)
            found.update(company_of(member["_id"]) for member in members)
        return found

    async def change(
        self,
        watchlist: Watchlist,
        *,
        add: Collection[CompanyKey],
        remove: Collection[CompanyKey],
        at: datetime,
        is_replacement: bool = False,
    ) -> int | None:
        """Removes companies of a list and adds others that it has not, all at once to readers.

        After a replacement no page follows one from before it. If more than `MAX_AT_ONCE` are
        removed, which one transaction may not hold, the others are removed before. Returns the size
        of the list; None if the list does not exist any more.
        """

        replaced = {"$inc": {"replaced": 1}} if is_replacement else {}

        async def changed(session: AsyncClientSession) -> int | None:
            await self.remove(watchlist.id, remove, session)
            await self.add(watchlist.id, add, session)
            size = await self._members.count_documents({"list": watchlist.id}, session=session)
            result = await self._lists.update_one(
                {"_id": watchlist.id, "owner": watchlist.owner},
                {"$set": {"size": size, "updated_at": at}, **replaced},
                session=session,
            )
            if result.matched_count:
                return size
            await session.abort_transaction()
            return None

        with translated_errors():
            remove, before = list(remove)[:MAX_AT_ONCE], list(remove)[MAX_AT_ONCE:]
            await self.remove(watchlist.id, before)
            async with self._members.database.client.start_session() as session:
                return await session.with_transaction(changed)

    async def add(
        self,
        watchlist_id: str,
        companies: Collection[CompanyKey],
        session: AsyncClientSession | None = None,
    ) -> None:
        """Adds companies that the list does not have yet; their number is not stored."""
        for part in _batches(companies):
            documents: list[Document] = [
                {"_id": member_id(company, watchlist_id), "list": watchlist_id} for company in part
            ]
            await self._members.insert_many(documents, ordered=False, session=session)

    async def remove(
        self,
        watchlist_id: str,
        companies: Collection[CompanyKey],
        session: AsyncClientSession | None = None,
    ) -> None:
        """Removes companies; the number of the list's is not stored."""
        for part in _batches(companies):
            ids = [member_id(company, watchlist_id) for company in part]
            await self._members.delete_many({"_id": {"$in": ids}}, session=session)

    async def remove_some(self, watchlist_id: str) -> int:
        """Removes a batch of a list's companies; returns their number, 0 when none is left."""
        found = await self._read(watchlist_id, None, after=None, limit=BATCH)
        with translated_errors():
            await self.remove(watchlist_id, found)
        return len(found)

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[AsyncClientSession]:
        # Reads of one moment: a single one, too, may otherwise see half of a transaction.
        with translated_errors():
            async with self._members.database.client.start_session(snapshot=True) as session:
                yield session

    async def _read(
        self,
        watchlist_id: str,
        session: AsyncClientSession | None,
        *,
        after: CompanyKey | None,
        limit: int,
    ) -> list[CompanyKey]:
        ids = await self._ids(watchlist_id, session, after=after, limit=limit)
        return [company_of(member) for member in ids]

    async def _ids(
        self,
        watchlist_id: str,
        session: AsyncClientSession | None,
        *,
        after: CompanyKey | None,
        limit: int,
    ) -> list[str]:
        query: Document = {"list": watchlist_id}
        if after is not None:
            query["_id"] = {"$gt": member_id(after, watchlist_id)}
        with translated_errors():
            found = await self._members.find(
                query,
                _ID,
                sort=[("_id", 1)],
                limit=limit,
                batch_size=limit + 1,
                hint="list",
                session=session,
            ).to_list(None)
        return [member["_id"] for member in found]


def _batches(companies: Collection[T]) -> Iterator[list[T]]:
    remaining = iter(companies)
    while part := list(islice(remaining, BATCH)):
        yield part


#: Time after which the lock of a process that died is free.
LOCK_LEASE: Final = timedelta(seconds=30)
#: Maximum seconds of the work under a lock; the rest of the lease allows for wrong clocks.
MAX_HELD: Final = 20.0
#: Maximum seconds of waiting for the lock, and between two tries.
MAX_LOCK_WAIT: Final = 10.0
_BETWEEN_TRIES: Final = 0.05


class OwnerLocks:
    """Locks that processes share through the database."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._locks = database[LOCKS]
        self._now = now

    @asynccontextmanager
    async def held(self, owner: str) -> AsyncIterator[None]:
        """Holds the owner's lock during the body; raises `Unavailable` if that takes too long."""
        token = uuid4().hex
        try:
            async with asyncio.timeout(MAX_LOCK_WAIT):
                while not await self._take(owner, token):  # noqa: ASYNC110 (a database has no event)
                    await asyncio.sleep(_BETWEEN_TRIES)
        except TimeoutError:
            raise Unavailable("another change of the owner's watchlists takes long") from None
        try:
            async with asyncio.timeout(MAX_HELD):
                yield
        except TimeoutError:
            raise Unavailable("a change of watchlists took too long") from None
        finally:
            # After a failure the lease ends by itself.
            with suppress(Unavailable), translated_errors():
                await self._locks.delete_one({"_id": owner, "token": token})

    async def _take(self, owner: str, token: str) -> bool:
        now = self._now()
        with translated_errors():
            try:
                await self._locks.update_one(
                    {"_id": owner, "until": {"$lte": now}},
                    {"$set": {"token": token, "until": now + LOCK_LEASE}},
                    upsert=True,
                )
            except DuplicateKeyError:
                return False
        return True
