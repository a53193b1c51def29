"""Recognition of a pasted text: its register, and how it may be understood."""

import re
from typing import Final

from company_registry.models import Country

#: The first match decides; a text without a match is looked up in both registers.
_FORMS: Final[tuple[tuple[re.Pattern[str], Country], ...]] = (
    (re.compile(r"(dk|(\+|00)45)[\d .()-]+", re.I), "dk"),
    (re.compile(r"(no|(\+|00)47)[\d .()-]+(mva)?", re.I), "no"),
    (re.compile(r"[\d .]+mva", re.I), "no"),
    (re.compile(r"(iso6523-actorid-upis::)?(0096|0184|0198|9902|9904):.*", re.I), "dk"),
    (re.compile(r"(iso6523-actorid-upis::)?(0192|9908):.*", re.I), "no"),
    (re.compile(r"(\d[ .-]?){9}"), "no"),
    (re.compile(r"(\d[ .-]?){10}"), "dk"),
)

_STREET_AND_HOUSE = re.compile(r"[^\W\d]{2}.*\s[0-9]")


def countries_of(text: str) -> tuple[Country, ...]:
    """Returns the registers in which the text may name a company."""
    bare = text.strip()
    for form, country in _FORMS:
        if form.fullmatch(bare):
            return (country,)
    return ("dk", "no")


def has_letters(text: str) -> bool:
    """True if the text may begin a name: it has two letters or digits, and one is a letter."""
    return len(re.findall(r"\w", text)) > 1 and any(map(str.isalpha, text))


def readings_of(text: str) -> tuple[str, ...]:
    """How a text is understood, as far as the text says so."""
    if _STREET_AND_HOUSE.search(text):
        return ("a name", "an address")
    is_number = any(map(str.isdecimal, text)) and not any(map(str.isalpha, text))
    return ("a number",) if is_number else ("a name",)
