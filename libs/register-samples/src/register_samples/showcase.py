"""The first ten companies of each register, whose variables are read from `showcase.toml`.

They are for examples and documentation. The README of the package lists them.
"""

import tomllib
from datetime import date
from importlib.resources import files

from register_samples.names import named
from register_samples.registers import REGISTERS, Register, Variables

#: Companies in the showcase of a register.
SIZE = 10

#: The day on which all electronic addresses of the showcase were registered.
_LISTED = date(2020, 1, 1)
_DEFAULTS = {
    "employees": 0,
    "protected": False,
    "status": "",
    "trade_names": (),
    "former_names": (),
    "capital": None,
}


class _Reader:
    """Resolves codes and references; an unknown one is a KeyError."""

    def __init__(self, register: Register) -> None:
        self._forms = {form["short"]: form for form in register.forms}
        self._industries = {each["code"]: each for each in register.industries}
        self._places = {place["postcode"]: place for place in register.places}

    def companies(self, rows: list[Variables], persons: Variables) -> list[Variables]:
        companies = [self._company(index, row, persons) for index, row in enumerate(rows)]
        holders = persons | {each["number"]: each for each in companies}
        for each, row in zip(companies, rows, strict=True):
            each["owners"] = [
                {**owner, "holder": holders[owner["holder"]]} for owner in row.get("owners", ())
            ]
        return companies

    def _company(self, index: int, row: Variables, persons: Variables) -> Variables:
        founded, standing = row["founded"], row.get("standing", "ACTIVE")
        since = row.get("standing_since", founded)
        identifiers = [text.split(":") for text in row.get("identifiers", ())]
        read = {
            **_DEFAULTS,
            "registered": founded,
            **self._place(row),
            "index": index,
            "form": self._forms[row["form"]],
            "standing": standing,
            "standing_since": since,
            "ended": since if standing == "ENDED" else None,
            "industries": [self._industries[code] for code in row["industries"]],
            "trader": persons.get(row.get("trader", "")),
            "postal": self._address(row["postal"]) if "postal" in row else None,
            "identifiers": [
                {"scheme": scheme, "value": value, "registered": _LISTED}
                for scheme, value in identifiers
            ],
        }
        main = {**read, "industry": read["industries"][0], "started": founded}
        units = row.get("units", ())
        read["units"] = [self._unit(each) if "name" in each else {**main, **each} for each in units]
        return read

    def _unit(self, row: Variables) -> Variables:
        industry = self._industries[row["industry"]]
        return {"employees": 0, "ended": None, **self._place(row), "industry": industry}

    def _place(self, row: Variables) -> Variables:
        """Returns the row with its address, and its contacts separately."""
        contacts = {
            name: given if isinstance(given, dict) else {"value": given, "secret": False}
            for name, given in row.get("contacts", {}).items()
        }
        return {**row, "address": self._address(row["address"]), **contacts}

    def _address(self, row: Variables) -> Variables:
        return row if "country" in row else {**self._places[row["postcode"]], **row}


def _read() -> dict[str, list[Variables]]:
    data = tomllib.loads((files("register_samples") / "showcase.toml").read_text("utf-8"))
    persons = {key: named(row, row["born"]) for key, row in data["persons"].items()}
    return {
        country: _Reader(register).companies(data[country], persons)
        for country, register in REGISTERS.items()
    }


#: By country.
SHOWCASE = _read()


def exhibit(register: Register, index: int) -> Variables | None:
    """Returns the showcase's company at a position; None if the company is drawn instead."""
    return SHOWCASE[register.code][index] if index < SIZE else None
