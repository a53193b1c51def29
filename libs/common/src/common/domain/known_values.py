"""Values that companies may have, to refuse filters that can never match.

The folder `values` has the lists and their sources. A value that is in none is refused, so a
register's new municipality or legal form is added there when it is announced.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from common.domain.countries import Country
from common.domain.sentences import ALIKE_OF_MANY, nearest

#: Suggested values in a message.
MAX_NEAREST: Final = 3
#: Digits that an industry code shares with the codes that are suggested for it.
_DIVISION: Final = 2

#: The code of a municipality; Denmark writes three digits, or a zero before them.
_MUNICIPALITY_CODE: Final = re.compile(r"[0-9]{3,4}")


def is_known(part: str, value: str, countries: Iterable[Country] = tuple(Country)) -> bool:
    """Returns True if companies of these countries may have the value of a filter's part."""
    match part:
        case "industries":
            return _is_industry(digits(value))
        case "municipalities":
            # Registers change their codes, so any of their form is accepted.
            return is_municipality_code(value) or any(
                value.casefold() in _municipalities()[country] for country in countries
            )
        case "forms":
            return any(value in _forms()[country].values() for country in countries)
        case _:
            return True


def forms_named(value: str, countries: Iterable[Country]) -> tuple[str, ...]:
    """Returns the codes of legal forms that a code or an abbreviation names: `ApS`, `A/S`, `AS`.

    As it is written, regardless of case; else regardless of its marks, so that `AS` is also `A/S`.
    """
    names = [(name, code) for country in countries for name, code in _forms()[country].items()]
    for same in (str.casefold, _letters):
        found = [code for name, code in names if same(name) == same(value)]
        if found:
            return tuple(dict.fromkeys(found))
    return ()


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def is_municipality_code(value: str) -> bool:
    """Returns True for a text of the form of a municipality's code."""
    return _MUNICIPALITY_CODE.fullmatch(value) is not None


def municipality_key(value: str) -> str:
    """Returns the name or the code of a municipality as it is compared.

    Codes have no zeros at their beginning there: Denmark writes `101` and `0101`.
    """
    return value.lstrip("0") if is_municipality_code(value) else value.casefold()


def sharing(name: str) -> tuple[str, ...]:
    """Returns the codes of the municipalities that share a name; none if only one has it."""
    return _shared().get(name.casefold(), ())


def digits(code: str) -> str:
    """Returns an industry code without its dots, which Norway writes and Denmark does not."""
    return code.replace(".", "")


def nearest_values(
    part: str, value: str, countries: Iterable[Country] = tuple(Country)
) -> list[str]:
    """Returns the values of these countries that are nearest to an unknown one, best first."""
    return _NEAREST[part](value, countries)


def _nearest_industries(value: str, _countries: Iterable[Country]) -> list[str]:
    code = digits(value)
    while code not in _beginnings("classes") and len(code) >= _DIVISION:
        code = code[:-1]
    if len(code) < _DIVISION:
        return []
    return [each for each in _industries("classes") if each.startswith(code)][:MAX_NEAREST]


def _nearest_municipalities(value: str, countries: Iterable[Country]) -> list[str]:
    names = {name for country in countries for name in _municipalities()[country].values()}
    return nearest(value, names, count=MAX_NEAREST, alike=ALIKE_OF_MANY)


def _nearest_forms(value: str, countries: Iterable[Country]) -> list[str]:
    codes: dict[str, str] = {}
    for country in countries:
        codes |= _forms()[country]
    found = nearest(value, codes, count=MAX_NEAREST, alike=ALIKE_OF_MANY)
    return list(dict.fromkeys(codes[name] for name in found))


_NEAREST: Final[Mapping[str, Callable[[str, Iterable[Country]], list[str]]]] = {
    "industries": _nearest_industries,
    "municipalities": _nearest_municipalities,
    "forms": _nearest_forms,
}


def _is_industry(code: str) -> bool:
    """Returns True if a code is a prefix of a class, or a class with further digits.

    Any digits may also follow a code of the old groups.
    """
    return (
        code[:4] in _beginnings("classes")
        or code[:3] in _beginnings("groups")
        or code in _industries("unknown")
    )


@cache
def _beginnings(section: str) -> frozenset[str]:
    codes = _industries(section)
    return frozenset(code[:length] for code in codes for length in range(1, len(code) + 1))


@cache
def _industries(section: str) -> tuple[str, ...]:
    lines = [line.split() for line in _sections("industries")[section]]
    return tuple(division + rest for division, *rests in lines for rest in rests or [""])


@cache
def _municipalities() -> Mapping[Country, Mapping[str, str]]:
    return {
        country: {name.casefold(): name for name in _values("municipalities", country)}
        for country in Country
    }


@cache
def _shared() -> Mapping[str, tuple[str, ...]]:
    parts = (value.rsplit(" ", 2) for value in _values("municipalities", "shared"))
    return {name.casefold(): tuple(codes) for name, *codes in parts}


@cache
def _forms() -> Mapping[Country, Mapping[str, str]]:
    return {
        country: {
            name: value.split()[0] for value in _values("forms", country) for name in value.split()
        }
        for country in Country
    }


def _values(name: str, section: str) -> list[str]:
    text = " ".join(_sections(name)[section])
    return [value.strip() for value in text.split(";") if value.strip()]


@cache
def _sections(name: str) -> Mapping[str, list[str]]:
    sections: dict[str, list[str]] = {}
    for line in (files("common.domain") / "values" / f"{name}.txt").read_text().splitlines():
        if line.startswith("["):
            sections[line.strip("[]")] = current = []
        elif line and not line.startswith("#"):
            current.append(line)
    return sections
