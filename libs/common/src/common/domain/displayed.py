"""Texts of others on pages, in feeds and in mail: without control and direction characters.

Such characters could hide a part of a text, show it in another order, or end its line. Answers of
the API keep what the registers have.
"""

import re
from typing import Final

#: Controls but tabs and line breaks, formats such as marks of direction, and separators of lines:
#: the categories Cc, Cf, Cs, Zl and Zp of Unicode.
_HIDDEN: Final = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f]"
)
#: A part of a word that people and mail programs read as the address of a page, host or mailbox.
_ADDRESS: Final = re.compile(
    r"://|@|www\.|[^\W_]\.[^\W\d_]{2,}|\b\d{1,3}(\.\d{1,3}){3}\b", re.IGNORECASE
)
#: Dots and an at sign in other scripts, which browsers read as these.
_ALIKE: Final = str.maketrans(
    "\u3002\uff0e\uff61\u2024\uff20\ufe6b\uff1a\uff0f\u2044\u2215", "....@@:///"
)


def displayed(text: str) -> str:
    """Returns a text with a space for each control or direction character."""
    return text if text.isprintable() else _HIDDEN.sub(" ", text)


def in_line(text: str, longest: int) -> str:
    """Returns a text as one line, cut to a maximum length."""
    line = " ".join(displayed(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def without_addresses(text: str, longest: int) -> str:
    """Returns a text as one line that leads nowhere: each word with an address is an ellipsis."""
    words = displayed(text).split()
    kept = ("…" if _ADDRESS.search(word.translate(_ALIKE)) else word for word in words)
    return in_line(" ".join(kept), longest)
