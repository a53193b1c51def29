"""How an address is written, for both registers."""

import re

_CARE_OF = re.compile(r"c/o[\s:.]*|c\s?/\s?o\s+", re.IGNORECASE)


def care_of(line: str) -> str | None:
    """Who is named after `c/o`, perhaps nobody; None when the line does not begin with it."""
    match = _CARE_OF.match(line)
    return None if match is None else line[match.end() :]


def on_one_line(
    co: str | None, street: str | None, district: str | None, town: str, country: str | None
) -> str:
    """An address as it is written on a letter, its lines joined by commas; may be empty."""
    lines = (f"c/o {co}" if co else None, street, district, town, country)
    return ", ".join(line for line in lines if line)


def town_line(postal_code: str | None, city: str | None) -> str:
    return " ".join(part for part in (postal_code, city) if part)
