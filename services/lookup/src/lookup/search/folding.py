"""Folding: the normalisation of names and addresses before they are compared.

Case, accents, punctuation and a company's legal form are ignored. `æ ø å` are special: they are
written as they are, as `ae oe aa` and as `a o a`, even mixed in one word (`Ærø`, `Aero`). A folded
text therefore has two forms. `words` collapses all three spellings into one, and is searched and
scored; but it also makes `Moe` and `Mo` equal, which are two names. `spelled` keeps the letters,
and `same_spelling` decides by it whether two texts of equal `words` are spellings of one another.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple

from lookup.search.synonyms import CONNECTORS, OWNER_MARK, SAME_FORM, SAME_WORD, SLASHED

_SLASHED = re.compile(r"(?<!\w)(?:[aegh]/[bf](?!\w)|v/)", re.IGNORECASE)

#: Words that are dropped or replaced.
_REWRITTEN = CONNECTORS.union(SAME_WORD)


#: Letters that one character may unfold to.
_MOST_UNFOLDED = 18

#: Maximum letters of a folded text: no name of either register is as long.
MAX_FOLDED = 256


def cut(text: str) -> str:
    """Returns the beginning of a text that unfolds to about `MAX_FOLDED` letters.

    A query is cut before it is read: of three hundred ligatures each reading would fold thousands
    of letters.
    """
    if len(text) <= MAX_FOLDED // _MOST_UNFOLDED or text.isascii():
        return text
    if len(unicodedata.normalize("NFKD", text)) <= 2 * MAX_FOLDED:
        return text
    lengths = accumulate(len(unicodedata.normalize("NFKD", char)) for char in text)
    return text[: sum(length <= MAX_FOLDED for length in lengths)]


def expanded(text: str) -> str:
    """Returns a text with slashed abbreviations written out, before folding would split them."""
    if "/" not in text:
        return text
    return _SLASHED.sub(lambda found: SLASHED.get(found[0].lower(), found[0]), text)


def canonical(words: list[str], *, is_partial: bool = False) -> list[str]:
    """Returns words as compared, often the same list; connectors only if there is nothing else.

    With `is_partial` the last word stays as it is: `St` may become `Storm`, and not only `Sankt`.
    """
    if _REWRITTEN.isdisjoint(words) and min(map(len, words), default=0) > 1:
        return words
    found: list[str] = []
    initials: list[str] = []
    for word in (*words, ""):
        if len(word) == 1 and word.isalpha():
            initials.append(word)
            continue
        if initials:
            found += _full("".join(initials))
            initials.clear()
        if word and word not in CONNECTORS:
            found += _full(word)
    if is_partial and found and words[-1] in _REWRITTEN:
        found = [*canonical(words[:-1]), words[-1]]
    return found or words


def _full(word: str) -> list[str]:
    return SAME_WORD.get(word, word).split(" ")


def words_before_owner(words: Sequence[str]) -> int:
    """Returns the number of words before the mark of an owner's name; all if there is none."""
    return words.index(OWNER_MARK) if OWNER_MARK in words[1:] else len(words)


#: Maximum letters of a part of a text whose folding is cached.
_MAX_KEPT_LENGTH = 24

#: Spellings of a special letter; Swedish and German letters are treated as these.
SPELLINGS = {"æ": ("ae", "a"), "ø": ("oe", "o"), "å": ("aa", "a")}
SAME_LETTERS = {"ä": "æ", "ö": "ø", "œ": "ø", "ð": "d", "đ": "d", "þ": "th", "ł": "l", "ı": "i"}
APOSTROPHES = "'’‘`´ʼ"

