"""The ports of ingest in memory: the register, load states, cursors and leases."""

import pickle
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from common.contracts.company import CompanyKey, UnitKey
from common.contracts.events import EventType
from lookup.ingest.apply import Conflict, Stored, identity
from lookup.ingest.changes import removal
from lookup.ingest.digests import Part
from lookup.ingest.events import OutboxEvent, events_of_change
from lookup.ingest.feeds import Cursor
from lookup.ingest.load_states import FileOrigin
from lookup.ingest.planning.states import (
    CompanyState,
    DigestUpdate,
    Known,
    ParticipantState,
    Plan,
    UnitState,
)
from lookup.ingest.records import RawDocument, Record, Rejected, SourceVersion
from lookup.ingest.register_source import Parser, RegisterSource

K = TypeVar("K", bound=Hashable)
S = TypeVar("S", CompanyState, UnitState, ParticipantState)


@dataclass
class FakeRegisterWriter:
    """`RegisterWriter`; a plan is applied whole, or refused if a revision is not the expected."""

    companies: dict[CompanyKey, CompanyState] = field(default_factory=dict)
    units: dict[UnitKey, UnitState] = field(default_factory=dict)
    participants: dict[str, ParticipantState] = field(default_factory=dict)
    tombstones: set[str] = field(default_factory=set)
    outbox: list[OutboxEvent] = field(default_factory=list)
    #: The number of next writes that a concurrent writer wins.
    conflicts: int = 0

    async def known(
        self, *, companies: Collection[CompanyKey] = (), units: Collection[UnitKey] = ()
    ) -> Known:
        found = _some(self.units, units)
        keys = {*companies, *(unit.company for unit in found.values() if unit.company)}
        both: tuple[CompanyKey | UnitKey, ...] = (*keys, *units)
        stones = {key for key in both if key in self.tombstones}
        return Known(_some(self.companies, keys), found, tombstones=stones)

    async def known_participants(
        self, identifiers: Collection[str], holders: Collection[CompanyKey | UnitKey]
    ) -> Known:
        found = _some(self.participants, identifiers)
        keys = {*holders, *(state.holder for state in found.values() if state.holder)}
        known = await self.known(
            companies=[CompanyKey.parse(key) for key in keys],
            units=[UnitKey.parse(key) for key in keys],
        )
        return replace(known, participants=found)

    async def with_all_participants(
        self, known: Known, holders: Collection[CompanyKey | UnitKey]
    ) -> Known:
        units = {key: unit for key, unit in self.units.items() if unit.company in holders}
        held = {
            key: state
            for key, state in self.participants.items()
            if state.holder in {*holders, *units}
        }
        return replace(
            known,
            units={**known.units, **units},
            participants={**known.participants, **held},
        )

    async def write(self, plan: Plan) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict
        _expect(self.companies, ((one.key, one.expected) for one in plan.companies))
        _expect(self.companies, ((one.key, one.expected) for one in plan.bumps))
        _expect(self.units, ((one.key, one.expected) for one in plan.units))
        _expect(self.participants, ((one.identifier, one.expected) for one in plan.participants))
        _expect(self.participants, ((one.identifier, one.expected) for one in plan.drops))
        for change in plan.companies:
            self.companies[change.key] = change.state
        for bump in plan.bumps:
            self.companies[bump.key] = replace(self.companies[bump.key], revision=bump.expected + 1)
        for unit in plan.units:
            self.units[unit.key] = unit.state
        for participant in plan.participants:
            self.participants[participant.identifier] = participant.state
        for drop in plan.drops:
            del self.participants[drop.identifier]
        for removed in plan.removals:
            self.units.pop(removed.key, None)
            self.tombstones.add(removed.key)
        for digest in plan.digest_updates:
            self._renew(digest)
        self.outbox += plan.outbox_events

    def _renew(self, change: DigestUpdate) -> None:
        match change.part:
            case Part.COMPANY:
                key = CompanyKey.parse(change.key)
                self.companies[key] = replace(self.companies[key], digest=change.digest)
            case Part.OWNERS:
                key = CompanyKey.parse(change.key)
                self.companies[key] = replace(self.companies[key], owners_digest=change.digest)
            case Part.UNIT:
                unit = UnitKey.parse(change.key)
                self.units[unit] = replace(self.units[unit], digest=change.digest)
            case Part.PARTICIPANT:
                state = self.participants[change.key]
                self.participants[change.key] = replace(state, digest=change.digest)

    async def remove(self, key: CompanyKey, *, at: datetime, publish_events: bool) -> bool:
        company = self.companies.pop(key, None)
        units = {unit for unit, state in self.units.items() if state.company == key}
        self.units = {unit: state for unit, state in self.units.items() if unit not in units}
        self.participants = {
            identifier: state
            for identifier, state in self.participants.items()
            if state.holder not in {key, *units}
        }
        self.outbox = [
            event
            for event in self.outbox
            if event.company != key or event.type is EventType.COMPANY_REMOVED
        ]
        self.tombstones.add(key)
        if company is None or not company.is_known:
            return False
        if publish_events:
            self.outbox += events_of_change(
                key, None, revision=company.revision + 1, pending_events=[removal()], at=at
            )
        return True


