"""Owners and roles from the roles (`roller`) of the Norwegian register.

Only some roles make an owner: this register has no shareholders. Documents contain birth dates of
persons, which tell two people with one name apart and go no further, and addresses, which are not
declared here and so never read.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from common.contracts.company import (
    CompanyKey,
    Country,
    ElectedBy,
    Owner,
    OwnerRole,
    Role,
    RoleCode,
    Share,
)
from common.domain.countries import FORMATS
from ingest.records.fields import (
    Day,
    Document,
    Flag,
    Many,
    Text,
    decimal_of,
    each_once,
    read_document,
)
from ingest.records.records import (
    NO_OWNERS,
    Holder,
    OwnersRecord,
    Raw,
    RecordRejected,
    each_holder,
    in_order,
)
from ingest.registers.brreg.documents import Coded, OrganisationNumber, Texts
from register_store.documents import dump_all

#: Roles that make an owner. DTPR and DTSO are partners with shared and with joint liability, EIKM
#: the municipalities that own a company.
OWNER_CODES: Final = {
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
#: The roles that are known to have no code: the contact person, the manager of a housing
#: association, the representative of a foreign enterprise, the managing owner of a ship, and links
#: to another entity: the home of a branch, the debtor of an estate, the owner of a health
#: enterprise, the church or the office that an entity belongs to.
OTHER_CODES: Final = (
    *("KONT", "FFØR", "REPR", "BEST", "HFOR", "KDEB", "KENK", "HLSE", "ORGL", "ADOS", "OPMV"),
    *("KIRK", "KTRF"),
)
#: Each role's code.
ROLE_CODES: Final = {
    "DAGL": RoleCode.DIRECTOR,
    **_BOARD_ROLES,
    "REVI": RoleCode.AUDITOR,
    "REGN": RoleCode.ACCOUNTANT,
    **dict.fromkeys(("SIGN", "SIFE", "SIHV"), RoleCode.SIGNATORY),
    **dict.fromkeys(("PROK", "POFE", "POHV"), RoleCode.PROCURATION_HOLDER),
    "BOBE": RoleCode.ESTATE_ADMINISTRATOR,
    **dict.fromkeys(OTHER_CODES, RoleCode.OTHER),
}
#: The electors of a holder, by the register's code (`representanter`); others are only words.
ELECTED_BY: Final = {"AREP": ElectedBy.EMPLOYEES}
#: The path of a role, and of its code.
_ROLE: Final = "rollegrupper.roller"
_CODE: Final = f"{_ROLE}.type.kode"

_ENTITY_IN_LINK = re.compile(rf"/enheter/(\d{{{FORMATS[Country.NO].vat_digits}}})(?:/|$)")


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
    fodselsdato: str | None = None
    er_doed: Flag = None


class Trustee(Document):
    """The person who administers a bankruptcy, with a name as it is written: `Adv. Kari Prøve`."""

    navn: Text = None
    er_doed: Flag = None


class RoleHolder(Document):
    """An entity that has a role in another."""

    organisasjonsnummer: OrganisationNumber | None = None
    navn: Texts = ()
    er_slettet: Flag = None
    godkjenningsstatus: Text = None


class GivenRole(Document):
    """A role of a person or an entity, possibly one that has ended."""

    type: Coded | None = None
    person: Person | None = None
    enhet: RoleHolder | None = None
    bostyrer: Trustee | None = None
    ansvarsandel: Annotated[str | None, BeforeValidator(_percentage)] = None
    #: Whom the holder represents; the others are elected as usual.
    valgt_av: Coded | None = None
    fratraadt: Flag = None
    avregistrert: Flag = None


class RoleGroup(Document):
    """Roles of one type, such as those of the board."""

    type: Coded | None = None
    sist_endret: Day = None
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
    owners, roles = _lists(held)
    if any(one.code not in ROLE_CODES and one.code not in OWNER_CODES for one in held):
        document.odd.append(_CODE)
    return OwnersRecord(
        CompanyKey(Country.NO, _whose(document)),
        owners,
        roles,
        odd=each_once(document.odd),
        earlier=_earlier(held),
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
    word: str
    holder: Holder
    share: Share | None
    #: See `each_holder`.
    identity: Hashable
    is_trustee: bool
    #: The code and the words of those whom the holder represents.
    elected_by: tuple[str | None, str | None] | None
    approval: str | None
    group_changed: str | None


def _current(document: Roles) -> Iterator[tuple[RoleGroup, GivenRole]]:
    """Yields the roles that are not over, and whose holder is neither dead nor struck off."""
    for group in document.rollegrupper:
        for role in group.roller:
            is_over = role.fratraadt or role.avregistrert
            dead = (role.person and role.person.er_doed) or (
                role.bostyrer and role.bostyrer.er_doed
            )
            if not is_over and not dead and not (role.enhet and role.enhet.er_slettet):
                yield group, role


def _held(document: Roles) -> Iterator[_Held]:
    """Yields the current roles; those of members of another body than the board are others.

    One without a code, or with a holder in a form that nobody knows, is odd.
    """
    for place, (group, role) in enumerate(_current(document)):
        type_, holder = role.type or group.type, _holder(role)
        if holder is None or type_ is None or type_.kode is None:
            document.odd.append(_ROLE if holder is None else _CODE)
            continue
        code, word = ROLE_CODES.get(type_.kode, RoleCode.OTHER), type_.beskrivelse
        if type_.kode in _BOARD_ROLES and group.type and group.type.kode != _BOARD:
            code, word = RoleCode.OTHER, ": ".join(filter(None, (group.type.beskrivelse, word)))
        percentage = role.ansvarsandel
        share = None if percentage is None else Share(min=percentage, max=percentage)
        identity = holder.vat or (role.person and role.person.fodselsdato) or place
        by, firm = role.valgt_av, role.enhet
        yield _Held(
            type_.kode,
            code,
            word or type_.kode,
            holder,
            share,
            identity,
            is_trustee=role.bostyrer is not None,
            elected_by=None if by is None else (by.kode, by.beskrivelse or by.kode),
            approval=None if firm is None else firm.godkjenningsstatus,
            group_changed=group.sist_endret,
        )


def _lists(held: Sequence[_Held]) -> tuple[bytes, bytes]:
    """Returns the owners and the roles as JSON lists; null without owners."""
    owners: list[Owner] = []
    roles: list[Role] = []
    # Before they become models, of which a hash takes longer.
    for one in each_holder((each.identity, each) for each in held):
        name, type_, vat = one.holder
        if one.code in OWNER_CODES:
            role = OWNER_CODES[one.code]
            owners.append(
                Owner(
                    name=name, type=type_, vat=vat, role=role, role_text=one.word, share=one.share
                )
            )
        else:
            roles.append(_role(one))
    return dump_all(owners) if owners else NO_OWNERS, dump_all(in_order(roles))


def _role(one: _Held) -> Role:
    name, type_, vat = one.holder
    code, words = one.elected_by or (None, None)
    return Role(
        name=name,
        type=type_,
        vat=vat,
        role=one.role,
        role_text=one.word,
        elected_by=None if words is None else ELECTED_BY.get(code or "", ElectedBy.OTHER),
        elected_by_text=words,
        approval=one.approval,
        group_changed=one.group_changed,
    )


def _earlier(held: Sequence[_Held]) -> Mapping[str, bytes] | None:
    """Returns the lists as release 1.0 read them: without trustees, each name once in a role."""
    if len({(one.code, one.word, one.holder) for one in held}) == len(held) and not any(
        one.is_trustee for one in held
    ):
        return None
    before = [
        one._replace(identity=None, elected_by=None, approval=None, group_changed=None)
        for one in held
        if not one.is_trustee
    ]
    owners, roles = _lists(before)
    return {"owners": owners, "roles": roles}


def _holder(role: GivenRole) -> Holder | None:
    """Returns the holder; None if the register names none."""
    name = ""
    if role.person is not None and role.person.navn is not None:
        given = role.person.navn
        name = _joined(given.fornavn, given.mellomnavn, given.etternavn)
    elif role.bostyrer is not None:
        name = role.bostyrer.navn or ""
    elif role.enhet is not None:
        name = _joined(*role.enhet.navn)
        return Holder(name, "company", role.enhet.organisasjonsnummer) if name else None
    return Holder(name, "person") if name else None


def _joined(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)
