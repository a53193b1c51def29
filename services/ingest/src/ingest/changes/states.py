"""Stored states, planned writes, and verdicts on records."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

import orjson

from common.contracts.company import CompanyKey, UnitKey
from common.domain.countries import day_of
from common.domain.limited import NameHash
from ingest.records.records import CompanyRecord, Reorganisation, SourceVersion, UnitRecord
from ingest.records.source import Part
from register_store.documents import Document
from register_store.events import OutboxEvent, PendingEvent


class Conflict(Exception):
    """A concurrent writer changed the state that a plan was based on; nothing was written."""


class Verdict(StrEnum):
    """The result of comparing a record with the stored state."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    #: Differs from the stored record, but is not newer.
    STALE = "stale"
    #: The register has ordered the company removed; a tombstone keeps it out.
    REMOVED = "removed"
    #: Accounts of a company that is not stored.
    UNKNOWN = "unknown"
    #: Accounts of a sole proprietor, which are not stored by default.
    LEFT_OUT = "left_out"


#: The verdicts that write.
WRITTEN = (Verdict.NEW, Verdict.CHANGED)
#: The verdicts on annual accounts alone.
OF_ACCOUNTS = (Verdict.UNKNOWN, Verdict.LEFT_OUT)


def without_count_day(core: bytes) -> Mapping[str, Any]:
    """Returns JSON to be compared: a new count of the same employees is no change."""
    document: dict[str, Any] = orjson.loads(core)
    if document.get("employees"):
        document["employees"].pop("as_of", None)
    return document


#: Raised by a release that reads a value of a company otherwise in the same document (ADR 0114).
READING: Final = 1


@dataclass(frozen=True, slots=True)
class CompanyState:
    """A stored company. If only its roles are stored, it has no `core` and revision 0."""

    revision: int
    core: bytes | None = None
    owners: bytes | None = None
    #: None also if an earlier release stored the owners without roles.
    roles: bytes | None = None
    phones: tuple[str, ...] = ()
    units: tuple[UnitKey, ...] = ()
    version: SourceVersion | None = None
    owners_version: SourceVersion | None = None
    #: Digests of the documents of the company and of its owners (`records.digests`).
    digest: bytes | None = None
    owners_digest: bytes | None = None
    #: Earlier names in this service, for searches only, if the register lists no former names.
    held_names: tuple[str, ...] = ()
    #: A hash of what is stored as upcoming (`records.upcoming`); None if nothing is.
    upcoming: bytes | None = None
    #: As that of a `CompanyRecord`.
    past: bytes | None = None
    #: When its own record was first stored; None if an earlier release did it.
    added_at: datetime | None = None
    #: The `READING` with which its record was stored, and that of its owners if they come apart.
    reading: int = 0
    owners_reading: int = 0
    #: The mergers and demergers in which it took part; None if it never has.
    reorganisations: tuple[Reorganisation, ...] | None = None
    #: Its owners by the register of groups, a JSON list; None if it was never in a group.
    links: bytes | None = None
    #: Its other owners, if `links` are stored; `owners` are both.
    listed_owners: bytes | None = None

    @property
    def source_owners(self) -> bytes | None:
        """The owners of the company's own source, without those of its group."""
        return self.owners if self.links is None else self.listed_owners

    @property
    def is_known(self) -> bool:
        """True if the company's own record is stored, not only its roles."""
        return self.core is not None

    @property
    def lacks_roles(self) -> bool:
        """True if an earlier release read the document that contains the roles."""
        return self.source_owners is not None and self.roles is None


@dataclass(frozen=True, slots=True)
class UnitState:
    """A stored production unit."""

    revision: int
    core: bytes
    company: CompanyKey | None
    phones: tuple[str, ...]
    version: SourceVersion
    digest: bytes | None = None
    #: As that of a `CompanyState`.
    upcoming: bytes | None = None

    @property
    def content(self) -> tuple[object, ...]:
        """The compared fields: a record that differs in none of them is unchanged."""
        return without_count_day(self.core), self.company, self.phones, self.upcoming


@dataclass(frozen=True, slots=True)
class ParticipantState:
    """A stored e-invoicing identifier and its holder."""

    revision: int
    entry: bytes
    holder: CompanyKey | UnitKey | None
    version: SourceVersion
    digest: bytes | None = None

    @property
    def content(self) -> tuple[object, ...]:
        """The compared fields: a record that differs in none of them is unchanged."""
        return self.entry, self.holder


@dataclass(frozen=True, slots=True)
class GroupState:
    """A stored group; one of a single company is a company in no group, or one to ask for."""

    revision: int
    #: Its companies, the one at the top first.
    members: tuple[CompanyKey, ...]
    version: SourceVersion
    #: When it was last read; the beginning of time if it is to be read again.
    asked_at: datetime
    digest: bytes | None = None
    #: When one of its companies last changed; None if none has since it was read.
    changed_at: datetime | None = None


K = TypeVar("K", bound=str)
S = TypeVar("S", UnitState, ParticipantState)
W = TypeVar("W", UnitState, ParticipantState, GroupState)


