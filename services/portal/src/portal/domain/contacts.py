"""URLs of a company's phone, e-mail and website; None for a malformed text."""

import re
from typing import Final
from urllib.parse import quote

_CALLING_CODES: Final = {"dk": "45", "no": "47"}

_PHONE = re.compile(r"\+?[0-9]{4,15}")
_EMAIL = re.compile(r"[^\s@:/?#&<>\"'()\[\]\\,;]+@[\w-]+(\.[\w-]+)+")
#: Registers hold websites with and without a scheme; a host has a dot.
_WEBSITE = re.compile(
    r"(https?://)?[^\W_]([\w-]*\.)+[^\W\d_][\w-]+(:[0-9]{1,5})?([/?#][^\s<>\"\\]*)?", re.I
)


def phone_link(phone: str, country: str) -> str | None:
    """Returns a `tel:` link; None if the text is no phone number."""
    digits = re.sub(r"[ .()-]", "", phone)
    if _PHONE.fullmatch(digits) is None or country not in _CALLING_CODES:
        return None
    return f"tel:{digits if digits.startswith('+') else f'+{_CALLING_CODES[country]}{digits}'}"


def email_link(address: str) -> str | None:
    """Returns a `mailto:` link; None if the text is no address."""
    return f"mailto:{quote(address, safe='@')}" if _EMAIL.fullmatch(address) else None


def website_link(text: str) -> str | None:
    """Returns an address of the web, whatever the register holds; never of another scheme."""
    match = _WEBSITE.fullmatch(text.strip())
    if match is None:
        return None
    return match[0] if match[1] else f"https://{match[0]}"
