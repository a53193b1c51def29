"""Annual accounts as MongoDB stores them, within the transactions of `StoredRegisterWriter`."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import orjson
from pymongo import DeleteMany, ReplaceOne, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession

from common.contracts.accounts import AccountsState
from common.contracts.company import CompanyKey, Country
from common.mongo import Database, translated_errors
from ingest.changes.states import CompanyState, Plan
from register_store.accounts import (
    ACCOUNTS,
    ACCOUNTS_STATES,
    AccountsCheck,
    accounts_of,
    check_of,
    is_sole_proprietor,
    ranges,
)
from register_store.documents import BEGINNING, COMPANIES, HISTORY, Document

#: Companies that are read at once.
_BATCH: Final = 1_000


class Year(NamedTuple):
    """The year of the last accounts of a company, as its own record names it."""

    company: CompanyKey
    year: str
    is_sole_proprietor: bool


class StoredChecks:
    """The queue of companies whose register is asked. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._states = database[ACCOUNTS_STATES]
        self._companies = database[COMPANIES]
        self._history = database[HISTORY]

    async def want(self, wanted: Mapping[CompanyKey, str], at: datetime) -> None:
        """Has companies asked at a time whose wanted year is another than the stored one."""
        await self._write({key: _wanting(year, at) for key, year in wanted.items()})

    async def leave_out(self, companies: Collection[CompanyKey], at: datetime) -> None:
        """Notes companies that are not asked, unless they were."""
        unasked = (AccountsCheck(key, AccountsState.UNAVAILABLE, at) for key in companies)
        await self._write({each.company: {"$setOnInsert": each.document()} for each in unasked})

    async def forget(self, company: CompanyKey) -> None:
        """Takes a company out of the queue that is not stored any more."""
        with translated_errors():
            await self._states.delete_one({"_id": company})

    async def _write(self, updates: Mapping[CompanyKey, Document | list[Document]]) -> None:
        writes = [UpdateOne({"_id": key}, update, upsert=True) for key, update in updates.items()]
        if writes:
            with translated_errors():
                await self._states.bulk_write(writes, ordered=False)

    async def answering(self, country: Country) -> CompanyKey | None:
        """Returns a company whose accounts the register gave when it was last asked."""
        with translated_errors():
            found = await self._states.find_one({"state": "ok", **_of(country)}, {"_id": 1})
        return None if found is None else CompanyKey.parse(found["_id"])

    async def due(self, country: Country, at: datetime, limit: int) -> Sequence[AccountsCheck]:
        """Returns the companies that are to be asked by then, the longest due first."""
        query = {"next_at": {"$gt": BEGINNING, "$lte": at}, **_of(country)}
        with translated_errors():
            found = self._states.find(query, sort=[("next_at", 1)], limit=limit)
            return [check_of(document) for document in await found.to_list(None)]

    async def years(self, country: Country) -> AsyncIterator[Sequence[Year]]:
        """Yields the companies that have a year of last accounts, some at a time."""
        query = {**_of(country), "core": {"$ne": None}}
        with translated_errors():
            async with self._companies.find(query, {"core": 1}, batch_size=_BATCH) as cursor:
                while documents := await cursor.to_list(_BATCH):
                    yield [
                        Year(key, year, is_sole_proprietor(country, one["core"]))
                        for one in documents
                        if (year := orjson.loads(one["core"]).get("accounts"))
                        and (key := CompanyKey.parse(one["_id"]))
                    ]

    async def changed(self, country: Country, since: datetime) -> Mapping[CompanyKey, str]:
        """Returns the companies whose year has changed, from the history."""
        query = {"at": {"$gte": since}, "type": "company.updated", **_of(country)}
        found: dict[CompanyKey, str] = {}
        with translated_errors():
            async for document in self._history.find(query, {"changes": 1}, sort=[("at", 1)]):
                for field, _, new, *_ in orjson.loads(document["changes"]):
                    if field == "accounts" and new:
                        found[CompanyKey.parse(document["_id"].partition("/")[0])] = new
        return found


def _of(country: Country) -> Document:
    # ";" follows ":"
    return {"_id": {"$gt": f"{country}:", "$lt": f"{country};"}}


def _wanting(year: str, at: datetime) -> list[Document]:
    """Returns the update that leaves a company alone whose year is known."""
    is_known = {"$eq": ["$wanted", year]}
    return [
        {
            "$set": {
                "state": {"$ifNull": ["$state", AccountsState.UNKNOWN.value]},
                "checked_at": {"$ifNull": ["$checked_at", None]},
                "next_at": {"$cond": [is_known, "$next_at", at]},
                "tries": {"$cond": [is_known, "$tries", 0]},
                "wanted": year,
            }
        }
    ]


class StoredAccountsWriter:
    """Reads and writes annual accounts and their states. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._accounts = database[ACCOUNTS]
        self._states = database[ACCOUNTS_STATES]

    async def of(
        self, companies: Collection[CompanyKey]
    ) -> Mapping[CompanyKey, Sequence[Document]]:
        """Returns all stored accounts of each of these companies, replaced ones too."""
        found: dict[CompanyKey, list[Document]] = {key: [] for key in companies}
        if companies:
            with translated_errors():
                async for document in self._accounts.find(ranges(companies)):
                    found[CompanyKey.parse(document["_id"].partition("/")[0])].append(document)
        return found

    async def write(self, plan: Plan, session: AsyncClientSession) -> None:
        """Writes the accounts of a plan; the revisions of their companies guard them."""
        writes: list[ReplaceOne[Document] | DeleteMany] = [
            ReplaceOne({"_id": each["_id"]}, each, upsert=True) for each in plan.accounts
        ]
        if plan.accounts_dropped:
            writes.append(DeleteMany({"_id": {"$in": list(plan.accounts_dropped)}}))
        if writes:
            await self._accounts.bulk_write(writes, ordered=False, session=session)
        if plan.accounts_states:
            states = [ReplaceOne({"_id": e["_id"]}, e, upsert=True) for e in plan.accounts_states]
            await self._states.bulk_write(states, ordered=False, session=session)

    async def purge(self, key: CompanyKey, session: AsyncClientSession) -> None:
        """Deletes all that is kept of a removed company."""
        await self._accounts.delete_many(accounts_of(key), session=session)
        await self._states.delete_one({"_id": key}, session=session)

    async def limit(
        self, key: CompanyKey, company: CompanyState, at: datetime, session: AsyncClientSession
    ) -> None:
        """Deletes the accounts of a company that are a limited person's."""
        if company.core is not None and is_sole_proprietor(key.country, company.core):
            await self._accounts.delete_many(accounts_of(key), session=session)
            state = AccountsCheck(key, AccountsState.UNAVAILABLE, at).document()
            await self._states.replace_one({"_id": key}, state, upsert=True, session=session)