def _some(states: Mapping[K, S], keys: Iterable[K]) -> dict[K, S]:
    return {key: states[key] for key in keys if key in states}


def _expect(states: Mapping[K, S], expected: Iterable[tuple[K, int | None]]) -> None:
    for key, revision in expected:
        stored = states.get(key)
        if (None if stored is None else stored.revision) != revision:
            raise Conflict


@dataclass
class FakeDigests:
    """`StoredDigests` of a fake writer's records."""

    writer: FakeRegisterWriter

    async def of(self, part: Part, keys: Collection[str]) -> Mapping[str, bytes | None]:
        stored: dict[str, bytes | None]
        match part:
            case Part.COMPANY:
                stored = {key: state.digest for key, state in self.writer.companies.items()}
            case Part.OWNERS:
                stored = {key: state.owners_digest for key, state in self.writer.companies.items()}
            case Part.UNIT:
                stored = {key: state.digest for key, state in self.writer.units.items()}
            case Part.PARTICIPANT:
                stored = {key: state.digest for key, state in self.writer.participants.items()}
        return {key: stored[key] for key in keys if key in stored}


@dataclass
class FakeLoadStates:
    """`LoadStates`."""

    #: The time of the last load to the end, by source.
    loaded: dict[str, datetime] = field(default_factory=dict)
    whole: MutableMapping[tuple[str, FileOrigin], int] = field(default_factory=dict)

    async def begin(self, source: str, *, at: datetime) -> None: ...

    async def is_loaded(self, source: str) -> bool:
        return source in self.loaded

    async def records(self, source: str, origin: FileOrigin) -> int:
        return self.whole.get((source, origin), 0)

    async def finish(
        self,
        source: str,
        *,
        at: datetime,
        counts: Mapping[str, int],
        whole: FileOrigin | None = None,
    ) -> None:
        self.loaded[source] = at
        if whole is not None:
            self.whole[source, whole] = counts["read"]


@dataclass
class FakeCursors:
    """`Cursors`."""

    cursors: dict[str, Cursor] = field(default_factory=dict)

    async def read(self, source: str) -> Cursor | None:
        return self.cursors.get(source)

    async def move(self, source: str, cursor: Cursor) -> Cursor:
        stored = self.cursors.get(source)
        if cursor.revision != (0 if stored is None else stored.revision):
            raise Conflict
        self.cursors[source] = replace(cursor, revision=cursor.revision + 1)
        return self.cursors[source]


@dataclass
class FakeLeases:
    """`Leases`; several holders share one `held`."""

    holder: str
    now: Callable[[], datetime]
    #: Holder and end of each lease, by job.
    held: dict[str, tuple[str, datetime]] = field(default_factory=dict)

    async def take(self, job: str, *, span: timedelta) -> bool:
        now = self.now()
        holder, until = self.held.get(job, (self.holder, now))
        if holder != self.holder and until >= now:
            return False
        self.held[job] = (self.holder, now + span)
        return True

    async def give_up(self, job: str) -> None:
        if job in self.held and self.held[job][0] == self.holder:
            del self.held[job]


@dataclass
class FakeKeys:
    """`StoredKeys` of a fake writer's records."""

    writer: FakeRegisterWriter

    async def of(self, source: RegisterSource, *, until: datetime) -> AsyncIterator[Sequence[str]]:
        versions: Mapping[str, SourceVersion | None]
        match source.part:
            case Part.COMPANY:
                versions = {key: one.version for key, one in self.writer.companies.items()}
            case Part.OWNERS:
                versions = {
                    key: one.owners_version
                    for key, one in self.writer.companies.items()
                    if one.owners not in {None, b"[]"}
                }
            case Part.UNIT:
                versions = {key: one.version for key, one in self.writer.units.items()}
            case Part.PARTICIPANT:
                versions = {key: one.version for key, one in self.writer.participants.items()}
        country = "" if source.country is None else f"{source.country}:"
        yield [
            key
            for key, version in versions.items()
            if version is not None and version.at <= until and key.startswith(country)
        ]


def a_document(record: Stored, digest: bytes | None = None) -> RawDocument:
    """A document with this content and digest, if one is given."""
    text = pickle.dumps(replace(record, digest=digest))
    return RawDocument(1, "byte 0", text, identity(record), digest)


@dataclass
class UnpacksRecords:
    """A `Reader` of such documents."""

    read: int = 0

    async def __call__(
        self, _: Parser, documents: Sequence[RawDocument]
    ) -> Sequence[Record | Rejected]:
        self.read += len(documents)
        return [pickle.loads(document.text) for document in documents]  # noqa: S301 (our own)
