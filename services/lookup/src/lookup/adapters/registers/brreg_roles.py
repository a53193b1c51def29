"""Owners out of the roles (`roller`) of the Norwegian register.

Only some roles make an owner: shareholders are not in this register. A person's birth date is in
the documents; it is not declared here and so never read.
"""

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from common.contracts.company import Country, Owner, company_key
from lookup.adapters.registers.brreg_documents import Coded, OrganisationNumber
from lookup.adapters.registers.documents import Document, Flag, Many, Text, read_document
from lookup.adapters.registers.files import Raw
from lookup.domain.records import OwnersRecord, RecordRefused

#: Sole proprietor, partners with shared and with joint liability, general partner, co-owners, and
#: the municipalities that own a company.
OWNER_ROLES: Final = frozenset({"INNH", "DTPR", "DTSO", "KOMP", "SAM", "EIKM"})

_ENTITY_IN_LINK = re.compile(r"/enheter/(\d{9})(?:/|$)")


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class PersonName(Document):
    fornavn: Text = None
    mellomnavn: Text = None
    etternavn: Text = None


class Person(Document):
    navn: PersonName | None = None
    er_doed: Flag = None


class RoleHolder(Document):
    """An entity that has a role in another."""

    organisasjonsnummer: OrganisationNumber | None = None
    navn: Annotated[tuple[Text, ...], BeforeValidator(_as_list)] | None = None
    er_slettet: Flag = None


class Role(Document):
    type: Coded | None = None
    person: Person | None = None
    enhet: RoleHolder | None = None
    fratraadt: Flag = None
    avregistrert: Flag = None


class RoleGroup(Document):
    type: Coded | None = None
    roller: Many[Role] = ()


class Link(Document):
    href: str = ""


class Links(Document):
    self: Link = Link()


class Roles(Document):
    organisasjonsnummer: OrganisationNumber | None = None
    rollegrupper: tuple[RoleGroup, ...]
    links: Annotated[Links, Field(validation_alias="_links")] = Links()


def owners_record(raw: Raw) -> OwnersRecord:
    """Raises RecordRefused, also where nothing tells whose roles these are."""
    roles = read_document(Roles, raw)
    owners = (
        _owner(role, group)
        for group in roles.rollegrupper
        for role in group.roller
        if _is_owner(role, group)
    )
    return OwnersRecord.of(
        company_key(Country.NO, _whose(roles)),
        tuple(dict.fromkeys(owner for owner in owners if owner is not None)),
        version=None,
    )


def _whose(roles: Roles) -> str:
    """A single answer of the interface has the number in its own address only."""
    linked = _ENTITY_IN_LINK.search(roles.links.self.href)
    number = roles.organisasjonsnummer or (linked and linked[1])
    if not number:
        raise RecordRefused("organisasjonsnummer: it is missing")
    return number


def _is_owner(role: Role, group: RoleGroup) -> bool:
    kind = role.type or group.type
    return (
        kind is not None and kind.kode in OWNER_ROLES and not (role.fratraadt or role.avregistrert)
    )


def _owner(role: Role, group: RoleGroup) -> Owner | None:
    """None for the dead, for entities struck off, and where the register names nobody."""
    kind = role.type or group.type
    word = None if kind is None else kind.beskrivelse
    if role.person is not None and role.person.navn is not None and not role.person.er_doed:
        given = role.person.navn
        name = _joined(given.fornavn, given.mellomnavn, given.etternavn)
        return Owner(name=name, type="person", role=word) if name else None
    if role.enhet is not None and not role.enhet.er_slettet:
        name = _joined(*role.enhet.navn or ())
        number = role.enhet.organisasjonsnummer
        return Owner(name=name, type="company", vat=number, role=word) if name else None
    return None


def _joined(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)
