"""Texts of registers without what a person who reads along cannot see.

A company chooses its name, and letters without a shape could carry an instruction through it. What
no register writes in a name becomes a space; of 2.9 million characters of both registers' records
none is concerned.
"""

from itertools import chain
from typing import Final
from unicodedata import category, normalize

#: Characters without a shape that Python takes for printable: joiners, fillers of Korean, Khmer and
#: Mongolian, variation selectors, and blanks of Braille, music, Khitan and hieroglyphs.
_SHAPELESS: Final = frozenset(
    map(
        chr,
        chain(
            (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC),
            (0x13441, 0x13442, 0x16FE4, 0x1D159),
            range(0x180B, 0x1810),
            range(0xFE00, 0xFE10),
            range(0xE0000, 0xE1000),
        ),
    )
)
#: Marks upon one letter; more of them hide text, or carry it.
_MAX_MARKS: Final = 2


def visible(text: str) -> str:
    """Returns a text on one line, in which whatever has no shape of its own is a space."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(_shapes(normalize("NFC", text)))
    return " ".join(text.split())


def _shapes(text: str) -> list[str]:
    shapes: list[str] = []
    #: Marks that the next one may follow: none where there is no letter.
    left = 0
    for character in text:
        if not character.isprintable() or character in _SHAPELESS:
            shown, left = " ", 0
        elif category(character).startswith("M"):
            shown, left = (character, left - 1) if left else (" ", 0)
        else:
            shown, left = character, _MAX_MARKS if character.isalpha() else 0
        shapes.append(shown)
    return shapes
