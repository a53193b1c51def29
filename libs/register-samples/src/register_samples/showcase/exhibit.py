"""What an exhibit of the showcase is, and how its facts are looked up in the word lists."""

from dataclasses import dataclass
from datetime import date

from register_samples.facts import Company, Form, Identifier, Industry, Owner, Place, Unit
from register_samples.words.lexicon import Lexicon

#: The day on which all electronic addresses of the showcase were registered.
LISTED = date(2020, 1, 1)


@dataclass(frozen=True, slots=True)
class Exhibit:
    company: Company
    units: tuple[Unit, ...] = ()
    #: Units that moved to another company.
    departed: tuple[Unit, ...] = ()
    owners: tuple[Owner, ...] = ()
    identifiers: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """The register's own terms, by their codes; an unknown code is a KeyError."""

    forms: dict[str, Form]
    industries: dict[str, Industry]
    places: dict[str, Place]

    @classmethod
    def of(cls, lexicon: Lexicon) -> "Terms":
        return cls(
            forms={form.short: form for form in lexicon.forms},
            industries={industry.code: industry for industry in lexicon.industries},
            places={place.postcode: place for place in lexicon.places},
        )


def electronic_address(scheme: str, value: str) -> Identifier:
    return Identifier(scheme, value, LISTED)


def main_unit(company: Company, number: str) -> Unit:
    """The unit at the company's own address."""
    return Unit(
        number=number,
        name=company.name,
        address=company.address,
        industry=company.industries[0],
        employees=company.employees,
        started=company.founded,
        ended=company.ended,
        contacts=company.contacts,
    )
