"""Owners and roles from the roles (`roller`) of the Norwegian register.

Only some roles make an owner: this register has no shareholders. Documents contain birth dates of
persons; they are not declared here and so never read.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from common.contracts.company import (
    CompanyKey,
    Country,
    Owner,
    OwnerRole,
    Role,
    RoleCode,
    Share,
)
from common.domain.countries import FORMATS
from ingest.records.fields import Document, Flag, Many, Text, decimal_of, each_once, read_document
from ingest.records.records import Holder, OwnersRecord, Raw, RecordRejected, in_order
from ingest.registers.brreg.documents import Coded, OrganisationNumber
from register_store.documents import dump_all

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
#: The roles that have a code, or are known to have none. The latter are the contact person, the
#: manager of a housing association, the representative of a foreign enterprise, the managing owner
#: of a ship, and links to another entity: the home of a branch, the debtor of an estate, the owner
#: of a health enterprise.
_ROLES: Final = {
    "DAGL": RoleCode.DIRECTOR,
    **_BOARD_ROLES,
    "REVI": RoleCode.AUDITOR,
    "REGN": RoleCode.ACCOUNTANT,
    **dict.fromkeys(("SIGN", "SIFE", "SIHV"), RoleCode.SIGNATORY),
    **dict.fromkeys(("PROK", "POFE", "POHV"), RoleCode.PROCURATION_HOLDER),
    "BOBE": RoleCode.ESTATE_ADMINISTRATOR,
    **dict.fromkeys(
        ("KONT", "FFØR", "REPR", "BEST", "HFOR", "KDEB", "HLSE", "ORGL", "ADOS", "OPMV"),
        RoleCode.OTHER,
    ),
}
#: The path of the code of a role that nobody knows.
_UNKNOWN: Final = "rollegrupper.roller.type.kode"

_ENTITY_IN_LINK = re.compile(rf"/enheter/(\d{{{FORMATS[Country.NO].vat_digits}}})(?:/|$)")


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _percentage(value: object) -> object:
    """Returns the percentage of `50%`, `50,00` or `1/3`."""
    if value is None or value == "":
        return None
    part, _, whole = "".join(str(value).split()).removesuffix("%").partition("/")
    try:
        percentage = decimal_of(part) / decimal_of(whole) * 100 if whole else decimal_of(part)
        rounded = percentage.quantize(Decimal("0.01"))
    except (ArithmeticError, ValueError):
        rounded = Decimal(0)
    if not 0 < rounded <= 100:
        raise PydanticCustomError("percentage", "not a share of a whole")
    return f"{rounded.normalize():f}"


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
    ansvarsandel: Annotated[str | None, BeforeValidator(_percentage)] = None
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
        Owner(role=_OWNERS[one.code], role_text=one.word, share=one.share, **one.holder._asdict())
        for one in held
        if one.code in _OWNERS
    )
    roles = (
        Role(role=one.role, role_text=one.word, **one.holder._asdict())
        for one in held
        if one.code not in _OWNERS
    )
    if any(one.code not in _ROLES and one.code not in _OWNERS for one in held):
        document.odd.append(_UNKNOWN)
    return OwnersRecord(
        CompanyKey(Country.NO, _whose(document)),
        dump_all(owners) if owners else b"null",
        dump_all(in_order(roles)),
        odd=each_once(document.odd),
    )


def _whose(roles: Roles) -> str:
    """Returns the number of the document's entity; single responses have it in their URL only."""
    linked = _ENTITY_IN_LINK.search(roles.links.self.href)
    number = roles.organisasjonsnummer or (linked and linked[1])
    if not number:
        raise RecordRejected("organisasjonsnummer: missing")
    return number


class _Held(NamedTuple):
    """A current role, the register's word for it, and its holder."""

    code: str
    role: RoleCode
    word: str | None
    holder: Holder
    share: Share | None


def _held(document: Roles) -> Iterator[_Held]:
    """Yields the current roles; those of members of another body than the board are others."""
    for group in document.rollegrupper:
        for role in group.roller:
            type_ = role.type or group.type
            holder = None if role.fratraadt or role.avregistrert else _holder(role)
            if holder is None or type_ is None or type_.kode is None:
                continue
            code, word = _ROLES.get(type_.kode, RoleCode.OTHER), type_.beskrivelse
            if type_.kode in _BOARD_ROLES and group.type and group.type.kode != _BOARD:
                code, word = RoleCode.OTHER, ": ".join(filter(None, (group.type.beskrivelse, word)))
            percentage = role.ansvarsandel
            share = None if percentage is None else Share(min=percentage, max=percentage)
            yield _Held(type_.kode, code, word or type_.kode, holder, share)


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
