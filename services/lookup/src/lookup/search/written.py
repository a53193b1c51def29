"""Whole names as written: without spaces, and with their legal form.

A typo or a misplaced space in a legal form hides it: `Nordlys AXS`, `Nordly sAS`. Both are one edit
from the name as written, although their words are not those of the name.
"""

from collections.abc import Iterator
from functools import lru_cache

from lookup.search.figures import is_roman, numbers_in
from lookup.search.folding import TRAILING_FORMS, Folded, fold_text, refolded
from lookup.search.matching import edits_between
from lookup.search.synonyms import SAME_FORM

#: The letters of each legal form that ends a name.
_FORMS = {fold_text(form).letters for form in TRAILING_FORMS}
_MAX_FORM_LETTERS = max(map(len, _FORMS)) + 1


def cut_ends(written: Folded) -> Iterator[tuple[Folded, str]]:
    """Yields a name before and after each place near its end."""
    words = written.tokens
    end = ""
    while words and len(end) < _MAX_FORM_LETTERS:
        end = words[-1][-1] + end
        words = [*words[:-1], words[-1][:-1]] if len(words[-1]) > 1 else words[:-1]
        if words:
            yield refolded(" ".join(words)), end


@lru_cache(maxsize=4096)
def forms_like(end: str) -> dict[str, int]:
    """Returns the legal forms that a text may be, each with its edits: none or one."""
    if len(end) > _MAX_FORM_LETTERS or (end not in _FORMS and _is_numeral(end)):
        return {}
    found: dict[str, int] = {}
    for form in _FORMS:
        edits = edits_between(end, form, 1)
        if edits <= 1:
            called = SAME_FORM.get(form, form)
            found[called] = min(edits, found.get(called, edits))
    return found


def _is_numeral(end: str) -> bool:
    """Returns True if an end has a number or is a Roman numeral: `Brunsø V` is no `Brunsø BV`."""
    return bool(numbers_in(end)) or is_roman(end)
