"""Records of companies, owners, units and participants, and what they say of later days."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Final, NamedTuple, Self, TypeVar

from common.contracts.company import (
    Company,
    CompanyKey,
    Country,
    HolderType,
    Owner,
    Restructuring,
    RestructuringType,
    Role,
    RoleCode,
    UnitKey,
)
from register_store.documents import dump, dump_all, dump_value, sort_text

#: A document as the register's JSON has it, or a row of its CSV by column.
Raw = Mapping[str, Any]


#: A longer record of a file is not buffered, in bytes.
MAX_RECORD_SIZE: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A record's content, or None and its error."""

    #: `byte 1234` or `line 7`, of the decompressed content.
    place: str
    content: dict[str, Any] | None
    fault: str = ""
    #: The JSON that the content was parsed from; None if it was not JSON.
    text: bytes | None = None
    #: True for a row that was read in spite of its quotation marks.
    is_repaired: bool = False


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document of a file before parsing."""

    #: From 1.
    number: int
    #: `byte 1234` or `line 7`.
    place: str
    #: JSON.
    text: bytes
    #: The key of its record, if it can be read without parsing the document.
    key: str | None = None
    #: See `digests`.
    digest: bytes | None = None
    #: As that of a `FileRecord`.
    is_repaired: bool = False


@dataclass(frozen=True, slots=True, order=True)
class SourceVersion:
    """The version of a record: its register's, or else its file's time."""

    #: UTC.
    at: datetime
    #: Norway's `oppdateringsid`; 0 where there is none.
    sequence: int = 0


def to_milliseconds(moment: datetime) -> datetime:
    """Returns a time with MongoDB's precision, so that comparisons with stored times hold."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


class Reorganisation(NamedTuple):
    """A merger or demerger in which a company took part."""

    #: The register's number of it, which all parties share; None if it gives none.
    number: str | None
    type: RestructuringType
    date: str | None
    #: True if the company went into it, or transferred a part; False if it received.
    went_in: bool


class Party(NamedTuple):
    """A company with its part in a reorganisation."""

    key: CompanyKey
    name: str
    part: Reorganisation


def restructurings(
    parts: Iterable[Reorganisation], parties: Iterable[Party] = ()
) -> tuple[tuple[Restructuring, ...], tuple[Restructuring, ...]]:
    """Returns the companies that continue one, and those that it continues, as far as known.

    A reorganisation of which nobody on the other side is known is given without a name.
    """
    into: list[Restructuring] = []
    out_of: list[Restructuring] = []
    for one in parts:
        others: list[tuple[str | None, str | None]] = sorted(
            (party.key.number, party.name)
            for party in parties
            if (party.part.number, party.part.type) == (one.number, one.type)
            and party.part.went_in != one.went_in
        )
        (into if one.went_in else out_of).extend(
            Restructuring(type=one.type, name=name, vat=number, date=one.date)
            for number, name in others or [(None, None)]
        )
    return tuple(into), tuple(out_of)


class Holder(NamedTuple):
    """A person or company that owns something or has a role."""

    name: str
    type: HolderType
    #: The registration number of a company of the same register.
    vat: str | None = None


