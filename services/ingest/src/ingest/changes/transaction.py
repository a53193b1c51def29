"""Writes of importers and feeds: a plan is one transaction, conditional on its base state."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import orjson
import pymongo.errors
from pymongo import DeleteMany, InsertOne, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection

from common.contracts.company import CompanyKey, Country, UnitKey
from common.contracts.contract import TraceContext
from common.contracts.events import EventType
from common.contracts.lookup import MAX_LISTED
from common.domain.limited import NameHash, mentions
from common.mongo import DUPLICATE_KEY, Database, translated_errors
from common.runtime import tracing
from ingest.changes.differences import removal
from ingest.changes.limits import limited_days, limited_state, still_named
from ingest.changes.states import CompanyWrite, Conflict, Plan, StoredState, UnitRemoval
from ingest.changes.stored_accounts import StoredAccountsWriter
from ingest.changes.stored_groups import StoredGroups
from ingest.changes.stored_states import (
    Write,
    company_document,
    company_state,
    company_writes,
    due_record,
    group_writes,
    participant_state,
    participant_writes,
    unit_state,
    unit_writes,
    upcoming_writes,
)
from ingest.records.records import CompanyRecord, UnitRecord
from ingest.records.source import Part
from register_store.documents import (
    COMPANIES,
    HISTORY,
    LIMITED,
    OUTBOX,
    PARTICIPANTS,
    REORGANISATIONS,
    REVISIONS,
    TOMBSTONES,
    UNITS,
    UPCOMING,
    Document,
)
from register_store.events import OutboxEvent, events_of_change, outbox_document
from register_store.history import begin_history, history_documents, history_of


@dataclass(frozen=True, slots=True)
class Limited:
    """The outcome of limiting a person in a company."""

    #: True if the company had the person, now or on a later day.
    was_named: bool = False
    #: Events that named the person and are deleted.
    events: int = 0
    #: Fields that still do, such as the company's own name.
    left: Sequence[str] = ()


class StoredRegisterWriter:
    """Reads states and writes plans. Every method may raise `Unavailable`."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._now = now
        self.groups = StoredGroups(database)
        self._keeps_history = False
        self._database = database
        self._client = database.client
        self._companies = database[COMPANIES]
        self._units = database[UNITS]
        self._participants = database[PARTICIPANTS]
        self._tombstones = database[TOMBSTONES]
        self._limited = database[LIMITED]
        self._upcoming = database[UPCOMING]
        self._revisions = database[REVISIONS]
        self._outbox = database[OUTBOX]
        self._history = database[HISTORY]
        self.accounts = StoredAccountsWriter(database)

    async def known(
        self, *, companies: Collection[CompanyKey] = (), units: Collection[UnitKey] = ()
    ) -> StoredState:
        """Returns the stored state of these and of the units' companies, with tombstones."""
        with translated_errors():
            found_units = await _by_id(self._units, units)
            owners = (u["company"] for u in found_units if u["company"] is not None)
            keys = {*companies, *map(CompanyKey.parse, owners)}
            found_companies, tombstones, limited, revisions = await asyncio.gather(
                _by_id(self._companies, keys),
                _by_id(self._tombstones, {*keys, *units}),
                _by_id(self._limited, companies),
                self._revisions.find_one("companies"),
            )
        return StoredState(
            companies={CompanyKey.parse(d["_id"]): company_state(d) for d in found_companies},
            units={UnitKey.parse(d["_id"]): unit_state(d) for d in found_units},
            tombstones={d["_id"] for d in tombstones},
            limited={CompanyKey.parse(d["_id"]): d["names"] for d in limited},
            skipped_revisions=0 if revisions is None else revisions["skipped"],
        )

    async def parties(self, numbers: Collection[str]) -> Collection[CompanyKey]:
        """Returns the stored companies that took part in mergers or demergers of these numbers."""
        if not numbers:
            return ()
        query = {
            f"{REORGANISATIONS}.number": {"$in": list(numbers)},
            REORGANISATIONS: {"$exists": True},
        }
        with translated_errors():
            found = await self._companies.find(query, {"_id": 1}).to_list(None)
        return [CompanyKey.parse(one["_id"]) for one in found]

    async def known_participants(
        self, identifiers: Collection[str], holders: Collection[CompanyKey | UnitKey]
    ) -> StoredState:
        """Returns the stored state of these identifiers and of their stored and new holders."""
        with translated_errors():
            found = await _by_id(self._participants, identifiers)
        keys = {*holders, *(d["holder"] for d in found if d["holder"] is not None)}
        # A key may be a company's or a unit's; one of the collections has it.
        known = await self.known(
            companies=[CompanyKey.parse(key) for key in keys],
            units=[UnitKey.parse(key) for key in keys],
        )
        return replace(known, participants={d["_id"]: participant_state(d) for d in found})

    async def known_group(self, keys: Collection[CompanyKey]) -> StoredState:
        """Returns the groups with these companies, and the stored state of all that are in them."""
        groups = await self.groups.of(keys)
        members = {key for group in groups.values() for key in group.members}
        return replace(await self.known(companies={*keys, *members}), groups=groups)

    async def due(
        self, country: Country | None, part: Part, today: date, *, after: str, limit: int
    ) -> Sequence[CompanyRecord | UnitRecord]:
        """Returns records whose day has come, as of today, in the order of their keys."""
        query = {"country": country, "part": part, "day": {"$lte": str(today)}}
        with translated_errors():
            found = self._upcoming.find({**query, "_id": {"$gt": after}}, sort=[("_id", 1)])
            return [due_record(document, today) for document in await found.to_list(limit)]

    async def forget_due(self, key: str, today: date) -> None:
        """Deletes what is due of a record that an earlier release has replaced."""
        with translated_errors():
            await self._upcoming.delete_one({"_id": key, "day": {"$lte": str(today)}})

    async def write(self, plan: Plan) -> None:
        """Writes the whole plan or nothing; raises Conflict if its base state is outdated."""
        if not self._keeps_history:
            await begin_history(self._database, self._now())
            self._keeps_history = True
        batches = (
            (self._companies, company_writes(plan)),
            (self._units, unit_writes(plan)),
            (self._participants, participant_writes(plan)),
            (self.groups.collection, group_writes(plan)),
        )
        upcoming = upcoming_writes(plan.upcoming)
        traced = _TracedEvents(plan.outbox_events)
        events: list[Write] = [InsertOne(document) for document in traced.documents]
        history: list[Write] = [InsertOne(document) for document in history_documents(plan.events)]
        try:
            with translated_errors():
                async with (
                    self._client.start_session() as session,
                    await session.start_transaction(),
                ):
                    for collection, writes in batches:
                        await _write_all(collection, writes, session)
                    if upcoming:
                        await self._upcoming.bulk_write(upcoming, session=session)
                    if plan.removals:
                        await self._bury(plan.removals, session)
                    await self.groups.to_read_again(plan.companies, self._now(), session)
                    await _write_all(self._outbox, events, session)
                    await _write_all(self._history, history, session)
                    await self.accounts.write(plan, session)
            traced.end()
        except pymongo.errors.PyMongoError as error:
            # Not `with_transaction`, which would retry the same, outdated plan.
            if _is_conflict(error):
                raise Conflict from error
            raise

    async def _bury(self, units: Sequence[UnitRemoval], session: AsyncClientSession) -> None:
        """Adds tombstones of units and deletes their events and history."""
        stones = [
            UpdateOne(
                {"_id": unit.key},
                {"$setOnInsert": {"removed_at": unit.at, "is_unit": True}},
                upsert=True,
            )
            for unit in units
        ]
        words = [DeleteMany({"company": unit.company, "unit": unit.key.number}) for unit in units]
        await self._tombstones.bulk_write(stones, session=session)
        await self._outbox.bulk_write(words, session=session)
        traces = [
            DeleteMany(history_of(unit.company, unit.key.number))
            for unit in units
            if unit.company is not None
        ]
        if traces:
            await self._history.bulk_write(traces, session=session)
        keys = [unit.key for unit in units]
        await self._upcoming.delete_many({"_id": {"$in": keys}}, session=session)

    async def with_participants(
        self,
        known: StoredState,
        companies: Collection[CompanyKey],
        *,
        moving: Collection[UnitKey] = (),
    ) -> StoredState:
        """Returns `known` with all identifiers of these companies and their units.

        Of a company with many, those are added alone that units which move or end hold.
        """
        with translated_errors():
            units = await self._units.find(
                {"company": {"$in": list(companies)}}, {"company": 1}
            ).to_list(None)
            members = {UnitKey.parse(u["_id"]): CompanyKey.parse(u["company"]) for u in units}
            sizes = await self._sizes([*companies, *members, *moving])
            long_lists = _long_lists(sizes, members)
            holders = [
                holder
                for holder in sizes
                if holder in moving or members.get(UnitKey.parse(holder), holder) not in long_lists
            ]
            found = await self._participants.find({"holder": {"$in": holders}}).to_list(None)
        return replace(
            known,
            members=members,
            long_lists=long_lists,
            participants={**known.participants, **{d["_id"]: participant_state(d) for d in found}},
        )

    async def holders_among(self, units: Collection[UnitKey]) -> Collection[UnitKey]:
        """Returns those of some units that hold identifiers."""
        with translated_errors():
            return {UnitKey.parse(holder) for holder in await self._sizes(units)}

    async def _sizes(self, holders: Collection[str]) -> Mapping[str, int]:
        """Returns the number of identifiers of each of these that has any, from the index alone."""
        counts = await self._participants.aggregate(
            [
                {"$match": {"holder": {"$in": list(holders)}}},
                {"$group": {"_id": "$holder", "count": {"$sum": 1}}},
            ]
        )
        return {each["_id"]: each["count"] async for each in counts}

    async def remove(self, key: CompanyKey, *, at: datetime, publish_events: bool) -> bool:
        """Purges a company with all that belongs to it, leaving a tombstone; False if unknown.

        Its unpublished events are deleted; with `publish_events` its removal is published instead.
        """
        traced = _TracedEvents(())

        async def removed(session: AsyncClientSession) -> bool:
            nonlocal traced
            company: Document | None = await self._companies.find_one_and_delete(
                {"_id": key}, session=session
            )
            await self._purge(key, at, session)
            if company is None or company["core"] is None:
                return False
            if publish_events:
                revision = company["revision"] + 1
                events = events_of_change(
                    key, None, revision=revision, pending_events=[removal()], at=at
                )
                traced = _TracedEvents(list(events))
                await self._outbox.insert_many(traced.documents, session=session)
            return True

        with translated_errors():
            async with self._client.start_session() as session:
                was_known: bool = await session.with_transaction(removed)
        traced.end()
        return was_known

    async def limit(
        self, key: CompanyKey, name: NameHash, *, at: datetime, publish_events: bool
    ) -> Limited:
        """Leaves a person out of a company, its history and its future; repeating it is safe.

        Events and changes of the history that name the person are deleted, and with
        `publish_events` the change is published without the name. The company is then known from
        now on: what was before cannot be made again without them.
        """
        traced = _TracedEvents(())

        async def limited(session: AsyncClientSession) -> Limited:
            nonlocal traced
            await self._limited.update_one(
                {"_id": key},
                {"$addToSet": {"names": name}, "$min": {"limited_at": at}},
                upsert=True,
                session=session,
            )
            events = await self._forget_events(key, name, session)
            company = await self._companies.find_one({"_id": key}, session=session)
            if company is None:
                return Limited(events=events)
            before = company_state(company)
            await self.accounts.limit(key, before, at, session)
            state, pending_events = limited_state(key, before, [name])
            was_named = state != before
            if before.is_known and not was_named:
                # A concurrent import, which does not know of the limit, has to plan again.
                state = replace(before, revision=before.revision + 1)
            state = replace(state, added_at=at)
            written = company_document(CompanyWrite(key, before.revision, state))
            await self._companies.update_one({"_id": key}, {"$set": written}, session=session)
            upcoming = await self._upcoming.find_one({"_id": key}, session=session)
            later = {} if upcoming is None else limited_days(key, upcoming["days"], [name])
            if later:
                await self._upcoming.update_one({"_id": key}, {"$set": later}, session=session)
            if publish_events and pending_events:
                changes = events_of_change(
                    key, state.core, revision=state.revision, pending_events=pending_events, at=at
                )
                traced = _TracedEvents(list(changes))
                await self._outbox.insert_many(traced.documents, session=session)
            left = () if state.core is None else still_named(key, state.core, [name])
            return Limited(was_named=was_named or bool(later), events=events, left=left)

        with translated_errors():
            async with self._client.start_session() as session:
                done: Limited = await session.with_transaction(limited)
        traced.end()
        return done

    async def _forget_events(
        self, key: CompanyKey, name: NameHash, session: AsyncClientSession
    ) -> int:
        """Deletes what names a person of events and history; returns the number of events."""
        found = self._outbox.find({"company": key}, {"body": 1}, session=session)
        ids = [
            event["_id"]
            async for event in found
            if mentions(key, orjson.loads(event["body"]), [name])
        ]
        await self._outbox.delete_many({"_id": {"$in": ids}}, session=session)
        kept = self._history.find(history_of(key), {"changes": 1}, session=session)
        naming = [
            change["_id"]
            async for change in kept
            if mentions(key, orjson.loads(change["changes"]), [name])
        ]
        await self._history.delete_many({"_id": {"$in": naming}}, session=session)
        return len(ids)

    async def end_limit(self, key: CompanyKey, name: NameHash) -> bool:
        """Lets a person be stored again when the register's document is next read.

        Returns False if the person was not limited.
        """
        with translated_errors():
            ended = await self._limited.update_one({"_id": key}, {"$pull": {"names": name}})
            await self._limited.delete_one({"_id": key, "names": []})
            # A known digest would leave the document unread.
            read_again = {"digest": None, "owners_digest": None}
            await self._companies.update_one({"_id": key}, {"$set": read_again})
        return ended.modified_count == 1

    async def limits(self) -> Sequence[tuple[CompanyKey, NameHash]]:
        """Returns each limited person, the companies in the order of their first limit."""
        with translated_errors():
            found = self._limited.find(sort=[("limited_at", 1), ("_id", 1)])
            return [
                (CompanyKey.parse(one["_id"]), name) async for one in found for name in one["names"]
            ]

    async def _purge(self, key: CompanyKey, at: datetime, session: AsyncClientSession) -> None:
        units = await self._units.find({"company": key}, {"_id": 1}, session=session).to_list(None)
        numbers = [unit["_id"] for unit in units]
        await self._participants.delete_many({"holder": {"$in": [key, *numbers]}}, session=session)
        await self._units.delete_many({"_id": {"$in": numbers}}, session=session)
        await self._upcoming.delete_many({"_id": {"$in": [key, *numbers]}}, session=session)
        await self._history.delete_many(history_of(key), session=session)
        await self.accounts.purge(key, session)
        await self.groups.leave(key, at, session)
        # A repeated removal keeps the event of the first.
        but_removal = {"$ne": EventType.COMPANY_REMOVED.value}
        await self._outbox.delete_many({"company": key, "type": but_removal}, session=session)
        await self._tombstones.update_one(
            {"_id": key}, {"$setOnInsert": {"removed_at": at}}, upsert=True, session=session
        )


