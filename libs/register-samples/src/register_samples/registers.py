"""The registers: words, forms and habits, and the templates of their documents."""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import Any

from register_samples.chance import urn
from register_samples.numbers import CVR, ORGNR, P_NUMBER

#: A document or a record as its register writes it.
Document = dict[str, Any]
Variables = dict[str, Any]
_Part = Callable[[Variables], Any]


class Templates:
    """The templates of a file, by name.

    In a template `"$name"` is the value of a variable, and `"@part"` another template.
    `"@part:name"` is a template of a variable that has variables itself: of each item of a list,
    and null without a value. A list has no nulls. A key that ends in `?` is absent if its value is
    null or an empty list.
    """

    def __init__(self, name: str) -> None:
        text = (files("register_samples") / "data" / f"{name}.json").read_text("utf-8")
        self._parts = {key: self._compiled(each) for key, each in json.loads(text).items()}

    def fill(self, template: str, variables: Variables) -> Document:
        """Returns a template's document; variables without a value are null."""
        filled: Document = self._parts[template](variables)
        return filled

    def _compiled(self, template: Any) -> _Part:
        match template:
            case dict():
                return self._object(template)
            case list():
                return self._list(template)
            case str() if template.startswith("$"):
                return lambda variables: _plain(variables.get(template[1:]))
            case str() if template.startswith("@"):
                return self._other(*template[1:].split(":"))
        return lambda _variables: template

    def _object(self, template: Document) -> _Part:
        parts = [
            (key.rstrip("?"), key[-1] == "?", self._compiled(template[key])) for key in template
        ]

        def fill(variables: Variables) -> Document:
            filled = {}
            for key, is_optional, part in parts:
                value = part(variables)
                if not is_optional or (value is not None and value != []):
                    filled[key] = value
            return filled

        return fill

    def _list(self, template: list[Any]) -> _Part:
        parts = [self._compiled(each) for each in template]
        return lambda variables: [value for part in parts if (value := part(variables)) is not None]

    def _other(self, name: str, variable: str = "") -> _Part:
        if not variable:
            return lambda variables: self._parts[name](variables)

        def fill(variables: Variables) -> Any:
            part, value = self._parts[name], variables.get(variable)
            if isinstance(value, list | tuple):
                return [part({**variables, **each}) for each in value]
            return None if value is None else part({**variables, **value})

        return fill


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


#: Lists of words by what they name.
Words = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Register:
    """A country's register: its numbers, habits and words.

    The words are common ones: none names a company or a person by itself.
    """

    code: str
    #: Shares, schemes and weights by their names in the file.
    habits: Variables
    words: Words
    company_number: Callable[[int], str]
    unit_number: Callable[[int], str]
    #: Forms and standings, each as often as it is met, and forms of companies whose name is shared.
    forms: Sequence[Variables]
    shared_forms: Sequence[Variables]
    states: Sequence[Sequence[str]]
    industries: Sequence[Variables]
    #: One for each postcode.
    places: Sequence[Variables]

    @property
    def ordinal(self) -> int:
        """The number that keeps the draws of the registers apart."""
        ordinal: int = self.habits["ordinal"]
        return ordinal

    def unit_numbers(self, index: int) -> list[str]:
        """Returns the numbers of the units of the company at a position.

        As the counts of units repeat, the numbers are dense without reading earlier companies.
        """
        counts: list[int] = self.habits["unit_counts"]
        rounds, place = divmod(index, len(counts))
        first = rounds * sum(counts) + sum(counts[:place])
        return [self.unit_number(first + number) for number in range(counts[place])]


def _words(text: str) -> tuple[str, ...]:
    """Returns words separated by spaces; an underscore is a space within a word."""
    return tuple(word.replace("_", " ") for word in text.split())


def _compounds(starts: Sequence[str], ends: Sequence[str]) -> tuple[str, ...]:
    """Returns every start with every end, without a letter three times in a row."""
    pairs = ((start, end) for start in starts for end in ends)
    return tuple(start + end for start, end in pairs if start[-1] * 3 not in start + end)


def _lists(fields: Variables) -> Words:
    """Returns the lists of words of a file."""
    lists = {name: _words(text) for name, text in fields.pop("words").items()}
    lists |= {name: tuple(text.split("\n")[:-1]) for name, text in fields.pop("lines").items()}
    for name, parts in fields.pop("compounds", {}).items():
        lists[name] = _compounds(_words(parts["starts"]), _words(parts["ends"]))
    return lists


def _qualifiers(given: dict[str, str]) -> tuple[str, ...]:
    numbers = {"department": range(1, 60), "team": range(1, 60), "year": range(1901, 2026)}
    numbered = (f"{given[name]}{each}" for name, span in numbers.items() for each in span)
    return (*_words(given["plain"]), *numbered)


def _places(table: Sequence[str]) -> list[Variables]:
    names = ("municipality_code", "municipality", "city")
    rows = (line.split(";") for line in table)
    return [
        {"postcode": postcode, **dict(zip(names, row, strict=False))}
        for row in rows
        for postcode in row[-1].split()
    ]


def _read(name: str) -> Variables:
    return tomllib.loads((files("register_samples") / "data" / f"{name}.toml").read_text("utf-8"))


def _register(
    name: str, company_number: Callable[[int], str], unit_number: Callable[[int], str]
) -> Register:
    fields = _read(name)
    words = _lists(fields) | {"qualifiers": _qualifiers(fields.pop("qualifiers"))}
    columns = ("code", "short", "text", "naming", "suffix")
    forms = [(dict(zip(columns, row, strict=False)), row[-1]) for row in fields.pop("forms")]
    shared = fields.pop("shared_forms")
    return Register(
        code=fields["code"],
        habits=fields,
        words=words,
        company_number=company_number,
        unit_number=unit_number,
        forms=urn(forms),
        shared_forms=urn(
            (form, shared[short]) for short in shared for form, _ in forms if form["short"] == short
        ),
        states=urn((row[:2], row[2]) for row in fields.pop("states")),
        industries=[
            dict(zip(("code", "text"), line.split(" ", 1), strict=True))
            for line in words["industries"]
        ],
        places=_places(words["places"]),
    )


#: Norwegian companies and units share a series of numbers: its even positions and its odd ones.
NORWAY = _register(
    "norway", lambda place: ORGNR.number(2 * place), lambda place: ORGNR.number(2 * place + 1)
)
DENMARK = _register("denmark", CVR.number, P_NUMBER.number)
REGISTERS = {"dk": DENMARK, "no": NORWAY}

_COINED = _read("coined")
#: Legal endings of companies from abroad, by country of origin.
FOREIGN_SUFFIXES: dict[str, list[str]] = _COINED["foreign_suffixes"]
LETTERS: str = _COINED["letters"]
#: Names without a meaning, and words of companies from abroad.
COINED = _lists(_COINED)
