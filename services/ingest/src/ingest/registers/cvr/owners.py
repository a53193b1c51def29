"""Owners, roles, founders and the parent from the participants (`deltagerRelation`) of a company.

Owners are the legal owners in the register of owners, and partners with full liability. Beneficial
owners are omitted, since their register is not public any more. Documents contain home addresses;
they are not declared here and so never read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, Self

from common.contracts.company import (
    Country,
    Founder,
    HolderType,
    Owner,
    OwnerRole,
    Role,
    RoleCode,
    Share,
)
from common.domain.countries import FORMATS
from common.domain.numbers import is_digits
from ingest.records.fields import Document, Lines, Many, Text, decimal_of
from ingest.records.records import Holder, in_order
from ingest.registers.cvr.dated_values import AsOf, Dated, fold_word
from ingest.registers.cvr.documents import Name

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
#: The forms whose fully liable partners are general partners: K/S, and P/S.
_LIMITED_PARTNERSHIPS: Final = frozenset({"40", "70"})

_FOUNDERS: Final = "STIFTERE"
_PARENT: Final = "HOVEDSELSKAB"
_AUDIT: Final = "REVISION"
_BODIES: Final = "LEDELSESORGAN"
#: Relations that are no role in the company.
_NO_ROLES: Final = _PARTNERS | {
    _FOUNDERS, "REGISTER", "HVIDVASK", "FORSIKRINGER", "FUSION", "SPALTNING",
}  # fmt: skip
#: Relations without a code of their own.
_OTHERS: Final = frozenset({"SAERLIGE FINANSIELLE DELTAGERE", "REPRAESENTANTER"})

#: The role of a member of a body other than a board, by a part of its folded name.
_BODY_ROLES: Final = {
    "DIREKTION": RoleCode.DIRECTOR,
    "DAGLIG LEDELSE": RoleCode.DIRECTOR,
    "FILIALBESTYRER": RoleCode.BRANCH_MANAGER,
    "TILSYNSRAAD": RoleCode.SUPERVISORY_BOARD_MEMBER,
    "LIKVIDATOR": RoleCode.OTHER,
}
#: Bodies whose members have the functions of a board.
_BOARDS: Final = ("BESTYRELSE", "FORRETNINGSUDVALG")

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
    forretningsnoegle: Text = None
    navne: Many[Name] = ()


class Relation(Document):
    """A participant of a company, with its memberships."""

    #: Null if the register hides the participant.
    deltager: Participant | None = None
    organisationer: Many[Organisation] = ()


class Membership(NamedTuple):
    """A membership of a named participant in an organisation of the company."""

    #: The folded type of the organisation, such as LEDELSESORGAN.
    kind: str
    organisation: Organisation
    member: Member
    holder: Holder

    @property
    def names(self) -> set[str]:
        """The folded names of the organisation."""
        return {fold_word(name.navn) for name in self.organisation.organisations_navn if name.navn}

    def is_partner(self, function: str) -> bool:
        """Returns True for a partner, who may be listed among the directors."""
        return self.kind in _PARTNERS or (
            self.kind == _BODIES and fold_word(function).startswith(tuple(_PARTNER_ROLES))
        )


@dataclass(frozen=True, slots=True)
class Participants:
    """The participants of a company, with the code of its legal form."""

    memberships: Sequence[Membership]
    form: str | None
    as_of: AsOf
    #: Receives the paths of odd values and unknown roles.
    odd: list[str]

    @classmethod
    def of(
        cls, relations: Sequence[Relation], form: str | None, as_of: AsOf, odd: list[str]
    ) -> Self:
        """Returns the participants that the register names."""
        memberships = [
            Membership(fold_word(organisation.hovedtype or ""), organisation, member, holder)
            for relation in relations
            if (holder := _holder(relation.deltager, as_of)) is not None
            for organisation in relation.organisationer
            for member in organisation.medlems_data
        ]
        return cls(memberships, form, as_of, odd)

    def owners(self) -> tuple[Owner, ...]:
        """Returns the current owners by share, largest first, independent of the document."""
        owners = dict.fromkeys(self._owner(one) for one in self.memberships)
        return tuple(sorted((owner for owner in owners if owner is not None), key=_order))

    def roles(self) -> tuple[Role, ...]:
        """Returns the current members of bodies, the auditors, and others with a role."""
        roles = (self._role(one) for one in self.memberships)
        return in_order(role for role in roles if role is not None)

    def founders(self) -> tuple[Founder, ...]:
        """Returns the Danish companies among the founders, by name."""
        found = {
            Founder(name=one.holder.name, vat=one.holder.vat)
            for one in self.memberships
            if one.kind == _FOUNDERS and one.holder.type == "company"
        }
        return tuple(sorted(found, key=lambda founder: (founder.name, founder.vat or "")))

    def parent(self) -> str | None:
        """Returns the number of the company of which this one is a branch."""
        return next(
            (
                one.holder.vat
                for one in self.memberships
                if one.kind == _PARENT and one.holder.vat and self._function(one.member)
            ),
            None,
        )

    def _role(self, membership: Membership) -> Role | None:
        if membership.kind in _NO_ROLES:
            return None
        function = self._function(membership.member)
        if function is None or membership.is_partner(function.vaerdi or ""):
            return None
        code = self._role_code(membership, fold_word(function.vaerdi or ""))
        if code is None:
            return None
        holder = membership.holder._asdict()
        return Role(role=code, role_text=function.vaerdi, since=function.since, **holder)

    def _role_code(self, membership: Membership, function: str) -> RoleCode | None:
        """Returns the role's code; None for a parent that is shown as such."""
        kind, names = membership.kind, " ".join(membership.names)
        if kind == _AUDIT:
            is_sustainability = "BAEREDYGTIG" in f"{names} {function}"
            return RoleCode.SUSTAINABILITY_AUDITOR if is_sustainability else RoleCode.AUDITOR
        if kind == _PARENT:
            return None if membership.holder.vat else RoleCode.OTHER
        if kind == "TEGNINGSBERETTIGEDE":
            return RoleCode.SIGNATORY
        if kind in _OTHERS:
            return RoleCode.OTHER
        if kind != _BODIES:
            self.odd.append("deltagerRelation.organisationer.hovedtype")
            return RoleCode.OTHER
        if any(board in names for board in _BOARDS):
            found = (code for part, code in _BOARD_ROLES.items() if part in function)
            return next(found, RoleCode.BOARD_MEMBER)
        code = next((code for part, code in _BODY_ROLES.items() if part in names), None)
        if code is None:
            self.odd.append("deltagerRelation.organisationer.organisationsNavn")
        return code or RoleCode.OTHER

    def _owner(self, membership: Membership) -> Owner | None:
        if membership.kind == "REGISTER":
            if _REGISTER_OF_OWNERS in membership.names:
                return self._legal_owner(membership)
            return None
        if membership.kind not in _PARTNERS and membership.kind != _BODIES:
            return None
        function = self._function(membership.member)
        if function is None or not membership.is_partner(function.vaerdi or ""):
            return None
        word = fold_word(function.vaerdi or "")
        is_limited = self.form in _LIMITED_PARTNERSHIPS
        otherwise = OwnerRole.GENERAL_PARTNER if is_limited else OwnerRole.PARTNER
        codes = (code for start, code in _PARTNER_ROLES.items() if word.startswith(start))
        return Owner(
            role=next(codes, otherwise),
            role_text=function.vaerdi,
            since=function.since,
            **membership.holder._asdict(),
        )

    def _legal_owner(self, membership: Membership) -> Owner | None:
        held = self._value(membership.member, "EJERANDEL_PROCENT")
        votes = self._value(membership.member, "EJERANDEL_STEMMERET_PROCENT")
        if held is None:
            return None
        return Owner(
            role=OwnerRole.OWNER,
            role_text=_REGISTER_OF_OWNERS,
            share=self._class_of(held, "EJERANDEL_PROCENT"),
            votes=None if votes is None else self._class_of(votes, "EJERANDEL_STEMMERET_PROCENT"),
            since=held.since,
            **membership.holder._asdict(),
        )

    def _function(self, member: Member) -> AttributeValue | None:
        return self._value(member, "FUNKTION")

    def _value(self, member: Member, attribute: str) -> AttributeValue | None:
        """Returns the current value of an attribute."""
        values = values_of(member.attributter, attribute)
        return next((value for value in self.as_of.current(values) if value.vaerdi), None)

    def _class_of(self, value: AttributeValue, attribute: str) -> Share | None:
        """Returns a fraction as a percentage: the bounds of its class, or else exact.

        A number above 1 is a percentage already.
        """
        text = value.vaerdi or ""
        try:
            given = decimal_of(text.removesuffix("%"))
        except ValueError:
            given = Decimal(-1)
        percent = given if given > 1 or text.endswith("%") else given * 100
        if not 0 <= percent <= _WHOLE:
            self.odd.append(f"deltagerRelation.organisationer.medlemsData.attributter.{attribute}")
            return None
        least = f"{percent.normalize():f}"
        if least not in CLASSES:
            return Share(min=least, max=least)
        return Share(min=least, max=CLASSES[min(CLASSES.index(least) + 1, len(CLASSES) - 1)])


def _holder(participant: Participant | None, as_of: AsOf) -> Holder | None:
    """Returns the name; None if the register hides the participant or has no name."""
    name = None if participant is None else as_of.latest(participant.navne)
    if participant is None or name is None or name.navn is None:
        return None
    type_ = _TYPES.get(participant.enhedstype or "", "other")
    # A person's key, if the document has one, is private.
    return Holder(name.navn, type_, _cvr_number(participant) if type_ == "company" else None)


def _order(owner: Owner) -> tuple[Decimal, str, str, str]:
    share = Decimal(owner.share.min) if owner.share else Decimal(0)
    return -share, owner.name, owner.vat or "", owner.since or ""


def _cvr_number(participant: Participant) -> str | None:
    key = participant.forretningsnoegle
    digits = FORMATS[Country.DK].vat_digits
    number = (key or "").zfill(digits)
    return number if key and is_digits(number, digits) else None
