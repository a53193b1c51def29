"""What of a name or an address counts when two are compared.

Case, accents, punctuation and a company's legal form do not. `æ ø å` are special: people write them
as they are, as `ae oe aa` and as `a o a`, also mixed in one word (`Ærø`, `Aero`). So a text is kept
in two forms. `words` collapses all three spellings into one, and candidates are found and scored
by it; but it also makes `Moe` and `Mo` one, which are two names. `spelled` keeps the letters, and
`same_spelling` tells by it whether two texts of equal `words` really are spellings of one another.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from lookup.search.synonyms import SAME_FORM
from lookup.search.tokens import canonical, expanded

#: Letters kept of a folded text: one character of a question may unfold to 18 letters, and no name
#: of either register is as long.
MAX_FOLDED = 256

#: Letters of a part of a text that is kept with what it folds to.
_LONGEST_KEPT = 24

#: How a special letter may be written. Swedish and German letters count as ours.
SPELLINGS = {"æ": ("ae", "a"), "ø": ("oe", "o"), "å": ("aa", "a")}
SAME_LETTERS = {"ä": "æ", "ö": "ø", "œ": "ø", "ð": "d", "đ": "d", "þ": "th", "ł": "l", "ı": "i"}
APOSTROPHES = "'’‘`´ʼ"

#: Ends of a name that tell the legal form and nothing else, as words after folding.
TRAILING_FORMS = (
    "a/s", "as", "aps", "ivs", "i/s", "k/s", "ks", "p/s", "a.m.b.a.", "amba", "s.m.b.a.", "smba",
    "f.m.b.a.", "fmba", "asa", "ans", "da", "sa", "s.a.", "ba", "enk", "nuf", "iks",
    "aktieselskab", "aktieselskabet", "anpartsselskab", "anpartsselskabet", "interessentskab",
    "kommanditselskab", "partnerselskab", "iværksætterselskab", "aksjeselskap",
    "allmennaksjeselskap", "ansvarlig selskap", "kommandittselskap", "enkeltpersonforetak",
    "samvirkeforetak", "ltd", "limited", "plc", "inc", "llc", "gmbh", "ag", "ab", "oy", "bv",
    "b.v.", "nv", "n.v.", "srl", "s.r.l.", "sarl",
)  # fmt: skip
#: Forms that also stand first (`A/S Dansk Kul`); shorter ones would take the `Da` of `Da Vinci`.
LEADING_FORMS = (
    "a/s", "as", "aps", "i/s", "k/s", "p/s", "aktieselskabet", "aktieselskab", "anpartsselskabet",
    "anpartsselskab", "interessentskabet", "interessentskab", "kommanditselskabet",
)  # fmt: skip

#: What becomes one `a` or one `o`: every run that a spelling of a special letter may begin.
_WRITTEN_A = re.compile(r"[æå][aeæå]*|a[aeæå]+")
_WRITTEN_O = re.compile(r"øe*|oe+")
_LETTER_GROUPS = re.compile(r"[aæå][aeæå]*|[oø]e*|.")


class Folded(NamedTuple):
    #: Words parted by one space, every spelling of `æ ø å` collapsed. Compare and score these.
    words: str
    #: The same words with the letters as they were written, lower case and without accents.
    spelled: str

    @property
    def key(self) -> str:
        """Equal for texts that differ in nothing that counts; how words are parted does not."""
        return self.words.replace(" ", "")

    @property
    def tokens(self) -> list[str]:
        """The words with their letters, which are compared one by one."""
        return self.spelled.split(" ")


def fold_text(text: str) -> Folded:
    """Fold a text that has no legal form to drop, such as a street; total for any text.

    What a text says beyond `MAX_FOLDED` letters is left out.
    """
    parts = [folded for part in text.split() if (folded := _fold_part(part)).words]
    spelled = " ".join([part.spelled for part in parts])
    if not 0 < len(spelled) <= MAX_FOLDED:
        return refolded((spelled or _only_signs(text))[:MAX_FOLDED].rstrip())
    return Folded(words=" ".join([part.words for part in parts]), spelled=spelled)


def fold_name(text: str) -> Folded:
    """Fold a company's name; a name that is only a legal form or only signs keeps it."""
    folded = fold_text(expanded(text))
    return _part(folded, *_own_part(folded.words.split(" ")))


