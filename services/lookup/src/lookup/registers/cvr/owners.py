"""Owners and roles from the participants (`deltagerRelation`) of a Danish company.

Owners are the legal owners in the register of owners, and partners with full liability. Beneficial
owners are omitted, since their register is not public any more. Documents contain home addresses;
they are not declared here and so never read.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from common.contracts.company import Country, HolderType, Owner, OwnerRole, Role, RoleCode, Share
from common.domain.countries import FORMATS
from common.domain.numbers import is_digits
from lookup.records.fields import Document, Lines, Many, Text, Word, decimal_of
from lookup.records.records import Holder, in_order
from lookup.registers.cvr.documents import Dated, Name, current, latest
from lookup.registers.cvr.status import fold_word

#: The register gives a share as the lower bound of its class, in percent.
CLASSES: Final = ("0", "5", "10", "15", "20", "25", "33.33", "50", "66.67", "90", "100")

_WHOLE: Final = 100

_REGISTER_OF_OWNERS = "EJERREGISTER"

#: The name of the relation of a sole proprietor or a partner, folded.
_PARTNERS: Final = frozenset({"FULDT ANSVARLIG DELTAGERE", "INDEHAVER"})

#: The role of a partner, by the beginning of the folded word; otherwise partner.
_PARTNER_ROLES: Final = {
    "INDEHAVER": OwnerRole.SOLE_PROPRIETOR,
    "KOMPLEMENTAR": OwnerRole.GENERAL_PARTNER,
}

#: The function on a board, by a part of the folded word; otherwise member.
_BOARD_ROLES: Final = {
    "NAESTFORMAND": RoleCode.BOARD_DEPUTY_CHAIR,
    "FORMAND": RoleCode.BOARD_CHAIR,
    "SUPPLEANT": RoleCode.BOARD_DEPUTY_MEMBER,
    "OBSERVAT": RoleCode.BOARD_OBSERVER,
}

_TYPES: Final[dict[str, HolderType]] = {
    "PERSON": "person",
    "VIRKSOMHED": "company",
}


class AttributeValue(Dated):
    """A value of an attribute, with its period."""

    vaerdi: Lines = None


class Attribute(Document):
    """An attribute of a company or a membership: its type, and its values over time."""

    type: Text = None
    vaerdier: Many[AttributeValue] = ()


def values_of(attributes: Sequence[Attribute], type_: str) -> list[AttributeValue]:
    """Returns the values of all attributes of one type."""
    return [value for given in attributes if given.type == type_ for value in given.vaerdier]


class Member(Document):
    """A membership of a participant in an organisation of the company."""

    attributter: Many[Attribute] = ()


class Organisation(Document):
    """An organisation of a company: its board, its direction, or its register of owners."""

    hovedtype: Text = None
    organisations_navn: Many[Name] = ()
    medlems_data: Many[Member] = ()


class Participant(Document):
    """A person, a company or another holder that takes part in a company."""

    enhedstype: Text = None
    #: The CVR number, of a company.
    forretningsnoegle: Word = None
    navne: Many[Name] = ()


class Relation(Document):
    """A participant of a company, with its memberships."""

    #: Null if the register hides the participant.
    deltager: Participant | None = None
    organisationer: Many[Organisation] = ()


def owners_of(relations: Sequence[Relation], odd: list[str]) -> tuple[Owner, ...]:
    """Returns the current owners by share, largest first, independent of the document's order.

    Adds the paths of odd values.
    """
    owners = dict.fromkeys(_owner(*one, odd) for one in _memberships(relations))
    return tuple(sorted((owner for owner in owners if owner is not None), key=_order))


def roles_of(relations: Sequence[Relation]) -> tuple[Role, ...]:
    """Returns the current directors, board members and auditors."""
    roles = (_role(*one) for one in _memberships(relations))
    return in_order(role for role in roles if role is not None)


def _memberships(relations: Sequence[Relation]) -> Iterator[tuple[Organisation, Member, Holder]]:
    """Yields each membership of a participant that the register names."""
    for relation in relations:
        holder = None if relation.deltager is None else _holder(relation.deltager)
        if holder is not None:
            for organisation in relation.organisationer:
                for member in organisation.medlems_data:
                    yield organisation, member, holder


def _order(owner: Owner) -> tuple[Decimal, str, str, str]:
    share = Decimal(owner.share.min) if owner.share else Decimal(0)
    return -share, owner.name, owner.vat or "", owner.since or ""


def _role(organisation: Organisation, member: Member, holder: Holder) -> Role | None:
    function = _current(member, "FUNKTION")
    code = None if function is None else _role_code(organisation, function.vaerdi or "")
    if function is None or code is None:
        return None
    return Role(role=code, role_text=function.vaerdi, since=function.since, **holder._asdict())


def _role_code(organisation: Organisation, function: str) -> RoleCode | None:
    """Returns the role's code; None if it is neither direction, board nor audit."""
    body = fold_word(organisation.hovedtype or "")
    if body == "REVISION":
        return RoleCode.AUDITOR
    if body != "LEDELSESORGAN":
        return None
    names, word = _names_of(organisation), fold_word(function)
    if "BESTYRELSE" in names:
        found = (code for part, code in _BOARD_ROLES.items() if part in word)
        return next(found, RoleCode.BOARD_MEMBER)
    # A general partner may be listed among the directors.
    is_partner = any(word.startswith(beginning) for beginning in _PARTNER_ROLES)
    return RoleCode.DIRECTOR if "DIREKTION" in names and not is_partner else None


