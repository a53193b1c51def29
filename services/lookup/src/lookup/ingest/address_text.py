"""Formatting of addresses, for both registers."""

import re
from functools import cache
from typing import Final

#: Postal codes other than four to six digits, by country.
_BRITISH: Final = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_SWEDISH: Final = r"\d{3} ?\d{2}"
_POSTAL_CODES: Final = {
    **dict.fromkeys(("GB", "GG", "IM", "JE"), _BRITISH),
    **dict.fromkeys(("CZ", "GR", "SE", "SK"), _SWEDISH),
    **dict.fromkeys(("FO", "IS"), r"\d{3}"),
    "BR": r"\d{5}-?\d{3}",
    "CA": r"[A-Z]\d[A-Z] ?\d[A-Z]\d",
    "IE": r"[A-Z]\d[\dW] ?[A-Z\d]{4}",
    "IN": r"\d{3} ?\d{3}",
    "JP": r"\d{3}-?\d{4}",
    "MT": r"[A-Z]{3} ?\d{4}",
    "NL": r"\d{4} ?[A-Z]{2}",
    "PL": r"\d{2}[- ]?\d{3}",
    "PT": r"\d{4}(?:-\d{3})?",
    "US": r"\d{5}(?:-\d{4})?",
}
_DIGITS: Final = r"\d{4,6}"
#: Maximum length of a town line; a long hostile one would be slow to match.
_MAX_TOWN_LINE: Final = 100

_CARE_OF = re.compile(r"c/o[\s:.]*|c\s?/\s?o\s+", re.IGNORECASE)


def care_of(line: str) -> str | None:
    """The name after `c/o`, which may be empty; None if the line does not begin with it."""
    match = _CARE_OF.match(line)
    return None if match is None else line[match.end() :]


def on_one_line(
    co: str | None, street: str | None, district: str | None, town: str, country: str | None
) -> str:
    """An address as on a letter, its lines joined by commas; may be empty."""
    lines = (f"c/o {co}" if co else None, street, district, town, country)
    return ", ".join(line for line in lines if line)


def town_line(postal_code: str | None, city: str | None) -> str:
    return " ".join(part for part in (postal_code, city) if part)


def town_abroad(line: str, country: str) -> tuple[str | None, str | None]:
    """The postal code and city of a town line: `SE-111 24 STOCKHOLM`, `LONDON SW1Y 4JU`.

    A line without a recognised postal code of the country is the city.
    """
    if len(line) > _MAX_TOWN_LINE:
        return None, line
    before, after = _town_lines(country)
    if found := before.fullmatch(line):
        return found["code"], found["city"]
    if found := after.fullmatch(line):
        nation = found["nation"]
        return found["code"], f"{found['city']} {nation}" if nation else found["city"]
    return None, line


@cache
def _town_lines(country: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns with the postal code first and last; a British nation may follow the latter."""
    code = rf"(?P<code>{_POSTAL_CODES.get(country, _DIGITS)})"
    prefix = rf"(?:{re.escape(country)}[- ]+)?"
    flags = re.IGNORECASE | re.ASCII
    return (
        re.compile(rf"{prefix}{code}(?:[ ,]+(?P<city>\D.*))?", flags),
        re.compile(rf"{prefix}(?P<city>\D.*?)[ ,]+{code}(?:[ ,]+(?P<nation>\D+))?", flags),
    )
