"""The words of invented names and addresses, read from `words/*.toml`."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from register_samples.chance import urn
from register_samples.facts import Abroad, Form, Industry, Naming, Place


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Common words of a country: none names a company or a person by itself."""

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
    industries: tuple[Industry, ...]
    #: One for each postcode.
    places: tuple[Place, ...]
    #: The legal forms, each repeated by its weight.
    forms: tuple[Form, ...]
    conjunction: str
    purposes: tuple[str, ...]


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


def _places(table: str) -> tuple[Place, ...]:
    return tuple(
        Place(postcode, city, municipality, code)
        for code, municipality, city, postcodes in (line.split(";") for line in _lines(table))
        for postcode in postcodes.split()
    )


def _compounds(starts: str, ends: str) -> tuple[str, ...]:
    """Every start with every end, without a letter three times in a row."""
    pairs = ((start, end) for start in _words(starts) for end in _words(ends))
    return tuple(start + end for start, end in pairs if start[-1] * 3 not in start + end)


def _qualifiers(data: dict[str, Any]) -> tuple[str, ...]:
    departments = (f"{data['department']}{number}" for number in range(1, 60))
    teams = (f"{data['team']}{number}" for number in range(1, 60))
    years = (f"{data['year']}{year}" for year in range(1901, 2026))
    return (*_words(data["qualifiers"]), *departments, *teams, *years)


def _forms(rows: list[list[Any]]) -> tuple[Form, ...]:
    return urn(
        {
            Form(code, short, text, Naming[naming], suffix): weight
            for code, short, text, naming, suffix, weight in rows
        }
    )


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("register_samples") / "words" / f"{name}.toml").read_text("utf-8"))


def _lexicon(name: str) -> Lexicon:
    data = _read(name)
    plain = ["given", "patronymics", "trades", "tags", "holdings", "associations", "dwellings"]
    return Lexicon(
        **{field: _words(data[field]) for field in plain},
        families=_compounds(data["family_starts"], data["family_ends"]),
        qualifiers=_qualifiers(data),
        bodies=_lines(data["bodies"]),
        streets=_compounds(data["street_starts"], data["street_ends"]),
        industries=tuple(Industry(*line.split(" ", 1)) for line in _lines(data["industries"])),
        places=_places(data["places"]),
        forms=_forms(data["forms"]),
        conjunction=data["conjunction"],
        purposes=_lines(data["purposes"]),
    )


def _coined() -> Coined:
    data = _read("coined")
    towns = (line.partition(" ") for line in _lines(data["foreign_towns"]))
    plain = ["starts", "middles", "ends", "foreign_trades", "foreign_streets"]
    return Coined(
        **{field: _words(data[field]) for field in plain},
        letters=data["letters"],
        foreign_suffixes=data["foreign_suffixes"],
        foreign_towns=tuple(Abroad((), town, country) for country, _, town in towns),
    )


DANISH = _lexicon("danish")
NORWEGIAN = _lexicon("norwegian")
COINED = _coined()
