"""Sentences for people: counted things, and unknown names with the nearest known one."""

import difflib
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final


def counted(count: int, noun: str) -> str:
    """Returns `1 record`, `2,000 records` or `0 companies`; the noun is a regular singular."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {_plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


#: Longer texts are cut: the time of a comparison is the product of both lengths.
MAX_COMPARED = 60
#: How alike two texts are, of 1, from which on one is suggested for the other: a name of few, and a
#: value of hundreds, of which some always look alike.
_ALIKE, ALIKE_OF_MANY = 0.6, 0.7

#: Unknown names in one message, and characters of each.
MAX_NAMED = 10
MAX_NAME_LENGTH = 100


def nearest(
    text: str, known: Collection[str], *, count: int = 1, alike: float = _ALIKE
) -> list[str]:
    """Returns the `count` known values most like `text` regardless of case, the best first."""
    by_folded = {value.casefold(): value for value in known}
    folded = text[:MAX_COMPARED].casefold()
    return [by_folded[each] for each in difflib.get_close_matches(folded, by_folded, count, alike)]


def did_you_mean(text: str, known: Collection[str]) -> str:
    """Returns the end of a message about an unknown value: the nearest known one, or nothing."""
    found = nearest(text, known)
    return f"; did you mean {found[0]}?" if found else ""


def unknown_names(noun: str, given: Iterable[str], known: Collection[str]) -> list[tuple[str, str]]:
    """Returns the first unknown names, cut to a readable length, each with its message."""
    strange = islice((name for name in given if name not in known), MAX_NAMED)
    return [(name[:MAX_NAME_LENGTH], _unknown(noun, name, known)) for name in strange]


#: Names that other services and the registers have for what has one of these here, in their order.
_SYNONYMS: Final = {
    other: names.split()
    for others, names in (
        ("cvr cvrnr cvrnummer orgnr orgnummer organisasjonsnummer number id", "vat"),
        ("organisationnumber organizationnumber registrationnumber companynumber", "vat"),
        ("q query term text", "q search"),
        ("navn companyname", "name"),
        ("tlf telefon telephone", "phone"),
        ("gln", "ean"),
        ("p pnr pnummer pnumber", "produ"),
        ("zip zipcode postcode postnr", "postal_code"),
        ("size pagesize perpage", "limit"),
        ("page cursor offset", "after"),
        ("expand fields", "include"),
        ("order orderby sortby", "sort"),
        ("nace branche næringskode", "industry"),
        ("kommune", "municipality"),
        ("legalform companyform", "form"),
        ("state", "status"),
        ("land jurisdiction", "country"),
    )
    for other in others.split()
}


def _meant(name: str, known: Collection[str]) -> str | None:
    plain = "".join(filter(str.isalnum, name[:MAX_COMPARED].casefold()))
    synonym = next((each for each in _SYNONYMS.get(plain, ()) if each in known), None)
    return synonym or next(iter(nearest(name, known)), None)


def _unknown(noun: str, name: str, known: Collection[str]) -> str:
    if found := _meant(name, known):
        return f"unknown {noun}; did you mean {found}?"
    if known:
        return f"unknown {noun}; the {_plural(noun)} are {', '.join(known)}"
    return f"unknown {noun}; there are none"
