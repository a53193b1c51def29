"""The first ten companies of each register, read from `showcase.toml`.

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
    FormerName,
    Identifier,
    Move,
    Owner,
    Person,
    Standing,
    State,
    Unit,
)
from register_samples.registers import REGISTERS, Register

#: Companies in the showcase of a register.
SIZE = 10

#: The day on which all electronic addresses of the showcase were registered.
_LISTED = date(2020, 1, 1)


@dataclass(frozen=True, slots=True)
class Exhibit:
    company: Company
    units: tuple[Unit, ...] = ()
    owners: tuple[Owner, ...] = ()
    identifiers: tuple[Identifier, ...] = ()


class _Reader:
    """Resolves codes and references; an unknown one is a KeyError."""

    def __init__(self, persons: dict[str, dict[str, Any]], register: Register) -> None:
        self._persons = {key: Person(**{"middle": None, **row}) for key, row in persons.items()}
        self._forms = {form.short: form for form in register.forms}
        self._industries = {industry.code: industry for industry in register.industries}
        self._places = {place.postcode: place for place in register.places}

    def exhibits(self, rows: list[dict[str, Any]]) -> tuple[Exhibit, ...]:
        companies = [self._company(index, row) for index, row in enumerate(rows)]
        holders = self._persons | {each.number: each.corporate for each in companies}
        return tuple(
            Exhibit(
                company,
                tuple(self._unit(company, unit) for unit in row.get("units", ())),
                tuple(
                    Owner(**{**owner, "holder": holders[owner["holder"]]})
                    for owner in row.get("owners", ())
                ),
                tuple(
                    Identifier(scheme, value, _LISTED)
                    for scheme, value in (text.split(":") for text in row.get("identifiers", ()))
                ),
            )
            for company, row in zip(companies, rows, strict=True)
        )

    def _company(self, index: int, row: dict[str, Any]) -> Company:
        founded, since = row["founded"], row.get("since", row["founded"])
        return Company(
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

    def _unit(self, company: Company, row: dict[str, Any]) -> Unit:
        """A unit; one with a number alone is the main unit."""
        if row.keys() == {"number"}:
            return company.main_unit(row["number"], company.industries[0])
        resolved = {
            "address": self._address(row["address"]),
            "industry": self._industries[row["industry"]],
            "contacts": _contacts(row),
            "moved": Move(**row["moved"]) if "moved" in row else None,
        }
        return Unit(**{"employees": 0, **row, **resolved})

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
        country: _Reader(data["persons"], register).exhibits(data[country])
        for country, register in REGISTERS.items()
    }


SHOWCASE: dict[str, tuple[Exhibit, ...]] = _read()


def exhibit(country: str, index: int) -> Exhibit | None:
    """The exhibit at a position of a country's register; None where it is drawn instead."""
    return SHOWCASE[country][index] if index < SIZE else None
