"""Owners out of the participants (`deltagerRelation`) of a Danish company.

They are the legal owners of the register of owners, and the partners who are fully liable. Home
addresses are in the documents; they are not declared here and so never read.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, Literal

from common.contracts.company import Country, Owner, Share
from common.domain.countries import FORMATS
from common.domain.numbers import is_digits
from lookup.adapters.registers.cvr_documents import Dated, Name, current, latest
from lookup.adapters.registers.cvr_status import fold_word
from lookup.adapters.registers.documents import Document, Lines, Many, Text, Word
from lookup.domain.records import RecordRefused

#: The register tells a share by the lower bound of its class, in percent.
CLASSES: Final = ("0", "5", "10", "15", "20", "25", "33.33", "50", "66.67", "90", "100")

_REGISTER_OF_OWNERS = "EJERREGISTER"

#: How the relation of a sole proprietor or a partner is called, folded.
_PARTNERS: Final = frozenset({"FULDT ANSVARLIG DELTAGERE", "INDEHAVER"})

_TYPES: Final[dict[str, Literal["person", "company", "other"]]] = {
    "PERSON": "person",
    "VIRKSOMHED": "company",
}


class AttributeValue(Dated):
    vaerdi: Lines = None


class Attribute(Document):
    type: Text = None
    vaerdier: Many[AttributeValue] = ()


class Member(Document):
    attributter: Many[Attribute] = ()


class Organisation(Document):
    hovedtype: Text = None
    organisations_navn: Many[Name] = ()
    medlems_data: Many[Member] = ()


class Participant(Document):
    enhedstype: Text = None
    #: Of a company its CVR number.
    forretningsnoegle: Word = None
    navne: Many[Name] = ()


class Relation(Document):
    #: Null where the register shows nobody.
    deltager: Participant | None = None
    organisationer: Many[Organisation] = ()


def owners_of(relations: Sequence[Relation]) -> tuple[Owner, ...]:
    """The current owners, the largest share first; in an order that no reshuffling changes."""
    owners = dict.fromkeys(
        owner
        for relation in relations
        if relation.deltager is not None
        for organisation in relation.organisationer
        for owner in _owners_in(organisation, relation.deltager)
    )
    return tuple(sorted(owners, key=_order))


def _order(owner: Owner) -> tuple[Decimal, str, str, str]:
    share = Decimal(owner.share.min) if owner.share else Decimal(0)
    return -share, owner.name, owner.vat or "", owner.since or ""


def _owners_in(organisation: Organisation, participant: Participant) -> Iterator[Owner]:
    is_register = _REGISTER_OF_OWNERS in {
        fold_word(name.navn) for name in organisation.organisations_navn if name.navn
    }
    for member in organisation.medlems_data:
        if is_register:
            yield from _legal_owner(member, participant)
        elif fold_word(organisation.hovedtype or "") in _PARTNERS:
            yield from _partner(member, participant)


def _legal_owner(member: Member, participant: Participant) -> Iterator[Owner]:
    held = _current(member, "EJERANDEL_PROCENT")
    votes = _current(member, "EJERANDEL_STEMMERET_PROCENT")
    if held is None:
        return
    yield from _named(
        participant,
        role=_REGISTER_OF_OWNERS,
        share=_class_of(held),
        votes=None if votes is None else _class_of(votes),
        since=held.since,
    )


def _partner(member: Member, participant: Participant) -> Iterator[Owner]:
    function = _current(member, "FUNKTION")
    if function is not None:
        yield from _named(participant, role=function.vaerdi, since=function.since)


def _named(
    participant: Participant,
    *,
    role: str | None,
    since: str | None,
    share: Share | None = None,
    votes: Share | None = None,
) -> Iterator[Owner]:
    """Nothing where the register has no name."""
    name = latest(participant.navne)
    kind = _TYPES.get(participant.enhedstype or "", "other")
    if name is None or name.navn is None:
        return
    yield Owner(
        name=name.navn,
        type=kind,
        # A person's key, should there be one, is nobody's business.
        vat=_cvr_number(participant) if kind == "company" else None,
        role=role,
        share=share,
        votes=votes,
        since=since,
    )


def _cvr_number(participant: Participant) -> str | None:
    key = participant.forretningsnoegle
    digits = FORMATS[Country.DK].vat_digits
    number = (key or "").zfill(digits)
    return number if key and is_digits(number, digits) else None


def _current(member: Member, attribute: str) -> AttributeValue | None:
    values = [
        value for given in member.attributter if given.type == attribute for value in given.vaerdier
    ]
    return next((value for value in current(values) if value.vaerdi), None)


def _class_of(value: AttributeValue) -> Share:
    """A fraction as percent; between the bounds of its class, or exact where it is no bound."""
    try:
        percent = (Decimal(value.vaerdi or "") * 100).normalize()
    except InvalidOperation:
        percent = Decimal("NaN")
    if not percent.is_finite():
        raise RecordRefused("deltagerRelation: a share is not a number")
    least = f"{percent:f}"
    if least not in CLASSES:
        return Share(min=least, max=least)
    return Share(min=least, max=CLASSES[min(CLASSES.index(least) + 1, len(CLASSES) - 1)])