#: Endings of a name that are its legal form, as they are spelled: `Aes` is not `AS`.
TRAILING_FORMS = (
    "a/s", "as", "aps", "ivs", "i/s", "k/s", "ks", "p/s", "a.m.b.a.", "amba", "s.m.b.a.", "smba",
    "f.m.b.a.", "fmba", "a.p.s.", "i.v.s.", "a.s.a.", "a.n.s.", "n.u.f.", "asa", "ans", "da", "sa",
    "s.a.", "ba", "enk", "nuf", "iks",
    "aktieselskab", "aktieselskabet", "anpartsselskab", "anpartsselskabet", "interessentskab",
    "interessentskabet", "kommanditselskab", "kommanditselskabet", "partnerselskab",
    "aksjeselskap", "iværksætterselskab", "ivaerksaetterselskab", "ivarksatterselskab",
    "allmennaksjeselskap", "ansvarlig selskap", "kommandittselskap", "enkeltpersonforetak",
    "samvirkeforetak", "ltd", "limited", "plc", "inc", "llc", "gmbh", "ag", "ab", "oy", "bv",
    "b.v.", "nv", "n.v.", "srl", "s.r.l.", "sarl",
)  # fmt: skip
#: Forms that may also come first (`A/S Dansk Kul`); shorter ones would match the `Da` of `Da
#: Vinci`.
LEADING_FORMS = (
    "a/s", "as", "aps", "i/s", "k/s", "p/s", "aktieselskabet", "aktieselskab", "anpartsselskabet",
    "anpartsselskab", "interessentskabet", "interessentskab", "kommanditselskabet",
)  # fmt: skip

#: Runs of letters that become one `a` or one `o`: every beginning of a spelling of a special
#: letter.
_WRITTEN_A = re.compile(r"[æå][aeæå]*|a[aeæå]+")
_WRITTEN_O = re.compile(r"øe*|oe+")
_LETTER_GROUPS = re.compile(r"[aæå][aeæå]*|[oø]e*|.")


class FoldedText(NamedTuple):
    """A folded text, in the form that is compared and with its letters as written."""

    #: Words separated by one space, with every spelling of `æ ø å` collapsed. Compared and scored.
    words: str
    #: The same words with their letters as written, lower case and without accents.
    spelled: str

    @property
    def key(self) -> str:
        """Equal for texts that are the same name; the separation of words does not matter."""
        return self.words.replace(" ", "")

    @property
    def letters(self) -> str:
        """The text with its letters, without spaces."""
        return self.spelled.replace(" ", "")

    @property
    def tokens(self) -> list[str]:
        """The words with their letters, which are compared one by one."""
        return self.spelled.split(" ")


def fold_text(text: str) -> FoldedText:
    """Returns a folded text without a legal form, such as a street; accepts any text.

    Letters beyond `MAX_FOLDED` are dropped.
    """
    spelled = _tokens(text)
    return FoldedText(words=" ".join(map(collapsed, spelled)), spelled=" ".join(spelled))


def fold_name(text: str) -> FoldedText:
    """Returns a company's folded name; only a legal form or only signs stay."""
    return fold_name_and_form(text)[0]


def form_of(text: str) -> str:
    """Returns the abbreviated legal form at the end or beginning of a name; empty if there is none.

    `Nordlys Aktieselskab` and `Nordlys A/S` have the same form.
    """
    spelled = _tokens(text)
    return _form_outside(spelled, *_own_part(spelled, text))


def fold_name_and_form(text: str) -> tuple[FoldedText, str]:
    """Returns `fold_name` and `form_of` of a company's name, in one pass."""
    written_out = expanded(text)
    spelled = _tokens(written_out)
    start, end = _own_part(spelled, written_out)
    form = form_of(text) if written_out != text else _form_outside(spelled, start, end)
    return _part(spelled, start, end), form


class Initials(NamedTuple):
    """A text that begins with initials which spell a legal form: `A. S. Prøven`."""

    letters: str
    #: With these as a part of the name.
    as_name: str
    #: With these as its form; None for a text with another form at its end: `A S Holding AS`.
    as_form: str | None


#: Letters with a full stop or a space after each, before a word.
_INITIALS = re.compile(r"\s*((?:[^\W\d_](?:\.\s*|\s+)){2,4})(?=[^\W_]{2})")


def read_initials(text: str) -> Initials | None:
    """Returns the readings of a text that begins with initials which may be a legal form."""
    found = _INITIALS.match(text)
    letters = "".join(filter(str.isalpha, found[1])).lower() if found else ""
    if found is None or letters not in _SPELLED:
        return None
    rest = text[found.end() :]
    words = _tokens(expanded(rest))
    is_alone = _before_trailing_forms(words, rest) == len(words)
    return Initials(
        letters, f"{'.'.join(letters)}. {rest}", f"{_SPELLED[letters]} {rest}" if is_alone else None
    )