def _long_lists(
    sizes: Mapping[str, int], members: Mapping[UnitKey, CompanyKey]
) -> frozenset[CompanyKey]:
    """Returns the companies that have more identifiers, with those of units, than a list shows."""
    counts: Counter[CompanyKey] = Counter()
    for holder, size in sizes.items():
        counts[members.get(UnitKey.parse(holder), CompanyKey.parse(holder))] += size
    return frozenset(company for company, count in counts.items() if count > MAX_LISTED)


class _TracedEvents:
    """Events of one transaction, the changes of each company in a trace of their own.

    A trace begins here where spans are exported. Of a transaction that fails no span is exported.
    """

    def __init__(self, events: Sequence[OutboxEvent]) -> None:
        self._spans: dict[CompanyKey | None, tracing.Span] = {}
        if tracing.tracer is not None:
            for event in events:
                if event.company not in self._spans:
                    attributes: tracing.Attributes = {
                        "company": str(event.company),
                        "revision": event.revision,
                    }
                    self._spans[event.company] = tracing.tracer.begin(
                        "change", tracing.Kind.INTERNAL, tracing.CURRENT.get(), attributes
                    )
        self.documents = [outbox_document(event, self._trace_of(event)) for event in events]

    def _trace_of(self, event: OutboxEvent) -> TraceContext | None:
        span = self._spans.get(event.company)
        return tracing.CURRENT.get() if span is None else span.context

    def end(self) -> None:
        """Ends the spans after the commit."""
        for span in self._spans.values():
            span.end()


def _is_conflict(error: pymongo.errors.PyMongoError) -> bool:
    """Returns True if a concurrent transaction wrote the same documents."""
    if isinstance(error, pymongo.errors.BulkWriteError):
        return any(fault["code"] == DUPLICATE_KEY for fault in error.details["writeErrors"])
    return error.has_error_label("TransientTransactionError")


async def _by_id(
    collection: AsyncCollection[Document], keys: Collection[str]
) -> Sequence[Document]:
    if not keys:
        return ()
    # In one batch; the default first batch has 101 documents.
    found = collection.find({"_id": {"$in": list(keys)}}, batch_size=len(keys) + 1)
    documents: list[Document] = await found.to_list(None)
    return documents


async def _write_all(
    collection: AsyncCollection[Document],
    writes: Sequence[Write],
    session: AsyncClientSession,
) -> None:
    if not writes:
        return
    result = await collection.bulk_write(writes, ordered=False, session=session)
    if result.inserted_count + result.matched_count + result.deleted_count != len(writes):
        raise Conflict
