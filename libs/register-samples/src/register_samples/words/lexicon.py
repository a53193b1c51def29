"""The shape of a country's word lists."""

from dataclasses import dataclass

from register_samples.facts import Form, Industry, Place


def words(text: str) -> tuple[str, ...]:
    """The words of a text, an underscore standing for a space within one."""
    return tuple(word.replace("_", " ") for word in text.split())


def lines(text: str) -> tuple[str, ...]:
    """The lines of a text."""
    return tuple(line.strip() for line in text.strip().splitlines())


def places(table: str) -> tuple[Place, ...]:
    """Places out of lines `municipality code;municipality;town;postcodes`, one per postcode."""
    return tuple(
        Place(postcode, city, municipality, code)
        for code, municipality, city, postcodes in (line.split(";") for line in lines(table))
        for postcode in postcodes.split()
    )


def industries(table: str) -> tuple[Industry, ...]:
    """Industries out of lines `code text`."""
    return tuple(Industry(*line.split(" ", 1)) for line in lines(table))


def compounds(starts: tuple[str, ...], ends: tuple[str, ...]) -> tuple[str, ...]:
    """Every start with every end, without a letter three times in a row."""
    return tuple(
        start + end for start in starts for end in ends if start[-1] * 3 not in start + end
    )


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Common words of a country: none names a company or a person by itself."""

    given: tuple[str, ...]
    #: Surnames made of parts, which are as good as names of places, and those made of names.
    families: tuple[str, ...]
    patronymics: tuple[str, ...]
    trades: tuple[str, ...]
    #: What a firm may be called beside its trade: `Gruppen`, `Partner`.
    tags: tuple[str, ...]
    holdings: tuple[str, ...]
    associations: tuple[str, ...]
    qualifiers: tuple[str, ...]
    dwellings: tuple[str, ...]
    #: Public bodies, the place in braces.
    bodies: tuple[str, ...]
    streets: tuple[str, ...]
    industries: tuple[Industry, ...]
    places: tuple[Place, ...]
    #: The legal forms, each as often as it is met.
    forms: tuple[Form, ...]
    conjunction: str
    purposes: tuple[str, ...]
