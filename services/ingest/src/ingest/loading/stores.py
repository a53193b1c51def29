"""The stores that importers and feeds write to, and how far each source was loaded and read."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from pymongo.errors import DuplicateKeyError

from common.contracts.company import CompanyKey, UnitKey
from common.domain.countries import day_of
from common.domain.limited import NameHash
from common.mongo import Database, translated_errors
from ingest.changes.apply import ApplyRecords
from ingest.changes.states import ApplyContext, Conflict, Plan
from ingest.changes.stored_states import StoredParts
from ingest.changes.transaction import Limited, StoredRegisterWriter
from ingest.changes.unit_plans import plan_unit_removal
from ingest.records.records import SourceVersion
from register_store.documents import CURSORS, LOADS, Document


class FileOrigin(StrEnum):
    """The origin of a file. Files are compared with the last one of the same origin."""

    IMPORTED = "imported"
    DOWNLOADED = "downloaded"


class StoredLoadStates:
    """The stored load states: `loading` until a file was read whole, then `loaded`.

    One document per source. Every method may raise `Unavailable`.
    """

    def __init__(self, database: Database) -> None:
        self._loads = database[LOADS]

    async def begin(self, source: str, *, at: datetime) -> None:
        """Records the start of a load; a source that was never loaded to the end is `loading`."""
        with translated_errors():
            await self._loads.update_one(
                {"_id": source},
                {"$set": {"begun_at": at}, "$setOnInsert": {"state": "loading"}},
                upsert=True,
            )

    async def finish(
        self,
        source: str,
        *,
        at: datetime,
        counts: Mapping[str, int],
        whole: FileOrigin | None = None,
    ) -> None:
        """Records that a file was read to its end: the source is `loaded` from now on.

        `whole` is the origin of a file that later ones of the same origin are compared with.
        """
        loaded: Document = {"state": "loaded", "finished_at": at, "counts": dict(counts)}
        if whole is not None:
            loaded[f"records.{whole}"] = counts["read"]
        with translated_errors():
            await self._loads.update_one({"_id": source}, {"$set": loaded})

    async def records(self, source: str, origin: FileOrigin) -> int:
        """Returns the number of records in an origin's last whole file; 0 before the first."""
        with translated_errors():
            found = await self._loads.find_one({"_id": source}, {"records": 1})
        return 0 if found is None else int(found.get("records", {}).get(origin, 0))

    async def is_loaded(self, source: str) -> bool:
        """Returns True if a file of the source has been loaded to its end."""
        with translated_errors():
            found = await self._loads.find_one({"_id": source, "state": "loaded"}, {"_id": 1})
        return found is not None


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a feed, in the feed's own terms."""

    #: The register's time of the last entry read, or the start.
    at: datetime
    #: Norway's `oppdateringsid` of the last entry read; 0 before the first.
    sequence: int = 0
    #: Ids of the entries with the time `at`, for feeds that are read by time alone.
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position up to which a source was read and stored."""

    position: Position
    #: Every change that the register published by this time is stored. UTC.
    until: datetime
    #: Time of the last comparison with the register's whole file.
    reconciled_at: datetime | None = None
    #: The ETag of the whole file that was read last.
    etag: str | None = None
    #: Times of the downloads in the last 24 hours, if their number is limited.
    downloads: tuple[datetime, ...] = ()
    #: Revision of the stored cursor, so that two processes cannot both move it.
    revision: int = 0


def is_due(last: datetime | None, every: timedelta, now: datetime) -> bool:
    """Returns True if a task that was last done at `last` is due; None counts as due."""
    return last is None or now - last >= every


class StoredCursors:
    """The stored cursors. Every method may raise `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._cursors = database[CURSORS]

    async def read(self, source: str) -> Cursor | None:
        """Returns the cursor of a source; None before the first."""
        with translated_errors():
            document = await self._cursors.find_one({"_id": source})
        return None if document is None else _cursor(document)

    async def move(self, source: str, cursor: Cursor) -> Cursor:
        """Replaces the cursor of the same revision; returns the stored successor.

        Raises Conflict if another process has moved it since it was read.
        """
        document = {**asdict(cursor), "revision": cursor.revision + 1}
        try:
            with translated_errors():
                if cursor.revision == 0:
                    await self._cursors.insert_one({"_id": source, **document})
                else:
                    before = {"_id": source, "revision": cursor.revision}
                    result = await self._cursors.replace_one(before, document)
                    if result.matched_count == 0:
                        raise Conflict("another sync has moved the cursor")
        except DuplicateKeyError:
            raise Conflict("another sync has started at the same time") from None
        return _cursor(document)


def _cursor(document: Document) -> Cursor:
    position: dict[str, Any] = document["position"]
    return Cursor(
        position=Position(position["at"], position["sequence"], tuple(position["seen"])),
        until=document["until"],
        reconciled_at=document["reconciled_at"],
        etag=document["etag"],
        downloads=tuple(document["downloads"]),
        revision=document["revision"],
    )


Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Returns the current time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Stores:
    """The stored registers, and how far each source was loaded and read."""

    writer: StoredRegisterWriter
    parts: StoredParts
    states: StoredLoadStates
    cursors: StoredCursors
    now: Clock

    @classmethod
    def of(cls, register: Database, now: Clock = utc_now) -> Self:
        """Returns the stores of a database."""
        return cls(
            StoredRegisterWriter(register, now),
            StoredParts(register),
            StoredLoadStates(register),
            StoredCursors(register),
            now,
        )

    def today(self) -> date:
        """Returns the present day, as of which documents are read."""
        return day_of(self.now())

    @property
    def apply(self) -> ApplyRecords:
        """Applies batches of records to these stores."""
        return ApplyRecords(self.writer, self.now)

    async def remove_company(self, source: str, key: CompanyKey) -> bool:
        """Purges a company that its register ordered removed; False if unknown.

        A tombstone stays. The event is published, except during the first load of the source.
        """
        publish_events = await self.states.is_loaded(source)
        return await self.writer.remove(key, at=self.now(), publish_events=publish_events)

    async def limit(self, source: str, key: CompanyKey, name: NameHash) -> Limited:
        """Leaves a person out of a company; published except during the source's first load."""
        publish_events = await self.states.is_loaded(source)
        return await self.writer.limit(key, name, at=self.now(), publish_events=publish_events)

    async def remove_unit(self, source: str, key: UnitKey) -> bool:
        """Purges a unit with its identifiers, as `remove_company` does a company.

        The event says only that the unit ended.
        """
        now = self.now()
        publish_events = await self.states.is_loaded(source)
        context = ApplyContext(SourceVersion(now), now, publish_events)

        async def plan() -> Plan:
            known = await self.writer.known(units=[key])
            unit = known.units.get(key)
            company = None if unit is None else unit.company
            companies = [] if company is None else [company]
            known = await self.writer.with_participants(known, companies, moving=[key])
            return plan_unit_removal(key, known, context)

        done = await self.apply.through(plan)
        return any(removal.expected is not None for removal in done.removals)
