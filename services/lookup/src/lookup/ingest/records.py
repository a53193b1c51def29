"""What an importer or a feed reads out of a register, before it is compared with what is stored.

The public part of a record is the JSON that is compared, stored and sent: bytes, which cost nothing
to hand from one process to another. The few who look inside read it back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import orjson

from common.contracts.company import (
    Company,
    CompanyKey,
    Country,
    EinvoicingEntry,
    Owner,
    ProductionUnit,
    Role,
    RoleCode,
    UnitKey,
    company_key,
    unit_key,
)
from lookup.store.canonical_json import dump, dump_all
from lookup.store.ranking import sort_text


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document of a file that nobody has understood yet."""

    #: From 1.
    number: int
    #: `byte 1234` or `line 7`.
    place: str
    #: JSON.
    text: bytes
    #: What it is stored under if it is stored (`identity`), as far as a glance tells.
    key: str | None = None
    #: See `digests`.
    digest: bytes | None = None


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
    core: bytes
    #: Its place among companies that match equally well (`ranking.sort_text`).
    rank: str
    #: Every public phone number of the company, digits only, without the country's prefix.
    phones: tuple[str, ...]
    #: The units that the record itself lists as its own; Norwegian records list none.
    units: tuple[UnitKey, ...]
    #: A JSON list; None where owners come from another file (Norway's roles), or are left out.
    owner_list: bytes | None
    #: None where the register gives none; then the file's time counts.
    version: SourceVersion | None
    #: Of the document it was read from (`digests`); None where nobody is to know that again.
    digest: bytes | None = field(default=None, compare=False)
    #: The register's own time of the change; None where that is the version's.
    updated_at: datetime | None = None
    #: A JSON list; None where `owner_list` is.
    role_list: bytes | None = None

    @classmethod
    def of(  # noqa: PLR0913 (what a record holds)
        cls,
        company: Company,
        *,
        phones: tuple[str, ...],
        units: tuple[UnitKey, ...],
        owners: Sequence[Owner] | None,
        version: SourceVersion | None,
        roles: Sequence[Role] | None = None,
    ) -> Self:
        return cls(
            company_key(company.country, company.vat),
            dump(company),
            sort_text(company),
            phones,
            units,
            None if owners is None else dump_all(owners),
            version,
            role_list=None if roles is None else dump_all(roles),
        )

    @property
    def company(self) -> Company:
        return Company.model_validate_json(self.core)

    @property
    def owners(self) -> tuple[Owner, ...] | None:
        return None if self.owner_list is None else _read_owners(self.owner_list)


@dataclass(frozen=True, slots=True)
class OwnersRecord:
    """Owners and roles that come in a file of their own."""

    key: CompanyKey
    #: A JSON list; JSON's null where the register keeps no owners of the company.
    owner_list: bytes
    #: A JSON list.
    role_list: bytes
    version: SourceVersion | None
    digest: bytes | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        key: CompanyKey,
        owners: Sequence[Owner] | None,
        roles: Sequence[Role] = (),
        *,
        version: SourceVersion | None,
    ) -> Self:
        owner_list = b"null" if owners is None else dump_all(owners)
        return cls(key, owner_list, dump_all(roles), version)

    @property
    def owners(self) -> tuple[Owner, ...] | None:
        return _read_owners(self.owner_list)

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(Role.model_validate(role) for role in orjson.loads(self.role_list))


@dataclass(frozen=True, slots=True)
class UnitRecord:
    key: UnitKey
    #: The company it belongs to now; None where the register names none.
    company: CompanyKey | None
    core: bytes
    phones: tuple[str, ...]
    version: SourceVersion | None
    digest: bytes | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        unit: ProductionUnit,
        country: Country,
        *,
        company: str | None,
        phones: tuple[str, ...],
        version: SourceVersion | None,
    ) -> Self:
        """`company` is its registration number."""
        parent = None if company is None else company_key(country, company)
        return cls(unit_key(country, unit.number), parent, dump(unit), phones, version)

    @property
    def unit(self) -> ProductionUnit:
        return ProductionUnit.model_validate_json(self.core)


@dataclass(frozen=True, slots=True)
class ParticipantRecord:
    """An e-invoicing identifier and whose it is."""

    #: `<scheme>:<value>`, normalised (`0184:25052943`, `0088:5790000000005`).
    identifier: str
    #: The company or unit it is registered for; None where its card does not tell.
    holder: CompanyKey | UnitKey | None
    core: bytes
    version: SourceVersion | None
    digest: bytes | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        entry: EinvoicingEntry,
        holder: CompanyKey | UnitKey | None,
        *,
        version: SourceVersion | None,
    ) -> Self:
        return cls(entry.identifier, holder, dump(entry), version)

    @property
    def entry(self) -> EinvoicingEntry:
        return EinvoicingEntry.model_validate_json(self.core)


@dataclass(frozen=True, slots=True)
class RegisteredInError:
    """The register calls its own record of a company or a unit a mistake."""

    key: CompanyKey | UnitKey
    version: SourceVersion | None


@dataclass(frozen=True, slots=True)
class OutOfScope:
    """A sound record that is none of ours, such as a participant of another country."""

    reason: str


Record = (
    CompanyRecord | OwnersRecord | UnitRecord | ParticipantRecord | RegisteredInError | OutOfScope
)


def _read_owners(owner_list: bytes) -> tuple[Owner, ...] | None:
    owners = orjson.loads(owner_list)
    return None if owners is None else tuple(Owner.model_validate(owner) for owner in owners)


def in_order(roles: Iterable[Role]) -> tuple[Role, ...]:
    """Each once, by code and name: no reshuffling in the register is a change."""
    codes = list(RoleCode)
    return tuple(
        sorted(
            dict.fromkeys(roles),
            key=lambda one: (codes.index(one.role), one.name, one.vat or "", one.since or ""),
        )
    )


class RecordRejected(Exception):
    """A record that cannot be used; the message tells what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A refused record: its number in the file from 1, where it stands, and why."""

    number: int
    #: `byte 1234` or `line 7`.
    place: str
    reason: str


class FileBroken(Exception):
    """A file that ends or becomes unreadable before its end; the message says where."""
