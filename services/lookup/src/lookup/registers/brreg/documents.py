"""Common parts of entities and units of the Norwegian register (Brønnøysund).

The same models read the bulk files of 2022 and 2026, the responses of the interface, and the rows
of the CSV files, whose columns are the dotted paths of the JSON.
"""

import re
from functools import cached_property
from itertools import islice
from typing import Annotated, Any

from pydantic import BeforeValidator

from common.contracts.company import Address, CodedText, Country, Employees, LegalForm
from common.domain.countries import FORMATS
from lookup.records.fields import (
    Count,
    Day,
    Document,
    Flag,
    Text,
    coded,
    country_code,
    digits,
    legal_form,
    none_as_empty,
    phones,
)
from lookup.records.files import Dialect
from lookup.records.records import Raw, RecordRejected
from lookup.records.text import care_of, on_one_line, town_abroad, town_line

DIALECT = Dialect(
    encoding="utf-8",
    first_column=b"organisasjonsnummer",
)

#: The organisation forms of units: places of business, and others.
UNIT_FORMS = {"BEDR", "AAFY"}

#: Since 2026 the number is withheld below five employees; that there are some is published.
_WITHHELD = Employees(min=1, max=4)


def _split(value: object) -> object:
    """Returns the lines of an address; a CSV cell separates them by commas and spaces."""
    return re.split(r"\n|, ", value) if isinstance(value, str) else value


OrganisationNumber = Annotated[str, digits(FORMATS[Country.NO].vat_digits)]
TextLines = Annotated[tuple[Text, ...], BeforeValidator(_split), BeforeValidator(none_as_empty)]


class Coded(Document):
    """A code of the register with its description."""

    kode: Text = None
    beskrivelse: Text = None


def public_code(given: Coded | None) -> CodedText | None:
    """Returns the public form of a code; None without one."""
    return None if given is None else coded(given.kode, given.beskrivelse)


class BrregAddress(Document):
    """An address as the register writes it."""

    adresse: TextLines = ()
    postnummer: Text = None
    poststed: Text = None
    kommune: Text = None
    land: Text = None
    landkode: Text = None


class BrregDocument(Document):
    """The common fields of an entity and a unit."""

    organisasjonsnummer: OrganisationNumber
    navn: Text = None
    organisasjonsform: Coded | None = None
    postadresse: BrregAddress | None = None
    naeringskode1: Coded | None = None
    antall_ansatte: Count | None = None
    har_registrert_antall_ansatte: Flag = None
    telefon: Text = None
    mobil: Text = None
    epostadresse: Text = None
    slettedato: Day = None

    @cached_property
    def phones(self) -> tuple[str, ...]:
        """The landline before the mobile: digits without the calling code."""
        return phones((self.telefon, self.mobil), Country.NO)

    @property
    def form(self) -> LegalForm | None:
        """The organisation form, whose code is its abbreviation."""
        given = self.organisasjonsform
        return None if given is None else legal_form(given.kode, given.beskrivelse, given.kode)

    @property
    def industry(self) -> CodedText | None:
        """The main industry."""
        return public_code(self.naeringskode1)


def public_address(given: BrregAddress | None) -> Address | None:
    """Returns the public form of an address; None if it is missing or empty."""
    if given is None:
        return None
    co, street = _without_care_of([line for line in given.adresse if line])
    country = country_code(given.landkode)
    town = town_line(given.postnummer, given.poststed)
    abroad = None if country == "NO" else given.land
    text = on_one_line(co, street, None, town, abroad)
    if not text:
        return None
    postal_code, city = given.postnummer, given.poststed
    if city and postal_code is None and country and country != "NO":
        postal_code, city = town_abroad(city, country)
    return Address(
        street=street,
        co=co,
        postal_code=postal_code,
        city=city,
        municipality=given.kommune,
        country=country,
        text=text,
    )


def _without_care_of(lines: list[str]) -> tuple[str | None, str | None]:
    """Returns the addressee, and the lines of the address itself.

    `c/o` may be alone on the line above the name, and the only line may contain name and street.
    """
    named: list[str] = []
    others: list[str] = []
    rest = iter(lines)
    for line in rest:
        name = care_of(line)
        if name is None:
            others.append(line)
        elif name:
            named.append(name)
        else:
            named.extend(islice(rest, 1))
    if len(lines) == 1 and named:
        name, _, street = named[0].partition(", ")
        named, others = [name], [street]
    return _joined(named), _joined(others)


def _joined(lines: list[str]) -> str | None:
    return ", ".join(line.strip(" ,") for line in lines) or None


def employees_of(document: BrregDocument) -> Employees | None:
    """Returns the exact number of employees, 1 to 4 if the register withholds it, or None."""
    count = document.antall_ansatte
    if count is not None:
        return Employees(min=count, max=count, exact=count)
    return _WITHHELD if document.har_registrert_antall_ansatte else None


def from_row(row: Raw) -> Raw:
    """Returns the document of a CSV row; raises RecordRejected."""
    document: dict[str, Any] = {}
    for column, cell in row.items():
        *path, name = column.split(".")
        target = document
        for step in path:
            target = target.setdefault(step, {})
            if not isinstance(target, dict):
                raise RecordRejected(f"{column}: another column contradicts it")
        target[name] = cell
    return document
