"""The event feed: published events in one order, a chain of batches, and its pages."""

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pymongo.errors
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.read_concern import ReadConcern

from common.contracts.events import (
    EventReply,
    EventRequest,
    EventType,
    FeedEvent,
    FeedFilter,
    FeedPage,
    FeedRequest,
)
from common.contracts.failures import Failure, FailureCode, Unavailable
from common.mongo import Database, translated_errors
from register_store.documents import EVENT_BATCHES, OUTBOX


class Superseded(Unavailable):
    """Another process has appended a batch and holds the lease."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of published events at consecutive positions."""

    number: int
    #: The position of its first event.
    first: int
    count: int
    at: datetime
    #: Time at which its events are due again unless they are confirmed.
    again_at: datetime
    #: The events in order; empty once the batch is complete.
    ids: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """The position of its last event."""
        return self.first + self.count - 1


_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
#: The predecessor of the first batch.
_NONE = Batch(number=0, first=1, count=0, at=_LONG_AGO, again_at=_LONG_AGO)


class EventLog:
    """The batches, as the publisher accesses them. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._batches = database[EVENT_BATCHES]
        # Only a batch that survives a failover may have a successor.
        self._majority = self._batches.with_options(read_concern=ReadConcern("majority"))

    async def newest(self) -> Batch:
        """Returns the last batch, which may be incomplete."""
        with translated_errors():
            found = await self._majority.find_one({}, sort=[("_id", -1)])
        return _NONE if found is None else _batch(found)

    async def append(
        self, after: Batch, ids: Sequence[str], *, at: datetime, again_at: datetime
    ) -> Batch:
        """Appends an incomplete batch; raises `Superseded` when `after` is not the newest."""
        batch = Batch(
            after.number + 1, after.last + 1, len(ids), max(at, after.at), again_at, tuple(ids)
        )
        try:
            with translated_errors():
                fields = asdict(batch)
                document = {"_id": fields.pop("number"), **fields, "complete": False}
                await self._batches.insert_one(document)
        except pymongo.errors.DuplicateKeyError as error:
            raise Superseded("another process publishes the outbox") from error
        return batch

    async def complete(self, batch: Batch) -> Batch:
        """Makes a batch visible to readers, once each of its events has its position."""
        with translated_errors():
            await self._batches.update_one(
                {"_id": batch.number}, {"$set": {"complete": True}, "$unset": {"ids": ""}}
            )
        return replace(batch, ids=())

    async def prune(self, newest: Batch, *, before: datetime) -> None:
        """Deletes batches whose events have expired, but never the newest."""
        with translated_errors():
            await self._batches.delete_many({"_id": {"$lt": newest.number}, "at": {"$lt": before}})


def _batch(document: Mapping[str, Any]) -> Batch:
    return Batch(
        document["_id"],
        document["first"],
        document["count"],
        document["at"],
        document["again_at"],
        tuple(document.get("ids", ())),
    )


#: Positions that one read covers at most, so that it takes milliseconds with a filter that matches
#: nothing.
MAX_POSITIONS = 20_000
#: Bytes of events in one page; it may exceed this by one event. Several pages share a reply.
MAX_BYTES = 1024 * 1024

#: After this time a change is seen by every read with read concern `majority`, also by one of a
#: member that is no longer or not yet the primary, which ends after 10 s, and by the search index.
FEED_OVERLAP = timedelta(seconds=30)

#: The index in the order of positions, with all that filters select by.
_FEED_INDEX = "feed"
_EVENT = {"_id": 0, "position": 1, "type": 1, "body": 1}
#: A failover must take back nothing that a reader has seen.
_MAJORITY = ReadConcern("majority")


@dataclass(frozen=True, slots=True)
class _Range:
    """The positions that can be read: after `oldest`, up to `newest`."""

    oldest: int
    newest: int


class StoredFeed:
    """The published events of the outbox, in the order of their positions."""

    def __init__(
        self,
        database: Database,
        *,
        retention: timedelta,
        now: Callable[[], datetime],
    ) -> None:
        self._client = database.client
        self._events = database.get_collection(OUTBOX, read_concern=_MAJORITY)
        self._batches = database.get_collection(EVENT_BATCHES, read_concern=_MAJORITY)
        self._retention = retention
        self._now = now

    async def read(self, request: FeedRequest) -> FeedPage:
        """Returns the next page; raises `Unavailable`."""
        # Causally consistent: after a failover, the second read must not precede the first.
        with translated_errors():
            async with self._client.start_session(causal_consistency=True) as session:
                readable = await self._range(session)
                if request.latest:
                    return FeedPage(position=readable.newest)
                if request.recent:
                    return await self._newest_page(request, readable, session)
                after = await self._start(request, readable, session)
                if after is None or after < readable.oldest:
                    return FeedPage(position=readable.oldest, expired=True)
                read = self._companies if request.companies_only else self._page
                return await read(request, after, readable.newest, session)

    async def copy_position(self) -> int:
        """Returns the position before the last 30 s: every read sees the changes up to it."""
        with translated_errors():
            async with self._client.start_session(causal_consistency=True) as session:
                newest = (await self._range(session)).newest
                return await self._before(self._now() - FEED_OVERLAP, newest, session)

    async def event(self, event_id: str, *, owner: str) -> bytes | None:
        """Returns the public event with this id, once it is published; raises `Unavailable`.

        An owner's events are found by that owner only.
        """
        query = {"_id": event_id, "position": {"$exists": True}, **_visible(owner)}
        with translated_errors():
            found = await self._events.find_one(query, {"body": 1})
        return None if found is None else found["body"]

    async def pages(self, requests: Sequence[FeedRequest]) -> list[FeedPage]:
        """Answers requests for pages."""
        return await asyncio.gather(*map(self.read, requests))

    async def events(self, requests: Sequence[EventRequest]) -> list[EventReply | Failure]:
        """Answers requests for events by id."""
        return await asyncio.gather(*map(self._reply, requests))

    async def _reply(self, request: EventRequest) -> EventReply | Failure:
        body = await self.event(request.id, owner=request.owner)
        if body is None:
            return Failure(code=FailureCode.EVENT_NOT_FOUND, detail="event not found")
        return EventReply(body=body)

    async def _range(self, session: AsyncClientSession) -> _Range:
        newest = await self._batches.find_one(
            {"complete": True}, sort=[("_id", -1)], session=session
        )
        if newest is None:
            return _Range(0, 0)
        end = newest["first"] + newest["count"] - 1
        kept = {"at": {"$gt": self._now() - self._retention}}
        oldest = await self._batches.find_one(kept, sort=[("at", 1), ("_id", 1)], session=session)
        return _Range(end if oldest is None else oldest["first"] - 1, end)

    async def _start(
        self, request: FeedRequest, readable: _Range, session: AsyncClientSession
    ) -> int | None:
        """Returns the position to read after; None for a time before all that is kept."""
        if request.after is not None or request.since is None:
            return readable.oldest if request.after is None else request.after
        if request.since <= self._now() - self._retention:
            return None
        return await self._before(request.since, readable.newest, session)

    async def _before(self, since: datetime, newest: int, session: AsyncClientSession) -> int:
        later = {"at": {"$gte": since}}
        first = await self._batches.find_one(later, sort=[("at", 1), ("_id", 1)], session=session)
        return newest if first is None else min(first["first"] - 1, newest)

    async def _newest_page(
        self, request: FeedRequest, readable: _Range, session: AsyncClientSession
    ) -> FeedPage:
        reach = max(readable.oldest, readable.newest - MAX_POSITIONS)
        if request.companies_only:
            return await self._companies(request, reach, readable.newest, session)
        # Without a filter the index ends at the limit; a restore leaves a gap of positions.
        of_companies = request.filter.companies and request.until is None
        is_bounded = request.filter != FeedFilter() and not of_companies
        after = reach if is_bounded else readable.oldest
        cursor = self._events.find(
            _query(request, after, readable.newest),
            _EVENT,
            sort=[("position", -1)],
            limit=request.limit,
            session=session,
            hint=_hint(request),
        )
        events, _ = await _up_to(request.limit, cursor)
        return FeedPage(events=tuple(reversed(events)), position=readable.newest)

    async def _page(
        self, request: FeedRequest, after: int, newest: int, session: AsyncClientSession
    ) -> FeedPage:
        until = newest if request.until is None else min(newest, request.until)
        if request.until is None and not request.filter.companies:
            # The page of few companies has an index of their own.
            until = min(newest, after + MAX_POSITIONS)
        cursor = self._events.find(
            _query(request, after, until),
            _EVENT,
            sort=[("position", 1)],
            limit=request.limit + 1,
            session=session,
            hint=_hint(request),
        )
        events, is_cut = await _up_to(request.limit, cursor)
        if is_cut:
            return FeedPage(events=tuple(events), position=events[-1].position, has_more=True)
        # A reader ahead of a database that was briefly behind keeps its position.
        return FeedPage(events=tuple(events), position=max(after, until), has_more=until < newest)

    async def _companies(
        self, request: FeedRequest, after: int, newest: int, session: AsyncClientSession
    ) -> FeedPage:
        """The companies of a range of events, read from the index alone."""
        until = min(newest, after + MAX_POSITIONS)
        cursor = self._events.find(
            _query(request, after, until),
            {"_id": 0, "company": 1},
            session=session,
            hint=_FEED_INDEX,
            batch_size=MAX_POSITIONS,
        )
        found = {event["company"] for event in await cursor.to_list(None)}
        return FeedPage(
            companies=tuple(company for company in found if company is not None),
            position=max(after, until),
            has_more=until < newest,
        )


def _hint(request: FeedRequest) -> str | None:
    """The index of all events, where a range with many companies is read."""
    return None if request.until is None else _FEED_INDEX


def _query(request: FeedRequest, after: int, until: int) -> dict[str, Any]:
    return {
        "position": {"$gt": after, "$lte": until},
        **_visible(request.owner),
        **_matching(request.filter),
    }


def _visible(owner: str) -> dict[str, Any]:
    """Events about companies, and those about this owner's webhooks."""
    return {"owner": {"$in": [None, owner]}}


def _matching(limits: FeedFilter) -> dict[str, Any]:
    # Never all types: before a rollback, another release may have published further ones.
    types = [event_type.value for event_type in limits.types or EventType]
    query: dict[str, Any] = {"type": {"$in": types}}
    if limits.companies:
        query["company"] = {
            "$in": [
                key
                for key in limits.companies
                if not limits.countries or key.country in limits.countries
            ]
        }
    elif limits.countries:
        query["$or"] = [
            {"company": {"$gte": f"{country}:", "$lt": f"{country};"}}
            for country in limits.countries
        ]
    return query


async def _up_to(
    limit: int, cursor: AsyncIterable[Mapping[str, Any]]
) -> tuple[list[FeedEvent], bool]:
    """The events of one page, and whether the cursor has more."""
    events: list[FeedEvent] = []
    size = 0
    async for document in cursor:
        if len(events) == limit or size > MAX_BYTES:
            return events, True
        events.append(FeedEvent(**document))
        size += len(document["body"])
    return events, False