def own_writing(text: str) -> str:
    """Returns a name without its legal form as it is written, with its signs, in lower case.

    `C# Konsulenten ApS` is `c# konsulenten`.
    """
    written_out = unicodedata.normalize("NFC", expanded(text)).lower()
    start, end = _own_part(_tokens(written_out), written_out)
    parts = written_out.split()
    ends = list(accumulate(len(_tokens(part)) if _has_word(part) else 0 for part in parts))
    own = (
        part
        for part, last in zip(parts, ends, strict=True)
        if last <= end and (last > start or not start)
    )
    return " ".join(own).strip(",;. ")


def fold_beginning(text: str, *, is_partial: bool = False) -> FoldedText:
    """Returns an incomplete text folded, with its end: `Nordisk As` may become `Nordisk Asfalt`.

    Only a leading legal form is dropped. With `is_partial` the last word is no abbreviation yet.
    """
    spelled = _tokens(expanded(text))
    start = _after_leading_forms(spelled, len(spelled), text)
    return _folded(canonical(spelled[start:], is_partial=is_partial))


def without_partial_form(text: str) -> FoldedText:
    """Returns a folded name with an incomplete legal form: `Prøven A` may become `Prøven A/S`."""
    written_out = expanded(text)
    spelled = _tokens(written_out)
    end = _before_trailing_forms(_before_partial_form(spelled, written_out), written_out)
    return _part(spelled, _after_leading_forms(spelled, end, written_out), end)


def refolded(spelled: str) -> FoldedText:
    """Returns the folded text of a `spelled` form."""
    return FoldedText(words=collapsed(spelled), spelled=spelled)


def _part(spelled: list[str], start: int, end: int) -> FoldedText:
    return _folded(canonical(spelled[start:end]))


def _folded(compared: list[str]) -> FoldedText:
    # Word by word: names have few different words, and `collapsed` caches them.
    return FoldedText(" ".join(map(collapsed, compared)), " ".join(compared))


def _own_part(words: list[str], text: str) -> tuple[int, int]:
    end = _before_trailing_forms(words, text)
    return _after_leading_forms(words, end, text), end


def _form_outside(words: list[str], start: int, end: int) -> str:
    if not start and end == len(words):
        return ""
    form = "".join(words[end:] or words[:start])
    return SAME_FORM.get(form, form)


def same_spelling(one: str, other: str) -> bool:
    """Returns True if two `spelled` texts of equal `words` differ only in the spelling of `æ ø å`.

    `møller` is `moeller` and `moller`, and `ærø` is `aero`; but `moe` is not `mo`, though `moe` and
    `mo` are both `mø`.
    """
    one, other = one.replace(" ", ""), other.replace(" ", "")
    if one == other:
        return True
    groups, others = _LETTER_GROUPS.findall(one), _LETTER_GROUPS.findall(other)
    return len(groups) == len(others) and all(
        first == second or second in SPELLINGS.get(first, ()) or first in SPELLINGS.get(second, ())
        for first, second in zip(groups, others, strict=True)
    )


def one_line(text: str) -> str:
    """Returns a text on one line, without control characters and superfluous spaces."""
    return " ".join(text.split())


def _tokens(text: str) -> list[str]:
    """Returns the folded words of a text, at least one; letters beyond `MAX_FOLDED` are dropped."""
    parts = text.split()
    # Long parts are rare, and caching them would let clients fill the memory.
    is_kept = len(text) <= _MAX_KEPT_LENGTH or max(map(len, parts), default=0) <= _MAX_KEPT_LENGTH
    found = list(chain.from_iterable(map(_fold_kept if is_kept else _fold_part, parts)))
    # An ASCII text folds to at most as many letters.
    if found and len(text) <= MAX_FOLDED and text.isascii():
        return found
    spelled = " ".join(found) or _only_signs(text)
    if found and len(spelled) <= MAX_FOLDED:
        return found
    return spelled[:MAX_FOLDED].rstrip().split(" ")


def _fold_part(part: str) -> tuple[str, ...]:
    if not part.isascii():
        part = unicodedata.normalize("NFKC", part)
    return tuple(part.casefold().translate(_LETTERS).split())


_fold_kept = lru_cache(maxsize=32_768)(_fold_part)