def form_of(text: str) -> str:
    """The legal form that a name's text ends or begins with, abbreviated; empty where it has none.

    That of `Nordlys Aktieselskab` is that of `Nordlys A/S`.
    """
    words = fold_text(text).words.split(" ")
    return _form_beside(words, *_own_part(words))


def fold_name_and_form(text: str) -> tuple[Folded, str]:
    """`fold_name` and `form_of` in one pass over a text without slashed abbreviations."""
    if expanded(text) != text:
        return fold_name(text), form_of(text)
    folded = fold_text(text)
    words = folded.words.split(" ")
    start, end = _own_part(words)
    return _part(folded, start, end), _form_beside(words, start, end)


def fold_beginning(text: str) -> Folded:
    """Fold what may go on: what stands last is kept, for `Nordisk As` may become `Nordisk Asfalt`.

    Only a legal form that stands first is dropped.
    """
    folded = fold_text(expanded(text))
    words = folded.words.split(" ")
    return _part(folded, _after_leading_forms(words, len(words)), len(words))


def without_begun_form(text: str) -> Folded:
    """Fold a name whose legal form may be written in part: `Prøven A` is `Prøven A/S` by and by."""
    folded = fold_text(expanded(text))
    words = folded.words.split(" ")
    end = _before_trailing_forms(_before_begun_form(words))
    return _part(folded, _after_leading_forms(words, end), end)


def refolded(spelled: str) -> Folded:
    """What a kept `spelled` text was folded to."""
    return Folded(words=collapsed(spelled), spelled=spelled)


def _part(folded: Folded, start: int, end: int) -> Folded:
    """The words of a folded name from one place to another, as they are compared."""
    spelled = canonical(folded.spelled.split(" ")[start:end])
    # Word by word, since names have few different words, and `collapsed` keeps them.
    return Folded(words=" ".join(map(collapsed, spelled)), spelled=" ".join(spelled))


def _own_part(words: list[str]) -> tuple[int, int]:
    """The places of the first of a name's own words and behind the last, its legal forms beside."""
    end = _before_trailing_forms(words) if words[-1] in _TRAILING else len(words)
    return (_after_leading_forms(words, end) if words[0] in _LEADING else 0), end


def _form_beside(words: list[str], start: int, end: int) -> str:
    form = "".join(words[end:] or words[:start])
    return SAME_FORM.get(form, form)


def same_spelling(one: str, other: str) -> bool:
    """Whether two `spelled` texts of equal `words` differ only in how `æ ø å` are written.

    `møller` is `moeller` and `moller`, and `ærø` is `aero`; but `moe` is not `mo`, though `moe` and
    `mo` are both `mø`.
    """
    one, other = one.replace(" ", ""), other.replace(" ", "")
    if one == other:
        return True
    groups, others = _LETTER_GROUPS.findall(one), _LETTER_GROUPS.findall(other)
    return len(groups) == len(others) and all(map(_same_group, groups, others))


def _same_group(one: str, other: str) -> bool:
    return one == other or other in SPELLINGS.get(one, ()) or one in SPELLINGS.get(other, ())


def one_line(text: str) -> str:
    """A text without control characters that part it, and without needless spaces."""
    return " ".join(text.split())


def _fold_part(part: str) -> Folded:
    """What stands between two spaces, folded to words or to nothing."""
    # Long ones are rare, and would let clients fill the memory.
    return _fold_kept(part) if len(part) <= _LONGEST_KEPT else _fold_anew(part)