@dataclass(frozen=True, slots=True)
class CompanyWrite:
    """A company's new state; `expected` is the stored revision, None if it is not stored."""

    key: CompanyKey
    expected: int | None
    state: CompanyState
    #: None if only the owners change: the stored rank stays.
    rank: str | None = None
    #: None if the company's own record did not change.
    updated_at: datetime | None = None
    pending_events: tuple[PendingEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Bump:
    """A company of which a part changed: only its revision is raised."""

    key: CompanyKey
    expected: int


@dataclass(frozen=True, slots=True)
class PartWrite(Generic[K, W]):
    """The new state of a unit, an e-invoicing identifier or a group."""

    key: K
    expected: int | None
    state: W


@dataclass(frozen=True, slots=True)
class ParticipantDrop:
    """An identifier that is no longer registered."""

    key: str
    expected: int


@dataclass(frozen=True, slots=True)
class GroupDrop:
    """A group whose companies are all in others."""

    key: CompanyKey
    expected: int


@dataclass(frozen=True, slots=True)
class UnitRemoval:
    """A unit that its register ordered removed: a tombstone stays and keeps it out."""

    key: UnitKey
    #: None if it is not stored.
    expected: int | None
    company: CompanyKey | None
    at: datetime


@dataclass(frozen=True, slots=True)
class UpcomingWrite:
    """A record whose later days replace those that are stored of it, if any are."""

    record: CompanyRecord | UnitRecord
    version: SourceVersion


@dataclass(frozen=True, slots=True)
class DigestUpdate:
    """A changed document with an unchanged record: only its digest is stored.

    And its JSON, if the day of a count in it is a newer one.
    """

    part: Part
    #: The key of the company, unit or participant.
    key: str
    expected: int
    digest: bytes | None
    core: bytes | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One transaction, and the verdict on each record."""

    verdicts: tuple[Verdict, ...] = ()
    companies: tuple[CompanyWrite, ...] = ()
    bumps: tuple[Bump, ...] = ()
    units: tuple[PartWrite[UnitKey, UnitState], ...] = ()
    participants: tuple[PartWrite[str, ParticipantState], ...] = ()
    #: Events of the changes, for the history, and for the outbox too if they are published.
    events: tuple[OutboxEvent, ...] = ()
    is_published: bool = field(default=False, compare=False)
    digest_updates: tuple[DigestUpdate, ...] = ()
    drops: tuple[ParticipantDrop, ...] = ()
    removals: tuple[UnitRemoval, ...] = ()
    #: Of companies and units that are written too.
    upcoming: tuple[UpcomingWrite, ...] = ()
    #: Annual accounts, ids of those that are deleted, and states (`ingest.changes.accounts`).
    accounts: tuple[Document, ...] = ()
    accounts_dropped: tuple[str, ...] = ()
    accounts_states: tuple[Document, ...] = ()
    groups: tuple[PartWrite[CompanyKey, GroupState], ...] = ()
    group_drops: tuple[GroupDrop, ...] = ()

    @property
    def outbox_events(self) -> tuple[OutboxEvent, ...]:
        """The events to be published."""
        return self.events if self.is_published else ()

    @property
    def writes(self) -> bool:
        """True if the transaction has anything to write besides events."""
        return any(
            (
                self.companies,
                self.bumps,
                self.units,
                self.participants,
                self.digest_updates,
                self.drops,
                self.removals,
                self.accounts,
                self.accounts_dropped,
                self.accounts_states,
                self.groups,
                self.group_drops,
            )
        )


@dataclass(frozen=True, slots=True)
class StoredState:
    """The stored state of everything that a batch of records affects."""

    companies: Mapping[CompanyKey, CompanyState] = field(default_factory=dict)
    units: Mapping[UnitKey, UnitState] = field(default_factory=dict)
    participants: Mapping[str, ParticipantState] = field(default_factory=dict)
    #: The companies of further units.
    members: Mapping[UnitKey, CompanyKey] = field(default_factory=dict)
    #: Companies with so many identifiers that `participants` has only those that change.
    long_lists: Collection[CompanyKey] = frozenset()
    tombstones: Collection[CompanyKey | UnitKey] = frozenset()
    #: Persons who are left out of companies.
    limited: Mapping[CompanyKey, Collection[NameHash]] = field(default_factory=dict)
    #: Groups by the key of their top company.
    groups: Mapping[CompanyKey, GroupState] = field(default_factory=dict)
    #: Revisions that were used before a restore, up to which none is used again.
    skipped_revisions: int = 0

    def company_of(self, holder: CompanyKey | UnitKey | None) -> CompanyKey | None:
        """Returns the company of a holder, which may be one of its units."""
        if holder is None:
            return None
        key = UnitKey.parse(holder)
        if key in self.units:
            return self.units[key].company
        if key in self.members:
            return self.members[key]
        return CompanyKey.parse(holder) if CompanyKey.parse(holder) in self.companies else None

    def bumps(self, touched: Iterable[CompanyKey | None]) -> tuple[Bump, ...]:
        """Returns a raised revision for each of the companies that clients can see."""
        return tuple(
            Bump(key, self.companies[key].revision)
            for key in dict.fromkeys(touched)
            if key is not None and key in self.companies and self.companies[key].is_known
        )


@dataclass(frozen=True, slots=True)
class ApplyContext:
    """Properties of a whole batch of records."""

    #: The version of a record that has none.
    file_version: SourceVersion
    at: datetime
    #: True if changes are published; not during the first load of a source. The history has all
    #: changes, but not what a first load adds.
    publish_events: bool = False

    def told(self, pending_events: Iterable[PendingEvent]) -> Iterable[PendingEvent]:
        """Returns the events that are published, or else those that the history needs."""
        if self.publish_events:
            return pending_events
        return (
            event
            for event in pending_events
            if any(change.old is not None for change in event.changes)
        )

    @property
    def today(self) -> date:
        """The day as of which records are stored."""
        return day_of(self.at)