def _only_signs(text: str) -> str:
    """Returns the signs of a text without letters and digits (`-`, `&`)."""
    signs = unicodedata.normalize("NFKC", text.casefold())
    kept = "".join(signs.encode("utf-8", "replace").decode().split())
    # Signs that were separated by a space may be unordered.
    return unicodedata.normalize("NFKC", kept)


@lru_cache(maxsize=65_536)
def collapsed(spelled: str) -> str:
    """Returns a folded text with every spelling of `æ ø å` as one letter."""
    if "ae" in spelled or "aa" in spelled or "oe" in spelled or not spelled.isascii():
        return _WRITTEN_O.sub("o", _WRITTEN_A.sub("a", spelled))
    return spelled


class _Letters(dict[int, str]):
    """The folded form of each character; common ones are cached, others computed each time."""

    def __missing__(self, code: int) -> str:
        return _letter(chr(code))


@lru_cache(maxsize=4096)
def _letter(char: str) -> str:
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
    found: dict[str, list[list[str]]] = {}
    for form in forms:
        words = fold_text(form).spelled.split()
        found.setdefault(words[edge], []).append(words)
    return {word: tuple(sorted(same, key=len, reverse=True)) for word, same in found.items()}


#: Leading forms by their letters, those with a slash for the same letters.
_SPELLED = {form.replace("/", ""): form for form in reversed(LEADING_FORMS) if len(form) < 4}

_TRAILING = _forms_by_edge(TRAILING_FORMS, -1)
_LEADING = _forms_by_edge(LEADING_FORMS, 0)


#: Legal forms of one word as compared: `A/S` is `as`.
FORM_WORDS = frozenset(
    words[0]
    for form in TRAILING_FORMS
    if len(words := canonical(fold_text(form).spelled.split(" "))) == 1
)

#: Prefixes of legal forms, as they end a partly typed name; complete forms included.
_PARTIAL_FORMS = {
    form[:length]
    for form in (fold_text(text).spelled for text in TRAILING_FORMS)
    for length in range(1, len(form) + 1)
}
_MAX_FORM_WORDS = max(form.count(" ") + 1 for form in _PARTIAL_FORMS)


def _before_partial_form(words: list[str], text: str) -> list[str]:
    """Returns the words before the longest prefix of a legal form at the end; at least one."""
    for start in range(max(1, len(words) - _MAX_FORM_WORDS), len(words)):
        if " ".join(words[start:]) in _PARTIAL_FORMS:
            return words if _is_initial(words, start, text) else words[:start]
    return words


def _before_trailing_forms(words: list[str], text: str) -> int:
    end = len(words)
    while end > 1 and (forms := _TRAILING.get(words[end - 1])):
        taken = next((len(f) for f in forms if len(f) < end and words[end - len(f) : end] == f), 0)
        if not taken or (taken > 1 and _is_initial(words, end - taken, text)):
            break
        end -= taken
    return end


def _is_initial(words: list[str], start: int, text: str) -> bool:
    """Returns True if the words from a place on are initials, and no form: `T.I.S.`, `J K S A/S`.

    They follow another initial without a space, or with a space between each of them.
    """
    if len(words[start - 1]) > 1 or len(words[start]) > 1:
        return False
    ends = list(accumulate(len(_tokens(part)) for part in text.split() if _has_word(part)))
    # Where each part of the text between two spaces ends, as a number of words.
    return start not in ends or (start + 1 in ends and start + 1 < len(words))


def _has_word(part: str) -> bool:
    return any(map(str.isalnum, part))


def _after_leading_forms(words: list[str], end: int, text: str) -> int:
    """Returns the beginning of a name's own words, of which there is at least one before `end`."""
    start = 0
    while start < end - 1 and (forms := _LEADING.get(words[start])):
        fitting = (len(f) for f in forms if len(f) < end - start)
        taken = next((n for n in fitting if words[start : start + n] in forms), 0)
        if not taken or (taken > 1 and (start or _begins_with_initials(words, taken, text, end))):
            break
        start += taken
    return start


def _begins_with_initials(words: list[str], taken: int, text: str, end: int) -> bool:
    """Returns True if the first words are initials, and no form.

    `K.S. Prøven`, `A S P Eiendom`, and `A S Holding AS`, which has its form at its end.
    """
    first = text.split(maxsplit=1)[0]
    if "/" in first:
        return False
    return len(first) > 1 or len(words[taken]) == 1 or end < len(words)
