"""Names of limited persons, of which only a hash is stored (ADR 0085)."""

import re
from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import Any, Final, NewType
from unicodedata import normalize

#: `sha256:` and 64 hexadecimal digits.
NameHash = NewType("NameHash", str)

_PREFIX: Final = "sha256:"
_HASH: Final = re.compile(rf"{_PREFIX}[0-9a-f]{{64}}")
_WORD: Final = re.compile(r"\w+")
#: Words of the longest name that is found within a text.
_MAX_WORDS: Final = 8


def hash_of_name(company: str, name: str) -> NameHash:
    """Returns the hash of a person's name in a company, of its key, or a hash as it is.

    The order of the words, case and punctuation do not matter. Raises ValueError for a name without
    words, or with more than are found within a text.
    """
    if _HASH.fullmatch(name):
        return NameHash(name)
    words = _words(name)
    if not 0 < len(words) <= _MAX_WORDS:
        raise ValueError(f"a name has 1 to {_MAX_WORDS} words")
    return _hash(company, words)


def is_named(company: str, name: str, names: Collection[NameHash]) -> bool:
    """Returns True if a whole name is one of these."""
    return _hash(company, _words(name)) in names


def mentions(company: str, value: Any, names: Collection[NameHash]) -> bool:
    """Returns True if a text of a JSON value has one of these names among its words."""
    return any(
        _hash(company, words[start : start + length]) in names
        for text in _texts(value)
        for words in (_words(text),)
        for start in range(len(words))
        for length in range(1, _MAX_WORDS + 1)
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(normalize("NFKC", text).casefold())


def _hash(company: str, words: Collection[str]) -> NameHash:
    # With the company, so that namesakes elsewhere are not affected, and lists not comparable.
    text = "\0".join((company, *sorted(words)))
    return NameHash(_PREFIX + sha256(text.encode()).hexdigest())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
