"""The facts of the two registers, independent of a format, read from `data/*.toml`."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from register_samples.chance import urn
from register_samples.numbers import CVR, ORGNR, P_NUMBER
from register_samples.templates import Variables

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
