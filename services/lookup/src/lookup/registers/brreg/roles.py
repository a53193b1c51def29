"""Owners and roles from the roles (`roller`) of the Norwegian register.

Only some roles make an owner: this register has no shareholders. Documents contain birth dates of
persons; they are not declared here and so never read.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from common.contracts.company import (
    CompanyKey,
    Country,
    Owner,
    OwnerRole,
    Role,
    RoleCode,
)
from common.domain.countries import FORMATS
from lookup.records.fields import Document, Flag, Many, Text, read_document
from lookup.records.records import Holder, OwnersRecord, Raw, RecordRejected, in_order
from lookup.registers.brreg.documents import Coded, OrganisationNumber

#: Roles that make an owner. DTPR and DTSO are partners with shared and with joint liability, EIKM
#: the municipalities that own a company.
_OWNERS: Final = {
    "INNH": OwnerRole.SOLE_PROPRIETOR,
    "DTPR": OwnerRole.PARTNER,
    "DTSO": OwnerRole.PARTNER,
    "KOMP": OwnerRole.GENERAL_PARTNER,
    "SAM": OwnerRole.CO_OWNER,
    "EIKM": OwnerRole.OWNER,
}

_BOARD: Final = "STYR"
_BOARD_ROLES: Final = {
    "LEDE": RoleCode.BOARD_CHAIR,
    "NEST": RoleCode.BOARD_DEPUTY_CHAIR,
    "MEDL": RoleCode.BOARD_MEMBER,
    "VARA": RoleCode.BOARD_DEPUTY_MEMBER,
    "OBS": RoleCode.BOARD_OBSERVER,
}
_ROLES: Final = {
    "DAGL": RoleCode.DIRECTOR,
    **_BOARD_ROLES,
    "REVI": RoleCode.AUDITOR,
    "REGN": RoleCode.ACCOUNTANT,
}

_ENTITY_IN_LINK = re.compile(rf"/enheter/(\d{{{FORMATS[Country.NO].vat_digits}}})(?:/|$)")


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class PersonName(Document):
    """The name of a person, in its parts."""

    fornavn: Text = None
    mellomnavn: Text = None
    etternavn: Text = None


class Person(Document):
    """A person who has a role."""

    navn: PersonName | None = None
    er_doed: Flag = None


class RoleHolder(Document):
    """An entity that has a role in another."""

    organisasjonsnummer: OrganisationNumber | None = None
    navn: Annotated[tuple[Text, ...], BeforeValidator(_as_list)] | None = None
    er_slettet: Flag = None


class GivenRole(Document):
    """A role of a person or an entity, possibly one that has ended."""

    type: Coded | None = None
    person: Person | None = None
    enhet: RoleHolder | None = None
    fratraadt: Flag = None
    avregistrert: Flag = None


class RoleGroup(Document):
    """Roles of one type, such as those of the board."""

    type: Coded | None = None
    roller: Many[GivenRole] = ()


class Link(Document):
    """A link of a response to a resource."""

    href: str = ""


class Links(Document):
    """The links of a response, of which only its own is read."""

    self: Link = Link()


class Roles(Document):
    """The roles of an entity, as the register's interface and files write them."""

    organisasjonsnummer: OrganisationNumber | None = None
    rollegrupper: tuple[RoleGroup, ...]
    links: Annotated[Links, Field(validation_alias="_links")] = Links()


def owners_record(raw: Raw, _today: date) -> OwnersRecord:
    """Returns the owners' record; None if no role makes one, as with shareholders.

    Raises RecordRejected, also if the document does not name its entity.
    """
    document = read_document(Roles, raw)
    held = tuple(_held(document))
    owners = dict.fromkeys(
        Owner(role=_OWNERS[code], role_text=word, **holder._asdict())
        for code, word, holder in held
        if code in _OWNERS
    )
    roles = (
        Role(role=_ROLES[code], role_text=word, **holder._asdict())
        for code, word, holder in held
        if code in _ROLES
    )
    return OwnersRecord.of(
        CompanyKey(Country.NO, _whose(document)),
        tuple(owners) or None,
        in_order(roles),
        version=None,
        odd=document.odd,
    )


def _whose(roles: Roles) -> str:
    """Returns the number of the document's entity; single responses have it in their URL only."""
    linked = _ENTITY_IN_LINK.search(roles.links.self.href)
    number = roles.organisasjonsnummer or (linked and linked[1])
    if not number:
        raise RecordRejected("organisasjonsnummer: missing")
    return number


def _held(document: Roles) -> Iterator[tuple[str, str | None, Holder]]:
    """Yields code, word and holder of each current role; a board's from the board itself."""
    for group in document.rollegrupper:
        for role in group.roller:
            type_ = role.type or group.type
            holder = None if role.fratraadt or role.avregistrert else _holder(role)
            if holder is None or type_ is None or type_.kode is None:
                continue
            if type_.kode in _BOARD_ROLES and group.type and group.type.kode != _BOARD:
                continue
            yield type_.kode, type_.beskrivelse, holder


def _holder(role: GivenRole) -> Holder | None:
    """Returns the holder; None if dead, struck off, or not named by the register."""
    if role.person is not None and role.person.navn is not None and not role.person.er_doed:
        given = role.person.navn
        name = _joined(given.fornavn, given.mellomnavn, given.etternavn)
        return Holder(name, "person") if name else None
    if role.enhet is not None and not role.enhet.er_slettet:
        name = _joined(*role.enhet.navn or ())
        return Holder(name, "company", role.enhet.organisasjonsnummer) if name else None
    return None


def _joined(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)