def _fold_anew(part: str) -> Folded:
    if not part.isascii():
        part = unicodedata.normalize("NFKC", part)
    return refolded(" ".join(part.casefold().translate(_LETTERS).split()))


_fold_kept = lru_cache(maxsize=32_768)(_fold_anew)


def _only_signs(text: str) -> str:
    """What is left of a text without any letter or digit (`-`, `&`): its signs."""
    signs = unicodedata.normalize("NFKC", text.casefold())
    kept = "".join(signs.encode("utf-8", "replace").decode().split())
    # Signs that a space had kept apart may have an order of their own.
    return unicodedata.normalize("NFKC", kept)


@lru_cache(maxsize=65_536)
def collapsed(spelled: str) -> str:
    """A folded text with every spelling of `æ ø å` as one letter."""
    if "ae" in spelled or "aa" in spelled or "oe" in spelled or not spelled.isascii():
        return _WRITTEN_O.sub("o", _WRITTEN_A.sub("a", spelled))
    return spelled


class _Letters(dict[int, str]):
    """What becomes of each character; the common ones are kept, the others worked out each time."""

    def __missing__(self, code: int) -> str:
        return _letter(chr(code))


def _letter(char: str) -> str:
    """A character as lower-case letters and digits without accents; a space parts words."""
    if char in SPELLINGS:
        return char
    if char in SAME_LETTERS:
        return SAME_LETTERS[char]
    if char in APOSTROPHES or unicodedata.combining(char):
        return ""
    decomposed = unicodedata.normalize("NFKD", char).casefold()
    kept = (c for c in decomposed if not unicodedata.combining(c))
    return "".join(c if c.isalnum() else " " for c in kept)


_LETTERS = _Letters({code: _letter(chr(code)) for code in range(0x250)})


def _forms_by_edge(forms: tuple[str, ...], edge: int) -> dict[str, tuple[list[str], ...]]:
    """The words of each form under the word at its outer edge, longest form first."""
    found: dict[str, list[list[str]]] = {}
    for form in forms:
        words = fold_text(form).words.split()
        found.setdefault(words[edge], []).append(words)
    return {word: tuple(sorted(same, key=len, reverse=True)) for word, same in found.items()}


_TRAILING = _forms_by_edge(TRAILING_FORMS, -1)
_LEADING = _forms_by_edge(LEADING_FORMS, 0)


#: Single words that tell a legal form, wherever they stand.
FORM_WORDS = frozenset(_TRAILING) - {"selskap"}

#: What a legal form at the end of a name looks like while it is typed, whole ones included.
_BEGUN = {
    form[:length]
    for form in (fold_text(text).words for text in TRAILING_FORMS)
    for length in range(1, len(form) + 1)
}
_MOST_WORDS_OF_A_FORM = max(form.count(" ") + 1 for form in _BEGUN)


def _before_begun_form(words: list[str]) -> list[str]:
    """The words before the longest end that begins a legal form; at least one word is left."""
    for start in range(max(1, len(words) - _MOST_WORDS_OF_A_FORM), len(words)):
        if " ".join(words[start:]) in _BEGUN:
            return words[:start]
    return words


def _before_trailing_forms(words: list[str]) -> int:
    """Where a name's own words end; at least one word is its own."""
    end = len(words)
    while end > 1:
        forms = _TRAILING.get(words[end - 1], ())
        taken = next((len(f) for f in forms if len(f) < end and words[end - len(f) : end] == f), 0)
        if not taken:
            break
        end -= taken
    return end


def _after_leading_forms(words: list[str], end: int) -> int:
    """Where a name's own words begin; at least one word before `end` is its own."""
    start = 0
    while start < end - 1:
        forms = _LEADING.get(words[start], ())
        fitting = (len(f) for f in forms if len(f) < end - start)
        taken = next((n for n in fitting if words[start : start + n] in forms), 0)
        # `A.S.A.` are initials.
        if not taken or len(words[start + taken]) == 1:
            break
        start += taken
    return start
