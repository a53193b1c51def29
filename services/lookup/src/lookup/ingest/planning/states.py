"""What is stored, what is to be stored, and what is said of each record."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from common.contracts.company import CompanyKey, UnitKey
from lookup.ingest.digests import Part
from lookup.ingest.events import OutboxEvent
from lookup.ingest.records import SourceVersion


class Verdict(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    #: Differs from what is stored, but is not newer than it.
    STALE = "stale"
    #: The register has ordered the company removed; a tombstone keeps it out.
    REMOVED = "removed"


#: The verdicts that write.
WRITTEN = (Verdict.NEW, Verdict.CHANGED)


@dataclass(frozen=True, slots=True)
class CompanyState:
    """A company as stored. One whose roles came before itself has no `core` and revision 0."""

    revision: int
    core: bytes | None = None
    owners: bytes | None = None
    #: Absent also where an earlier release stored the owners, and not the roles beside them.
    roles: bytes | None = None
    phones: tuple[str, ...] = ()
    units: tuple[UnitKey, ...] = ()
    version: SourceVersion | None = None
    owners_version: SourceVersion | None = None
    #: Of the documents that all of this, and that the owners, were read from (`domain.digests`).
    digest: bytes | None = None
    owners_digest: bytes | None = None
    #: Names that it had here before, for searches only: the register lists no former names.
    held_names: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.core is not None

    @property
    def lacks_roles(self) -> bool:
        """Whether an earlier release read the document that has them."""
        return self.owners is not None and self.roles is None


@dataclass(frozen=True, slots=True)
class UnitState:
    revision: int
    core: bytes
    company: CompanyKey | None
    phones: tuple[str, ...] = ()
    version: SourceVersion | None = None
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class ParticipantState:
    revision: int
    entry: bytes
    holder: CompanyKey | UnitKey | None
    version: SourceVersion | None = None
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class CompanyWrite:
    """A company's new state; `expected` is the stored revision, None where nothing is stored."""

    key: CompanyKey
    expected: int | None
    state: CompanyState
    #: Absent where only the owners change: it is then kept as it was.
    rank: str | None
    #: Absent where the register changed nothing of the company itself.
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Bump:
    """A company that changed in what belongs to it: only its revision rises."""

    key: CompanyKey
    expected: int


@dataclass(frozen=True, slots=True)
class UnitWrite:
    key: UnitKey
    expected: int | None
    state: UnitState


@dataclass(frozen=True, slots=True)
class ParticipantWrite:
    identifier: str
    expected: int | None
    state: ParticipantState


@dataclass(frozen=True, slots=True)
class ParticipantDrop:
    """An identifier under which nobody receives anything any more."""

    identifier: str
    expected: int


@dataclass(frozen=True, slots=True)
class UnitRemoval:
    """A unit that its register ordered removed: a tombstone stays, and keeps it out."""

    key: UnitKey
    #: None where it is not stored.
    expected: int | None
    company: CompanyKey | None
    at: datetime


@dataclass(frozen=True, slots=True)
class DigestUpdate:
    """Another document says what is stored already: it will be known by its digest next time."""

    part: Part
    #: Of the company, unit or participant.
    key: str
    expected: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """One transaction, and what is to be said of each record it was made from."""

    verdicts: tuple[Verdict, ...] = ()
    companies: tuple[CompanyWrite, ...] = ()
    bumps: tuple[Bump, ...] = ()
    units: tuple[UnitWrite, ...] = ()
    participants: tuple[ParticipantWrite, ...] = ()
    outbox_events: tuple[OutboxEvent, ...] = ()
    digest_updates: tuple[DigestUpdate, ...] = ()
    drops: tuple[ParticipantDrop, ...] = ()
    removals: tuple[UnitRemoval, ...] = ()

    @property
    def writes(self) -> bool:
        return any(
            (
                self.companies,
                self.bumps,
                self.units,
                self.participants,
                self.digest_updates,
                self.drops,
                self.removals,
            )
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What is stored of everything that a list of records touches."""

    companies: Mapping[CompanyKey, CompanyState] = field(default_factory=dict)
    units: Mapping[UnitKey, UnitState] = field(default_factory=dict)
    participants: Mapping[str, ParticipantState] = field(default_factory=dict)
    tombstones: Collection[CompanyKey | UnitKey] = frozenset()

    def company_of(self, holder: CompanyKey | UnitKey | None) -> CompanyKey | None:
        """The company behind a holder, which may be one of its units."""
        if holder is None:
            return None
        unit = self.units.get(UnitKey(holder))
        if unit is not None:
            return unit.company
        return CompanyKey(holder) if CompanyKey(holder) in self.companies else None

    def bumps(self, touched: Collection[CompanyKey]) -> tuple[Bump, ...]:
        """A raised revision for each of the companies that a client can see."""
        return tuple(
            Bump(key, self.companies[key].revision)
            for key in touched
            if key in self.companies and self.companies[key].is_known
        )


@dataclass(frozen=True, slots=True)
class ApplyContext:
    """What holds for a whole list of records."""

    #: What a record without a version of its own counts as.
    file_version: SourceVersion
    at: datetime
    #: Whether the changes are told; not while a kind is loaded for the first time.
    publish_events: bool = False


def renewal(
    part: Part, key: str, revision: int, *, stored: bytes | None, read: bytes | None
) -> DigestUpdate | None:
    """What an unchanged record changes: nothing, or the digest to know its document by."""
    return None if read is None or read == stored else DigestUpdate(part, key, revision, read)


def judge(
    *, same: bool, stored: SourceVersion | None, read: SourceVersion, outdated: bool = False
) -> Verdict:
    """What becomes of a record whose like is stored already.

    What an earlier release stored (`outdated`) is read anew from a document of the same version.
    """
    if same:
        return Verdict.UNCHANGED
    if stored is not None and (read < stored or (read == stored and not outdated)):
        return Verdict.STALE
    return Verdict.CHANGED
