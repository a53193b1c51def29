"""Normalisation of street names: abbreviations and endings get one spelling.

The tables join DAWA's dictionaries for Danish (`gl` is `gammel`) with the forms of bokmål and
nynorsk (`gt`, `gata`, `gaten` are `gate`). Danish and Norwegian words for the same kind of street
become one, so that a Danish spelling matches a Norwegian street. The kind is separated from the
name (`Storgata` is `stor gade`), so that a common kind does not make two streets similar.
"""

import re
from functools import lru_cache

from lookup.search.folding import FoldedText, fold_text
from lookup.search.synonyms import ABBREVIATIONS

#: The types of street, by their spellings as separate words.
KINDS = {
    "gade": ("gade", "gaden", "gate", "gata", "gaten", "gatan", "gd", "gt", "g"),
    "vej": ("vej", "vejen", "vei", "veien", "veg", "vegen", "vn", "v"),
    "plads": ("plads", "pladsen", "plass", "plassen", "pl"),
    "torv": ("torv", "torvet", "torg", "torget"),
    "alle": ("alle", "alleen", "alleén"),
    "boulevard": ("boulevard", "boulevarden", "bulevard", "boulev", "boul", "blvd", "bvd"),
    "strade": ("stræde", "strædet", "stredet", "strede", "str"),
    "terrasse": ("terrasse", "terrassen", "terr"),
}
#: Endings that are joined to the name (`Storgt`, `Kirkevn`).
ENDINGS = ("gade", "gaden", "gate", "gata", "gaten", "gt", "vej", "vejen", "vei", "veien", "veg",
           "vegen", "vn", "plads", "pladsen", "plass", "plassen", "torv", "torvet", "torg",
           "torget")  # fmt: skip
#: Words before the kind that are one only in streets; the abbreviations of all names apply, too.
#: "St." is Sankt and Store.
STREET_FORMS = {
    "sankt": ("store", "sant"),
    "nedre": ("ned",),
    "frederik": ("fr",),
    "christian": ("kr", "kristian"),
    "haveforening": ("hf",),
    "postboks": ("pb", "boks", "box", "postbox", "postbokis"),
}
#: Monarchs after whom streets are named; a number in any spelling may follow.
_MONARCHS = frozenset({
    "frederik", "christian", "valdemar", "erik", "knud", "harald", "gustav", "oscar", "oskar",
    "hakon", "olav", "karl", "carl", "magnus",
})  # fmt: skip
#: As words after folding, without the genitive's `s`.
_ORDINALS = {
    "forste": 1, "anden": 2, "annen": 2, "tredje": 3, "tredie": 3, "fjerde": 4, "femte": 5,
    "sjette": 6, "syvende": 7, "sjuende": 7, "ottende": 8, "attende": 8, "niende": 9, "tiende": 10,
    "ellevte": 11, "tolvte": 12, "tolfte": 12,
}  # fmt: skip
_ROMAN = {
    "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10,
    "xi": 11, "xii": 12, "xiii": 13, "xiv": 14, "xv": 15, "xvi": 16,
}  # fmt: skip
_NUMERAL = re.compile(r"(\d{1,2})(?:e|de|te)?s?|(\w+?)s?")
_MAX_INITIALS = 3

#: A post box in any spelling, with its number and the rest.
PO_BOX = re.compile(
    r"^(?:(?:post|p\W{0,2}(?:o\W{0,2})?)\s?(?:box|boks)|p\W{0,2}b|box|boks|postbokis)\b\.?"
    r"(?=\W*(?:nr\.?\s*)?\d|\s*$)",
    re.IGNORECASE,
)
_DOT = re.compile(r"\.(?=\S)")
#: An ending cut to its first letter (`Storg.`, `Christiansensg`); without the dot only after an s.
_CUT_ENDING = re.compile(r"^(\w{3,})(?:([gv])\.|(?<=s)(g))$")


def _by_form(table: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {fold_text(form).words: name for name, forms in table.items() for form in forms}


_KIND_OF = _by_form(KINDS)
_FULL_FORM = _by_form(ABBREVIATIONS) | _by_form(STREET_FORMS)
_ENDING = re.compile(rf"^(\w{{2,}}?)({'|'.join(sorted(ENDINGS, key=len, reverse=True))})$")
_CUT_KIND = {"g": "gade", "v": "vej"}


@lru_cache(maxsize=65_536)
def fold_street(text: str) -> FoldedText:
    """Returns a street's name with its kind as a separate word; cached, as streets recur."""
    words = _DOT.sub(". ", PO_BOX.sub("postboks", text.strip())).split()
    spelled = [_word(word, last=position == len(words) - 1) for position, word in enumerate(words)]
    return fold_text(" ".join(_with_numerals(spelled)))


def abbreviates(street: str, other: str) -> bool:
    """Returns True if two folded streets differ only in words that one of them cuts to initials.

    `h c andersens boulevard` and `hc andersens boulevard` abbreviate `hans christian andersens
    boulevard`. At least one word that is no kind of street must be written in full in both.
    """
    words, others = street.split(" "), other.split(" ")
    shared = {word for word in words if len(word) > 1}.intersection(others)
    return bool(shared.difference(KINDS)) and (
        _abbreviates(words, others) or _abbreviates(others, words)
    )


def _abbreviates(short: list[str], full: list[str]) -> bool:
    if not short or not full:
        return not short and not full
    if short[0] == full[0]:
        return _abbreviates(short[1:], full[1:])
    initials, written = short[0], full[: len(short[0])]
    matches = len(written) == len(initials) <= _MAX_INITIALS and all(
        word[0] == initial and len(word) > 1
        for initial, word in zip(initials, written, strict=True)
    )
    return matches and _abbreviates(short[1:], full[len(initials) :])


def _with_numerals(words: list[str]) -> list[str]:
    """Returns a street's words with a monarch's number in digits: `VII's`, `den Syvendes`."""
    folded = [fold_text(word).words for word in words]
    for position, word in enumerate(folded[:-2], start=1):
        at = position + (folded[position] == "den")
        if word in _MONARCHS and (number := _numeral(folded[at])):
            genitive = folded[at + 1 : at + 2] == ["s"]
            return [*words[:position], str(number), *words[at + 1 + genitive :]]
    return words


def _numeral(word: str) -> int | None:
    found = _NUMERAL.fullmatch(word)
    if found is None:
        return None
    if found[1]:
        return int(found[1])
    return _ROMAN.get(found[2]) or _ORDINALS.get(found[2])


def proper_words(street: str) -> str:
    """Returns a folded street's words without its kind, which many streets share."""
    name, _, kind = street.rpartition(" ")
    return name if name and kind in KINDS else street


def names_kind(text: str) -> bool:
    """Returns True if a text ends in a kind of street, as most street names do."""
    return fold_street(text).words.rsplit(" ", 1)[-1] in KINDS


def _word(word: str, *, last: bool) -> str:
    folded = fold_text(word)
    if last and folded.words in _KIND_OF:
        return _KIND_OF[folded.words]
    if last and (parted := _parted(word.casefold(), folded.spelled)):
        return parted
    return _FULL_FORM.get(folded.words, word)


def _parted(word: str, spelled: str) -> str | None:
    """Returns the name and kind of a street written as one word; None if it ends in no kind."""
    if cut := _CUT_ENDING.match(word):
        return f"{cut[1]} {_CUT_KIND[cut[2] or cut[3]]}"
    # A harbour (`havn`) is not a road.
    if spelled.endswith("havn") or not (ending := _ENDING.match(spelled)):
        return None
    return f"{ending[1]} {_KIND_OF[ending[2]]}"
