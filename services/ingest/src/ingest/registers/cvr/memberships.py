"""The participants of a company as the register writes them, and their memberships.

Documents contain home addresses, which are never read: of companies and foreign holders the country
is. The register's number of a participant tells persons with one name apart while a document is
read, and goes no further.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, ValidationInfo

from common.contracts.company import Country
from common.domain.countries import FORMATS
from common.domain.numbers import is_digits
from ingest.records.fields import Document, Lines, Many, Text, country_code, none_as_empty
from ingest.records.records import Holder
from ingest.registers.cvr.codes import HOLDER_TYPES, PARTNERS, RELATIONS, Kind
from ingest.registers.cvr.dated_values import AsOf, Dated, fold_word, held_on
from ingest.registers.cvr.documents import Name

#: The beginnings of the folded functions of partners.
_PARTNERS: Final = tuple(PARTNERS)


class AttributeValue(Dated):
    """A value of an attribute, with its period."""

    vaerdi: Lines = None


class Attribute(Document):
    """An attribute of a company or a membership: its type, and its values over time."""

    type: Text = None
    vaerdier: Many[AttributeValue] = ()


def by_type(attributes: Sequence[Attribute]) -> Mapping[str, Sequence[AttributeValue]]:
    """Returns the values of each type, which the register may also write as several attributes."""
    found: dict[str, Sequence[AttributeValue]] = {}
    for given in attributes:
        name = given.type or ""
        found[name] = (*found[name], *given.vaerdier) if name in found else given.vaerdier
    return found


class Member(Document):
    """A membership of a participant in an organisation of the company."""

    attributter: Many[Attribute] = ()


class Organisation(Document):
    """An organisation of a company: its board, its direction, or its register of owners."""

    hovedtype: Text = None
    organisations_navn: Many[Name] = ()
    medlems_data: Many[Member] = ()


class Residence(Dated):
    """The country of an address, with its period."""

    landekode: Text = None


def _of_firms(value: object, info: ValidationInfo) -> object:
    """Returns the addresses of a company; those of a person are private."""
    is_person = HOLDER_TYPES.get(fold_word(info.data.get("enhedstype") or "")) == "person"
    return () if is_person else none_as_empty(value)


class Participant(Document):
    """A person, a company or another holder that takes part in a company."""

    #: The register's number of the participant.
    enheds_nummer: Text = None
    enhedstype: Text = None
    #: The CVR number, of a company.
    forretningsnoegle: Text = None
    navne: Many[Name] = ()
    beliggenhedsadresse: Annotated[tuple[Residence, ...], BeforeValidator(_of_firms)] = ()


class Relation(Document):
    """A participant of a company, with its memberships."""

    #: Null if the register hides the participant.
    deltager: Participant | None = None
    organisationer: Many[Organisation] = ()


class Membership(NamedTuple):
    """A membership of a named participant in an organisation of the company."""

    #: None for a type of relations that nobody knows.
    kind: Kind | None
    organisation: Organisation
    #: The values of its attributes by their type.
    attributes: Mapping[str, Sequence[AttributeValue]]
    holder: Holder
    #: The register's number of the holder, or else the place in the document.
    identity: str | int
    residences: Sequence[Residence] = ()

    def values(self, attribute: str) -> Sequence[AttributeValue]:
        """Returns the values of an attribute of the membership."""
        return self.attributes.get(attribute, ())

    def all_values(self, attribute: str) -> Sequence[AttributeValue]:
        """Returns those of all memberships of the holder in the organisation."""
        members = self.organisation.medlems_data
        if len(members) == 1:
            return self.values(attribute)
        return [
            value
            for member in members
            for given in member.attributter
            if given.type == attribute
            for value in given.vaerdier
        ]

    def current(self, attribute: str, as_of: AsOf) -> AttributeValue | None:
        """Returns the current value of an attribute; None without one that says something."""
        values = self.attributes.get(attribute)
        if values is None:
            return None
        return next((value for value in as_of.current(values) if value.vaerdi), None)

    def told(self, as_of: AsOf, attribute: str, day: str) -> str | None:
        """Returns what the register tells of the membership on a day."""
        values = self.values(attribute)
        if not values:
            return None
        if day == as_of.today:
            current = self.current(attribute, as_of)
            return None if current is None else current.vaerdi
        held = held_on(values, day)
        return None if held is None else held.vaerdi

    def country(self, as_of: AsOf) -> str | None:
        """Returns the country of a holder that is no person."""
        found = as_of.latest(self.residences)
        return None if found is None else country_code(found.landekode)

    def is_partner(self, function: str) -> bool:
        """Returns True for a partner, who may be listed among the directors."""
        return self.kind is Kind.PARTNERS or (
            self.kind is Kind.BODY and fold_word(function).startswith(_PARTNERS)
        )


def memberships_of(relations: Sequence[Relation], as_of: AsOf) -> list[Membership]:
    """Returns the memberships of the participants that the register names."""
    return [
        Membership(
            kind,
            organisation,
            by_type(member.attributter),
            holder,
            _identity(relation, place),
            () if relation.deltager is None else relation.deltager.beliggenhedsadresse,
        )
        for place, relation in enumerate(relations)
        if (holder := _holder(relation.deltager, as_of)) is not None
        for organisation in relation.organisationer
        if (kind := RELATIONS.get(fold_word(organisation.hovedtype or ""))) is not Kind.LEFT_OUT
        for member in organisation.medlems_data
    ]


def _identity(relation: Relation, place: int) -> str | int:
    number = None if relation.deltager is None else relation.deltager.enheds_nummer
    return place if number is None else number


def _holder(participant: Participant | None, as_of: AsOf) -> Holder | None:
    """Returns the name; None if the register hides the participant or has no name."""
    name = None if participant is None else as_of.latest(participant.navne)
    if participant is None or name is None or name.navn is None:
        return None
    type_ = HOLDER_TYPES.get(fold_word(participant.enhedstype or ""), "other")
    # A person's key, if the document has one, is private.
    return Holder(name.navn, type_, _cvr_number(participant) if type_ == "company" else None)


def _cvr_number(participant: Participant) -> str | None:
    key = participant.forretningsnoegle
    digits = FORMATS[Country.DK].vat_digits
    number = (key or "").zfill(digits)
    return number if key and is_digits(number, digits) else None