@dataclass(frozen=True, slots=True)
class CompanyRecord:
    """A company as its register describes it."""

    key: CompanyKey
    core: bytes
    #: Sort text of its rank among companies that match equally well (`ranking.sort_text`).
    rank: str
    #: Every public phone number of the company: digits without the calling code.
    phones: tuple[str, ...]
    #: The units listed in the record itself; Norwegian records list none.
    units: tuple[UnitKey, ...]
    #: A JSON list; None if owners come from another file (Norway's roles), or are left unchanged.
    #: A deleted company's is empty, since its roles are no longer in any file.
    owner_list: bytes | None
    #: None if the register has no versions; the file's time counts then.
    version: SourceVersion | None
    #: The document's digest (`digests`); None if it is not to be recognised again.
    digest: bytes | None = field(default=None, compare=False)
    #: The register's own time of the change; None if the version has it.
    updated_at: datetime | None = None
    #: A JSON list; None where `owner_list` is.
    role_list: bytes | None = None
    #: The first later day on which the same document would read differently, if there is one.
    next_day: date | None = None
    #: The records as which the document reads from each later day on (`records.upcoming`).
    upcoming: "tuple[tuple[date, CompanyRecord], ...]" = ()
    #: Fields of `Company` that the source cannot tell: their stored values stay.
    unknown: frozenset[str] = frozenset()
    #: A JSON list of days, fields and the values they had from then on, the days of each field in
    #: order; None if the source cannot tell, and what is stored stays.
    past: bytes | None = None
    #: The paths of values of the document that were left out, and of words that nobody knows.
    odd: tuple[str, ...] = field(default=(), compare=False)
    #: Fields that the release before read otherwise in the same document, with their values then
    #: (ADR 0114); those of `owners` and `roles` are JSON lists.
    earlier: Mapping[str, Any] | None = field(default=None, compare=False)
    #: The mergers and demergers in which the company took part; None if the source cannot tell.
    reorganisations: tuple[Reorganisation, ...] | None = None

    @classmethod
    def of(  # noqa: PLR0913 (the parts of a record)
        cls,
        company: Company,
        *,
        phones: tuple[str, ...] = (),
        units: tuple[UnitKey, ...] = (),
        owners: Sequence[Owner] | None = None,
        version: SourceVersion | None = None,
        updated_at: datetime | None = None,
        roles: Sequence[Role] | None = None,
        past: Sequence[tuple[str, str, Any]] | None = None,
        reorganisations: tuple[Reorganisation, ...] | None = None,
        next_day: date | None = None,
        unknown: frozenset[str] = frozenset(),
        odd: Iterable[str] = (),
        earlier: Mapping[str, Any] | None = None,
    ) -> Self:
        """Returns the record of a public company, its JSON and its rank written."""
        return cls(
            CompanyKey(company.country, company.vat),
            dump(company),
            sort_text(company),
            phones,
            units,
            None if owners is None else dump_all(owners),
            version,
            updated_at=updated_at,
            role_list=None if roles is None else dump_all(roles),
            past=None if past is None else dump_value(past),
            next_day=next_day,
            unknown=unknown,
            odd=tuple(dict.fromkeys(odd)),
            earlier=earlier,
            reorganisations=reorganisations,
        )


#: The JSON of the owners of a company of which the register keeps none, and of no roles.
NO_OWNERS: Final = b"null"
NO_ROLES: Final = b"[]"


@dataclass(frozen=True, slots=True)
class OwnersRecord:
    """Owners and roles that come in a file of their own."""

    key: CompanyKey
    #: A JSON list; JSON null if the register keeps no owners of the company.
    owner_list: bytes
    #: A JSON list.
    role_list: bytes
    version: SourceVersion | None = None
    digest: bytes | None = field(default=None, compare=False)
    odd: tuple[str, ...] = field(default=(), compare=False)
    #: As that of a `CompanyRecord`.
    earlier: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """A production unit as its register describes it."""

    key: UnitKey
    #: Its current company; None if the register names none.
    company: CompanyKey | None
    core: bytes
    phones: tuple[str, ...] = ()
    version: SourceVersion | None = None
    digest: bytes | None = field(default=None, compare=False)
    #: As those of a `CompanyRecord`; `unknown` has fields of `ProductionUnit`, and `company`.
    next_day: date | None = None
    upcoming: "tuple[tuple[date, UnitRecord], ...]" = ()
    unknown: frozenset[str] = frozenset()
    odd: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ParticipantRecord:
    """An e-invoicing identifier and its holder."""

    #: The identifier, `<scheme>:<value>`, normalised (`0184:25052943`, `0088:5790000000005`).
    key: str
    #: The company or unit it is registered for; None if its card does not state it.
    holder: CompanyKey | UnitKey | None
    core: bytes
    version: SourceVersion | None = None
    digest: bytes | None = field(default=None, compare=False)
    odd: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group of companies, and who owns whom in it; or a company that is in none."""

    #: The company at the top, or the one that is in no group.
    key: CompanyKey
    #: All of its companies, the key among them.
    members: tuple[CompanyKey, ...]
    #: The owners of each owned company within the group, as a JSON list.
    links: Mapping[CompanyKey, bytes]
    version: SourceVersion | None = None
    digest: bytes | None = field(default=None, compare=False)
    odd: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class RegisteredInError:
    """A company or unit whose record its register has withdrawn as an error."""

    key: CompanyKey | UnitKey
    version: SourceVersion | None


@dataclass(frozen=True, slots=True)
class OutOfScope:
    """A valid record outside of this register, such as a participant of another country."""

    reason: str


#: The records that are stored.
Stored = CompanyRecord | OwnersRecord | UnitRecord | ParticipantRecord | GroupRecord
Record = Stored | RegisteredInError | OutOfScope

#: Returns the record as which a document reads on a day: what begins later is not in it, and what
#: has ended by then is over. A function of a module, because it is called in other processes.
#: Raises RecordRejected, naming the invalid field.
Parser = Callable[[Raw, date], Record]


_ROLE_CODES: Final = tuple(RoleCode)


Entry = TypeVar("Entry", bound=Hashable)


def each_holder(entries: Iterable[tuple[Hashable, Entry]]) -> tuple[Entry, ...]:
    """Returns the entry of each holder once: two people with one name are two equal entries.

    With an entry comes what tells its holder apart within the document: the register's own number
    of the participant (`enhedsNummer`), or else the birth date, or else the place in the document.
    It is compared here and goes no further: no record, index or event has it, not even hashed.
    Lists of owners and roles are therefore compared as multisets everywhere.
    """
    return tuple(entry for _, entry in dict.fromkeys(entries))


def in_order(roles: Iterable[Role]) -> tuple[Role, ...]:
    """Returns the roles by code and name: reordering in the register is no change."""
    return tuple(
        sorted(
            roles,
            key=lambda one: (
                _ROLE_CODES.index(one.role),
                one.name,
                one.vat or "",
                one.since or "",
                one.elected_by_text or "",
            ),
        )
    )


def without_holders(record: CompanyRecord) -> CompanyRecord:
    """Returns the record of a company whose register gives no owners and roles any more."""
    owners = NO_OWNERS if record.key.country is Country.NO else NO_ROLES
    return replace(record, owner_list=owners, role_list=NO_ROLES)


class RecordRejected(Exception):
    """A record that cannot be used; the message names the error."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A refused record: its number in the file from 1, its position, and the reason."""

    number: int
    #: `byte 1234` or `line 7`.
    place: str
    reason: str


