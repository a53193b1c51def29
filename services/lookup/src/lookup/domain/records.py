"""What an importer or a feed reads out of a register, before it is compared with what is stored."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from common.contracts.company import (
    Company,
    CompanyKey,
    Country,
    EinvoicingEntry,
    Owner,
    ProductionUnit,
    UnitKey,
)


class Kind(StrEnum):
    """The files that can be loaded; each has a load state of its own."""

    NO_ENTITIES = "no-enheter"
    NO_UNITS = "no-underenheter"
    NO_ROLES = "no-roller"
    DK_COMPANIES = "dk-virksomhed"
    DK_UNITS = "dk-produktionsenhed"
    PEPPOL = "peppol"


@dataclass(frozen=True, slots=True, order=True)
class SourceVersion:
    """How new a record is, by its register's own word; where it has none, by its file's time."""

    #: UTC.
    at: datetime
    #: Norway's `oppdateringsid`; 0 where there is none.
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class CompanyRecord:
    key: CompanyKey
    company: Company
    #: Every public phone number of the company, digits only, without the country's prefix.
    phones: tuple[str, ...]
    #: The units that the record itself lists as its own; Norwegian records list none.
    units: tuple[UnitKey, ...]
    #: None where owners come from another file (Norway's roles).
    owners: tuple[Owner, ...] | None
    #: None where the register gives none; then the file's time counts.
    version: SourceVersion | None


@dataclass(frozen=True, slots=True)
class OwnersRecord:
    """Owners that come in a file of their own."""

    key: CompanyKey
    owners: tuple[Owner, ...]
    version: SourceVersion | None


@dataclass(frozen=True, slots=True)
class UnitRecord:
    key: UnitKey
    #: The company it belongs to now; None where the register names none.
    company: CompanyKey | None
    unit: ProductionUnit
    phones: tuple[str, ...]
    version: SourceVersion | None


@dataclass(frozen=True, slots=True)
class ParticipantRecord:
    """An e-invoicing identifier and whose it is."""

    #: `<scheme>:<value>`, normalised (`0184:25052943`, `0088:5790000000005`).
    identifier: str
    #: The company or unit it is registered for; None where its card does not tell.
    holder: CompanyKey | UnitKey | None
    entry: EinvoicingEntry
    version: SourceVersion | None


@dataclass(frozen=True, slots=True)
class RemovalRecord:
    """The register orders the company removed; `ended` companies are not removals."""

    country: Country
    number: str
    on: date


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A sound record that is none of ours, such as a participant of another country."""

    reason: str


Record = CompanyRecord | OwnersRecord | UnitRecord | ParticipantRecord | RemovalRecord | Elsewhere


class RecordRefused(Exception):
    """A record that cannot be used; the message tells what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused record: its number in the file from 1, where it stands, and why."""

    number: int
    #: `byte 1234` or `line 7`.
    place: str
    reason: str


class FileBroken(Exception):
    """A file that ends or becomes unreadable before its end; the message says where."""
