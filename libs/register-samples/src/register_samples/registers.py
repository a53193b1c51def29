"""The two registers as they differ before a format is chosen, read from `data/*.toml`."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import Any

from register_samples.chance import urn
from register_samples.facts import Abroad, Form, Industry, Naming, Ownership, Place, Standing
from register_samples.numbers import CVR, ORGNR, P_NUMBER


@dataclass(frozen=True, slots=True)
class ContactHabits:
    """Contact data of a register's companies."""

    phone: float
    mobile: float
    fax: float
    email: float
    website: float
    secret: float


@dataclass(frozen=True, slots=True)
class Register:
    """A country's register: its numbers, habits and words.

    The words are common ones: none names a company or a person by itself.
    """

    company_number: Callable[[int], str]
    unit_number: Callable[[int], str]

    code: str
    ordinal: int
    unit_counts: tuple[int, ...]
    gln_prefix: str
    company_scheme: str
    unit_scheme: str
    opened: date
    upper_case: float
    care_of: float
    postal: float
    nowhere: float
    flats: bool
    contacts: ContactHabits
    capitals: dict[str, list[int]]
    ownership: dict[str, Ownership]
    #: Standings with the register's word for them, each as often as it is met.
    states: tuple[tuple[Standing, str | None], ...]
    #: The legal forms, each as often as it is met, and those of companies whose name is shared.
    forms: tuple[Form, ...]
    shared_forms: tuple[Form, ...]

    conjunction: str
    given: tuple[str, ...]
    #: Surnames made of parts, which also serve as names of places.
    families: tuple[str, ...]
    patronymics: tuple[str, ...]
    trades: tuple[str, ...]
    #: Second words of firms, beside the trade: `Gruppen`, `Partner`.
    tags: tuple[str, ...]
    holdings: tuple[str, ...]
    associations: tuple[str, ...]
    qualifiers: tuple[str, ...]
    dwellings: tuple[str, ...]
    #: Public bodies, the place in braces.
    bodies: tuple[str, ...]
    streets: tuple[str, ...]
    purposes: tuple[str, ...]
    industries: tuple[Industry, ...]
    #: One for each postcode.
    places: tuple[Place, ...]

    def unit_count(self, index: int) -> int:
        """The number of units of the company at a position."""
        return self.unit_counts[index % len(self.unit_counts)]

    def first_unit(self, index: int) -> int:
        """The position of a company's first unit among the units of all.

        As the counts repeat, it follows from the company's position: unit numbers are dense
        without a look at the companies before.
        """
        rounds, place = divmod(index, len(self.unit_counts))
        return rounds * sum(self.unit_counts) + sum(self.unit_counts[:place])


@dataclass(frozen=True, slots=True)
class Coined:
    """Names without a meaning, and words of companies from abroad."""

    starts: tuple[str, ...]
    middles: tuple[str, ...]
    ends: tuple[str, ...]
    letters: str
    foreign_trades: tuple[str, ...]
    #: Legal endings by country of origin.
    foreign_suffixes: dict[str, list[str]]
    foreign_towns: tuple[Abroad, ...]
    foreign_streets: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in text.split())


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().splitlines())


def _compounds(parts: dict[str, str]) -> tuple[str, ...]:
    """Every start with every end, without a letter three times in a row."""
    pairs = ((start, end) for start in _words(parts["starts"]) for end in _words(parts["ends"]))
    return tuple(start + end for start, end in pairs if start[-1] * 3 not in start + end)


def _qualifiers(given: dict[str, str]) -> tuple[str, ...]:
    departments = (f"{given['department']}{number}" for number in range(1, 60))
    teams = (f"{given['team']}{number}" for number in range(1, 60))
    years = (f"{given['year']}{year}" for year in range(1901, 2026))
    return (*_words(given["plain"]), *departments, *teams, *years)


def _places(table: str) -> tuple[Place, ...]:
    return tuple(
        Place(postcode, city, municipality, code)
        for code, municipality, city, postcodes in (line.split(";") for line in _lines(table))
        for postcode in postcodes.split()
    )


def _industries(table: str) -> tuple[Industry, ...]:
    return tuple(Industry(*line.split(" ", 1)) for line in _lines(table))


def _towns(table: str) -> tuple[Abroad, ...]:
    parts = (line.partition(" ") for line in _lines(table))
    return tuple(Abroad((), town, country) for country, _, town in parts)


def _forms(rows: list[list[Any]]) -> tuple[Form, ...]:
    return urn(
        {
            Form(code, short, text, Naming[naming], suffix): weight
            for code, short, text, naming, suffix, weight in rows
        }
    )


def _states(rows: list[list[Any]]) -> tuple[tuple[Standing, str | None], ...]:
    return urn({(Standing[name], text or None): weight for name, text, weight in rows})


def _ownership(names: dict[str, str]) -> dict[str, Ownership]:
    return {form: Ownership[name] for form, name in names.items()}


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("given", "patronymics", "trades", "tags", "holdings"), _words),
    **dict.fromkeys(("associations", "dwellings"), _words),
    **dict.fromkeys(("starts", "middles", "ends", "foreign_trades", "foreign_streets"), _words),
    **dict.fromkeys(("bodies", "purposes"), _lines),
    **dict.fromkeys(("families", "streets"), _compounds),
    "qualifiers": _qualifiers,
    "places": _places,
    "industries": _industries,
    "foreign_towns": _towns,
    "forms": _forms,
    "states": _states,
    "ownership": _ownership,
    "contacts": lambda habits: ContactHabits(**habits),
}


def _read(name: str) -> dict[str, Any]:
    text = (files("register_samples") / "data" / f"{name}.toml").read_text("utf-8")
    fields = tomllib.loads(text)
    return {
        key: _READERS[key](value) if key in _READERS else value for key, value in fields.items()
    }


def _register(name: str, **numbers: Any) -> Register:
    fields = _read(name)
    by_short = {form.short: form for form in fields["forms"]}
    shared = {by_short[short]: weight for short, weight in fields["shared_forms"].items()}
    return Register(**{**numbers, **fields, "shared_forms": urn(shared)})


#: Norwegian companies and units share a series of numbers: its even positions and its odd ones.
NORWAY = _register(
    "norway",
    company_number=lambda position: ORGNR.number(2 * position),
    unit_number=lambda position: ORGNR.number(2 * position + 1),
)
DENMARK = _register(
    "denmark",
    company_number=CVR.number,
    unit_number=P_NUMBER.number,
)
REGISTERS = {"dk": DENMARK, "no": NORWAY}
COINED = Coined(**_read("coined"))
