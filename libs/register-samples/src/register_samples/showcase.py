"""The first ten companies of each register, read from `showcase.toml`: the same for every seed.

They are for examples and documentation. The README of the package lists them.
"""

import tomllib
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import Any

from register_samples.facts import (
    Abroad,
    Address,
    Company,
    Contact,
    Contacts,
    Corporate,
    FormerName,
    Identifier,
    Move,
    Owner,
    Person,
    Standing,
    State,
    Unit,
)
from register_samples.lexicon import DANISH, NORWEGIAN, Lexicon

#: Companies in the showcase of a register.
SIZE = 10

#: The day on which all electronic addresses of the showcase were registered.
_LISTED = date(2020, 1, 1)


@dataclass(frozen=True, slots=True)
class Exhibit:
    company: Company
    units: tuple[Unit, ...] = ()
    #: Units that moved to another company.
    departed: tuple[Unit, ...] = ()
    owners: tuple[Owner, ...] = ()
    identifiers: tuple[Identifier, ...] = ()


class _Reader:
    """Resolves codes and references; an unknown one is a KeyError."""

    def __init__(self, persons: dict[str, dict[str, Any]], lexicon: Lexicon) -> None:
        self._persons = {key: Person(**{"middle": None, **row}) for key, row in persons.items()}
        self._forms = {form.short: form for form in lexicon.forms}
        self._industries = {industry.code: industry for industry in lexicon.industries}
        self._places = {place.postcode: place for place in lexicon.places}

    def exhibits(self, rows: list[dict[str, Any]]) -> tuple[Exhibit, ...]:
        companies = [self._company(index, row) for index, row in enumerate(rows)]
        pairs = list(zip(companies, rows, strict=True))
        corporates = {each.number: each.corporate for each in companies}
        units = {each.number: self._units(each, row) for each, row in pairs}
        by_number = {unit.number: unit for found in units.values() for unit in found}
        return tuple(
            Exhibit(
                company,
                units[company.number],
                tuple(by_number[number] for number in row.get("departed", ())),
                tuple(self._owner(given, corporates) for given in row.get("owners", ())),
                tuple(
                    Identifier(scheme, value, _LISTED)
                    for scheme, value in (text.split(":") for text in row.get("identifiers", ()))
                ),
            )
            for company, row in pairs
        )

    def _company(self, index: int, row: dict[str, Any]) -> Company:
        founded, since = row["founded"], row.get("since", row["founded"])
        return Company(
            seed=0,
            index=index,
            number=row["number"],
            name=row["name"],
            form=self._forms[row["form"]],
            founded=founded,
            registered=row.get("registered", founded),
            state=State(Standing[row.get("standing", "ACTIVE")], row.get("status"), since),
            address=self._address(row["address"]),
            industries=tuple(self._industries[code] for code in row["industries"]),
            employees=row.get("employees", 0),
            trader=self._persons[row["trader"]] if "trader" in row else None,
            former_names=tuple(FormerName(**former) for former in row.get("former_names", ())),
            trade_names=tuple(row.get("trade_names", ())),
            postal=self._domestic(row["postal"]) if "postal" in row else None,
            contacts=_contacts(row),
            capital=row.get("capital"),
            purpose=row.get("purpose"),
            protected=row.get("protected", False),
        )

    def _units(self, company: Company, row: dict[str, Any]) -> tuple[Unit, ...]:
        return tuple(self._unit(company, given) for given in row.get("units", ()))

    def _unit(self, company: Company, row: dict[str, Any]) -> Unit:
        """A unit; one with a number alone is the main unit, at the company's own address."""
        if row.keys() == {"number"}:
            return Unit(
                number=row["number"],
                name=company.name,
                address=company.address,
                industry=company.industries[0],
                employees=company.employees,
                started=company.founded,
                ended=company.ended,
                contacts=company.contacts,
            )
        return Unit(
            number=row["number"],
            name=row["name"],
            address=self._address(row["address"]),
            industry=self._industries[row["industry"]],
            employees=row.get("employees", 0),
            started=row["started"],
            ended=row.get("ended"),
            contacts=_contacts(row),
            moved=Move(**row["moved"]) if "moved" in row else None,
        )

    def _owner(self, row: dict[str, Any], corporates: dict[str, Corporate]) -> Owner:
        terms = {key: value for key, value in row.items() if key not in ("person", "company")}
        if "person" in row:
            return Owner(self._persons[row["person"]], **terms)
        return Owner(corporates[row["company"]], **terms)

    def _address(self, row: dict[str, Any]) -> Address | Abroad:
        if "country" in row:
            return Abroad(tuple(row["lines"]), row["city"], row["country"])
        return self._domestic(row)

    def _domestic(self, row: dict[str, Any]) -> Address:
        rest = {key: value for key, value in row.items() if key != "postcode"}
        return Address(**{"street": "", **rest, "place": self._places[row["postcode"]]})


def _contacts(row: dict[str, Any]) -> Contacts:
    return Contacts(
        **{
            field: Contact(**given) if isinstance(given, dict) else Contact(given)
            for field, given in row.get("contacts", {}).items()
        }
    )


def _read() -> dict[str, tuple[Exhibit, ...]]:
    data = tomllib.loads((files("register_samples") / "showcase.toml").read_text("utf-8"))
    return {
        country: _Reader(data["persons"], lexicon).exhibits(data[country])
        for country, lexicon in (("dk", DANISH), ("no", NORWEGIAN))
    }


SHOWCASE: dict[str, tuple[Exhibit, ...]] = _read()


def exhibit(country: str, index: int) -> Exhibit | None:
    """The exhibit at a position of a country's register; None where it is drawn instead."""
    return SHOWCASE[country][index] if index < SIZE else None
