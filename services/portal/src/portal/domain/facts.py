"""Codes and contacts of the registers for people: words with explanations, and safe links."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from common.domain.code_texts import FORMS, ROLES
from common.domain.countries import Country
from company_registry.change_words import REGISTERS
from company_registry.models import Address, Company


@dataclass(frozen=True, slots=True)
class Term:
    """A code in words, with its explanation."""

    name: str
    explanation: str


_ROLES: Final = {
    "owner": "has a share of the company.",
    "partner": "owns a partnership with others, and is liable for its debts.",
    "general_partner": "is fully liable for a limited partnership.",
    "sole_proprietor": "owns the business alone, and pays its debts.",
    "co_owner": "owns the business jointly with others.",
    "parent_company": "controls the company, according to the register of groups.",
    "shareholder": "has a part of the company, according to the register of groups.",
    "director": "runs the daily business.",
    "board_chair": "leads the board of directors.",
    "board_deputy_chair": "stands in for the chair.",
    "board_member": "has a vote on the board of directors.",
    "board_deputy_member": "stands in for a board member.",
    "board_observer": "attends the board's meetings without a vote.",
    "auditor": "is independent, and audits the annual accounts.",
    "accountant": "keeps the company's books.",
    "signatory": "may sign for the company, alone or with others.",
    "procuration_holder": "may act for the company in its daily business.",
    "branch_manager": "runs the branch of a foreign company.",
    "supervisory_board_member": "supervises the management.",
    "sustainability_auditor": "verifies the company's report on sustainability.",
    "estate_administrator": "winds up the estate of a bankruptcy.",
    "liquidator": "winds up a company that is dissolved.",
}

_LANGUAGES: Final = {"nb": "Norwegian, Bokmål", "nn": "Norwegian, Nynorsk"}

#: Where shareholders are that the open data of a register does not have.
_SHAREHOLDERS: Final = {
    "no": " They are in the company’s own register (aksjeeierbok), which it shows to anyone who "
    "asks, and in the Tax Administration’s (aksjonærregisteret).",
}

_STATUSES: Final = {
    "under_liquidation": "The company is being wound up, and will end.",
    "under_reconstruction": "A court protects the company from its creditors for a time.",
    "bankrupt": "The company is bankrupt: an administrator has taken over from its management.",
    "ended": "The company no longer exists.",
}


def _plain(code: str) -> str:
    return code.replace("_", " ").capitalize()


def role(code: str | None) -> Term:
    """Returns the role of an owner, a manager or an auditor; a new one in the words of its code."""
    known = ROLES.get(code or "")
    return Term(known.en if known else _plain(code or "unknown"), _ROLES.get(code or "", ""))


def roles(codes: Iterable[str | None]) -> list[Term]:
    """Returns the roles that have an explanation, each once."""
    found = [role(code) for code in dict.fromkeys(codes)]
    return [term for term in found if term.explanation]


def register(code: str) -> str:
    """Returns the name of a further register; a new one in the words of its code."""
    return REGISTERS.get(code, _plain(code))


def language(code: str | None) -> str:
    """Returns a language in English; empty without one."""
    return _LANGUAGES.get(code or "", code or "")


def no_shareholders(country: str) -> str:
    """Returns what a register without shareholders has, and where these are."""
    return (
        "The open data of this register has sole proprietors, partners, public owners and the "
        f"companies of a group, and no other shareholders.{_SHAREHOLDERS.get(country, '')}"
    )


def no_owners(country: str) -> str:
    """Returns why the owners of a company are unknown."""
    if country in _SHAREHOLDERS:
        return no_shareholders(country)
    return "The register has no owners for this legal form."


def status(code: str) -> str:
    """Returns an explanation of a company's status; empty for an active one."""
    return _STATUSES.get(code, "")


def form(country: str, code: str) -> str:
    """Returns the legal form in English; empty for one without an English word."""
    return FORMS[Country(country)].get(code, "")


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


# The registers' own texts

#: The language of each register's texts.
_TEXTS: Final = {"dk": "da", "no": "nb"}

#: Words that stay small within the name of a place, and parts of a town that stay large.
_SMALL: Final = frozenset({"i", "og", "på", "ved", "under", "af", "av", "in", "of"})
_QUARTERS: Final = frozenset({"NV", "NØ", "SV", "SØ", "C", "K", "N", "S", "V", "Ø", "M"})


def language_tag(country: str, language: str | None = None) -> str:
    """Returns the tag of the language that a register's texts are in, such as `da`."""
    return language if language in _LANGUAGES else _TEXTS.get(country, "")


def place(name: str | None) -> str:
    """Returns the name of a town or a municipality, `KØBENHAVN K` as `København K`."""
    if not name or not name.isupper():
        return name or ""
    words = name.split(" ")
    return " ".join(_calm(word, is_first=not at) for at, word in enumerate(words))


def calm(text: str) -> str:
    """Returns a text of a register, of which one in capitals is no louder than others."""
    return text.capitalize() if text.isupper() else text


def _calm(word: str, *, is_first: bool) -> str:
    if not is_first and word in _QUARTERS:
        return word
    if not is_first and word.lower() in _SMALL:
        return word.lower()
    return "-".join(part[:1] + part[1:].lower() for part in word.split("-"))


def address(given: Address | None) -> str:
    """Returns an address on one line, without a town in capitals."""
    if given is None:
        return ""
    text = given.text
    for name in (given.city, given.district):
        if name and name.isupper() and len(name) > 1:
            text = place(name).join(text.rsplit(name, 1))
    return text


def own_form(company: Company) -> str:
    """Returns the legal form in English; in the register's words without an English one."""
    if company.form is None:
        return ""
    return form(company.country, company.form.code) or company.form.description or company.form.code