def _names_of(organisation: Organisation) -> set[str]:
    return {fold_word(name.navn) for name in organisation.organisations_navn if name.navn}


def _owner(
    organisation: Organisation, member: Member, holder: Holder, odd: list[str]
) -> Owner | None:
    if _REGISTER_OF_OWNERS in _names_of(organisation):
        return _legal_owner(member, holder, odd)
    if fold_word(organisation.hovedtype or "") in _PARTNERS:
        return _partner(member, holder)
    return None


def _legal_owner(member: Member, holder: Holder, odd: list[str]) -> Owner | None:
    held = _current(member, "EJERANDEL_PROCENT")
    votes = _current(member, "EJERANDEL_STEMMERET_PROCENT")
    if held is None:
        return None
    return Owner(
        role=OwnerRole.OWNER,
        role_text=_REGISTER_OF_OWNERS,
        share=_class_of(held, "EJERANDEL_PROCENT", odd),
        votes=None if votes is None else _class_of(votes, "EJERANDEL_STEMMERET_PROCENT", odd),
        since=held.since,
        **holder._asdict(),
    )


def _partner(member: Member, holder: Holder) -> Owner | None:
    function = _current(member, "FUNKTION")
    if function is None:
        return None
    word = fold_word(function.vaerdi or "")
    found = (code for beginning, code in _PARTNER_ROLES.items() if word.startswith(beginning))
    return Owner(
        role=next(found, OwnerRole.PARTNER),
        role_text=function.vaerdi,
        since=function.since,
        **holder._asdict(),
    )


def _holder(participant: Participant) -> Holder | None:
    """Returns the name; None if the register has none."""
    name = latest(participant.navne)
    type_ = _TYPES.get(participant.enhedstype or "", "other")
    if name is None or name.navn is None:
        return None
    # A person's key, if the document has one, is private.
    return Holder(name.navn, type_, _cvr_number(participant) if type_ == "company" else None)


def _cvr_number(participant: Participant) -> str | None:
    key = participant.forretningsnoegle
    digits = FORMATS[Country.DK].vat_digits
    number = (key or "").zfill(digits)
    return number if key and is_digits(number, digits) else None


def _current(member: Member, attribute: str) -> AttributeValue | None:
    values = values_of(member.attributter, attribute)
    return next((value for value in current(values) if value.vaerdi), None)


def _class_of(value: AttributeValue, attribute: str, odd: list[str]) -> Share | None:
    """Returns a fraction as a percentage: the bounds of its class, or else exact.

    A number above 1 is a percentage already.
    """
    try:
        given = decimal_of((value.vaerdi or "").removesuffix("%"))
    except ValueError:
        given = Decimal(-1)
    percent = given if given > 1 or (value.vaerdi or "").endswith("%") else given * 100
    if not 0 <= percent <= _WHOLE:
        odd.append(f"deltagerRelation.organisationer.medlemsData.attributter.{attribute}")
        return None
    least = f"{percent.normalize():f}"
    if least not in CLASSES:
        return Share(min=least, max=least)
    return Share(min=least, max=CLASSES[min(CLASSES.index(least) + 1, len(CLASSES) - 1)])
