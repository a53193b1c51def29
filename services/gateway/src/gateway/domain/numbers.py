"""Numbers as people write them: grouped by spaces, dots or dashes, with a prefix or without."""

import re

#: Any blank (a copied number often holds a no-break space), full stop, hyphen and dashes.
_SEPARATORS = re.compile(r"[\s.\-‐-―]+")


class Unfit(ValueError):
    """A value that cannot be what it was given as; the message says what would be right."""


def bare_number(text: str, *, prefix: str = "", also: str = "") -> str:
    """ASCII digits without separators and `prefix`; "" when anything else is in it.

    `also` names characters that may stand before the digits and are kept, such as a phone's `+`.
    """
    if text.isascii() and text.isdecimal():
        return text
    bare = _SEPARATORS.sub("", text)
    if prefix and bare[: len(prefix)].upper() == prefix:
        bare = bare[len(prefix) :]
    digits = bare[1:] if bare[:1] and bare[0] in also else bare
    return bare if digits.isascii() and digits.isdecimal() else ""


def has_gln_check_digit(digits: str) -> bool:
    """Whether the last digit of a GLN is right (GS1: weights 3 and 1 from the right)."""
    weighted = (
        int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(digits))
    )
    return sum(weighted) % 10 == 0
