"""Names as people type them, by their differences from the registered name."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final

from bench.edits import Edit, one_typo
from lookup.search.folding import TRAILING_FORMS, fold_name, fold_text
from lookup.search.synonyms import CONNECTORS, GENERIC

_COUNTRY: Final = "Danmark"
_TOWNS: Final = ("Aalborg", "Esbjerg", "Kolding", "Odense", "Randers", "Vejle", "Viborg")
_MIN_LETTERS, _LONG_WORD = 5, 7
_SHORTEST_PART: Final = 3
_FORMS: Final = frozenset(fold_text(form).spelled for form in TRAILING_FORMS)


class Words:
    """The words of names, and how many names have each."""

    def __init__(self, names: Sequence[str]) -> None:
        self._counts = Counter(word for name in names for word in set(fold_name(name).tokens))

    def parts(self, name: str) -> list[str]:
        """Returns the words as written, without legal forms after the first word."""
        parts = [part for part in name.split() if any(map(str.isalnum, part))]
        own = (part for part in parts[1:] if fold_text(part).spelled not in _FORMS)
        return [*parts[:1], *own]

    def is_rare(self, word: str) -> bool:
        """Returns True if one name has the word and the word is distinctive."""
        folded = fold_name(word).tokens[0]
        return self._counts[folded] == 1 and folded not in GENERIC


#: Makes a query of a name's words; None if this way does not apply to the name.
Way = Callable[[list[str], Words, Random], str | None]


def town_of(parts: Sequence[str]) -> str:
    """Returns the town of a company with this name; the samples name no Danish towns."""
    return _TOWNS[sum(map(len, parts)) % len(_TOWNS)]


def _own(parts: list[str], _: Words, __: Random) -> str | None:
    return " ".join(parts)


def _rare_first(parts: list[str], words: Words, _: Random) -> str | None:
    first = parts[0] if len(parts) > 1 else ""
    return first if len(first) >= _MIN_LETTERS and words.is_rare(first) else None


def _rare_first_typo(parts: list[str], words: Words, random: Random) -> str | None:
    first = _rare_first(parts, words, random)
    return one_typo(first, random) if first and len(first) >= _LONG_WORD else None


def _first_two(parts: list[str], words: Words, _: Random) -> str | None:
    two = " ".join(parts[:2])
    # `A. T.` are initials, which are one word.
    rare = len(fold_name(two).tokens) > 1 and any(words.is_rare(part) for part in parts[:2])
    return two if rare and len(parts) > 3 else None


def _with_country(parts: list[str], _: Words, __: Random) -> str | None:
    return " ".join([*parts, _COUNTRY])


def _with_town(parts: list[str], _: Words, __: Random) -> str | None:
    return " ".join([*parts, town_of(parts)])


def _without_form_typo(parts: list[str], _: Words, random: Random) -> str | None:
    own = " ".join(parts)
    return one_typo(own, random) if len(own) > _LONG_WORD else None


def _together(parts: list[str], _: Words, __: Random) -> str | None:
    are_words = all(
        len(part) >= _SHORTEST_PART and fold_text(part).words not in CONNECTORS
        for part in parts[:2]
    )
    return "".join(parts[:2]) + " " + " ".join(parts[2:]) if are_words and len(parts) > 2 else None


def _apart(parts: list[str], words: Words, random: Random) -> str | None:
    first = _rare_first_typo(parts, words, random) and parts[0]
    if not first or not first.isalpha():
        return None
    split = random.randint(_SHORTEST_PART, len(first) - _SHORTEST_PART)
    return " ".join([first[:split], first[split:], *parts[1:]])


def _initials(parts: list[str], _: Words, __: Random) -> str | None:
    together = parts[0].replace(".", "")
    are_initials = together.isalpha() and together.isupper() and len(together) in (2, 3)
    return " ".join([*together, *parts[1:]]) if len(parts) > 1 and are_initials else None


def _acronym(parts: list[str], words: Words, _: Random) -> str | None:
    in_brackets = (part[1:-1] for part in parts[1:] if part[0] + part[-1] == "()")
    return next((one for one in in_brackets if one.isupper() and words.is_rare(one)), None)


def _shuffled(parts: list[str], _: Words, random: Random) -> str | None:
    letters = "".join(parts)
    pieces = [letters[split : split + 3] for split in range(0, len(letters), 3)]
    shuffled = random.sample(pieces, len(pieces))
    moved = all(one != other for one, other in zip(pieces, shuffled, strict=True))
    return "".join(shuffled) if moved and len(pieces) > 3 else None


def _generic(_: list[str], __: Words, random: Random) -> str | None:
    return random.choice(sorted(GENERIC))


#: Except for these two, queries are made of the current name.
TRADE_NAME, FORMER_NAME = "trade name", "former name"
REGISTERED: Final[Mapping[str, Way]] = {
    "as it is, without its form": _own,
    "rare first word": _rare_first,
    "rare first word, one typo": _rare_first_typo,
    "first two words of four or more": _first_two,
    "with the country's name": _with_country,
    "without legal form, one typo": _without_form_typo,
    "with the town": _with_town,
    "first two words together": _together,
    "first word apart": _apart,
    "initials apart": _initials,
    "acronym in the name": _acronym,
    TRADE_NAME: _own,
    FORMER_NAME: _own,
}
#: Queries that no company matches.
OTHER_REGISTER: Final = "name of another register"
UNREGISTERED: Final[Mapping[str, Way]] = {
    OTHER_REGISTER: _own,
    "shuffled syllables": _shuffled,
    "one generic word": _generic,
}


def typed_names(words: Words) -> dict[str, Edit]:
    """Returns the ways of typing names, as edits of names with these words."""

    def edited(way: Way, name: str, random: Random) -> str | None:
        parts = words.parts(name)
        return way(parts, words, random) if parts else None

    ways = {**REGISTERED, **UNREGISTERED}
    return {
        "verbatim": lambda name, _: name,
        **{label: partial(edited, way) for label, way in ways.items()},
    }