class FileBroken(Exception):
    """A truncated or unreadable file; the message has the position."""


Changing = TypeVar("Changing", CompanyRecord, UnitRecord)

#: Later days of one document of which the record is kept, and their bytes. The days after those are
#: known when the document is read again.
MAX_UPCOMING: Final = 10
_MAX_BYTES: Final = 8 << 20


def with_upcoming(record: Changing, parser: Parser, raw: Raw) -> Changing:
    """Returns the record of a document with those of its later days."""
    if record.next_day is None:
        return record
    return replace(record, upcoming=tuple(_later(record, parser, raw)))


def _later(record: Changing, parser: Parser, raw: Raw) -> Iterator[tuple[date, Changing]]:
    before, size = record, 0
    for _ in range(MAX_UPCOMING):
        day = before.next_day
        later = None if day is None else parser(raw, day)
        if day is None or type(later) is not type(record):
            return
        size += len(b"".join(_bytes(later)))
        if size > _MAX_BYTES:
            return
        yield day, later
        before = later


def as_of(record: Changing, today: date) -> Changing:
    """Returns the record as it reads on a day that is not before the one it was read as of.

    If later days are unknown then, it has no digest: its document is to be read again.
    """
    begun = sum(day <= today for day, _ in record.upcoming)
    if not begun:
        return record
    present, rest = record.upcoming[begun - 1][1], record.upcoming[begun:]
    digest = record.digest if rest or present.next_day is None else None
    present = replace(present, version=record.version, digest=digest, upcoming=rest)
    if isinstance(present, CompanyRecord):
        return replace(present, updated_at=record.updated_at)
    return present


def upcoming_digest(upcoming: Sequence[tuple[date, CompanyRecord | UnitRecord]]) -> bytes | None:
    """Returns a hash of all that is to come; None for nothing."""
    if not upcoming:
        return None
    told = hashlib.sha256()
    for day, record in upcoming:
        told.update(b"\0".join((str(day).encode(), *_bytes(record))))
    return told.digest()[:16]


def _bytes(record: CompanyRecord | UnitRecord) -> tuple[bytes, ...]:
    """Returns the compared parts of a record."""
    phones = ",".join(record.phones).encode()
    if isinstance(record, UnitRecord):
        return record.core, phones, (record.company or "").encode()
    units = ",".join(record.units).encode()
    return record.core, phones, units, record.owner_list or b"", record.role_list or b""
