"""Codes of the registers in words for people, each with an explanation."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Term:
    """A code in words, with its explanation."""

    name: str
    explanation: str


_ROLES: Final = {
    "owner": Term("Owner", "has a share of the company."),
    "partner": Term("Partner", "owns a partnership with others, and is liable for its debts."),
    "general_partner": Term("General partner", "is fully liable for a limited partnership."),
    "sole_proprietor": Term("Sole proprietor", "owns the business alone, and pays its debts."),
    "co_owner": Term("Co-owner", "owns the business jointly with others."),
    "director": Term("Managing director", "runs the daily business."),
    "board_chair": Term("Chair of the board", "leads the board of directors."),
    "board_deputy_chair": Term("Deputy chair of the board", "stands in for the chair."),
    "board_member": Term("Board member", "has a vote on the board of directors."),
    "board_deputy_member": Term("Deputy board member", "stands in for a board member."),
    "board_observer": Term("Board observer", "attends the board's meetings without a vote."),
    "auditor": Term("Auditor", "is independent, and audits the annual accounts."),
    "accountant": Term("Accountant", "keeps the company's books."),
    "signatory": Term("Signatory", "may sign for the company, alone or with others."),
    "procuration_holder": Term(
        "Holder of procuration", "may act for the company in its daily business."
    ),
    "branch_manager": Term("Branch manager", "runs the branch of a foreign company."),
    "supervisory_board_member": Term(
        "Member of the supervisory board", "supervises the management."
    ),
    "sustainability_auditor": Term(
        "Sustainability auditor", "verifies the company's report on sustainability."
    ),
    "estate_administrator": Term("Estate administrator", "winds up the estate of a bankruptcy."),
}

_REGISTERS: Final = {
    "business_enterprises": "Business enterprises",
    "vat": "VAT",
    "voluntary_organisations": "Voluntary organisations",
    "foundations": "Foundations",
    "political_parties": "Political parties",
}

_LANGUAGES: Final = {"nb": "Norwegian, Bokmål", "nn": "Norwegian, Nynorsk"}

_STATUSES: Final = {
    "under_liquidation": "The company is being wound up, and will end.",
    "under_reconstruction": "A court protects the company from its creditors for a time.",
    "bankrupt": "The company is bankrupt: an administrator has taken over from its management.",
    "ended": "The company no longer exists.",
}

_FORMS: Final = {
    "dk": {
        "10": "Sole proprietorship",
        "30": "General partnership",
        "40": "Limited partnership",
        "60": "Public limited company",
        "80": "Private limited company",
        "90": "Commercial foundation",
        "110": "Association",
        "140": "Cooperative with limited liability",
        "170": "Branch of a foreign company",
    },
    "no": {
        "ANS": "General partnership with joint liability",
        "AS": "Private limited company",
        "ASA": "Public limited company",
        "BRL": "Housing cooperative",
        "DA": "General partnership with shared liability",
        "ENK": "Sole proprietorship",
        "FLI": "Association",
        "KOMM": "Municipality",
        "KS": "Limited partnership",
        "NUF": "Branch of a foreign company",
        "SA": "Cooperative",
        "STI": "Foundation",
    },
}


def role(code: str | None) -> Term:
    """Returns the role of an owner, a manager or an auditor; a new one in the words of its code."""
    plain = (code or "unknown").replace("_", " ").capitalize()
    return _ROLES.get(code or "", Term(plain, ""))


def roles(codes: Iterable[str | None]) -> list[Term]:
    """Returns the roles that have an explanation, each once."""
    found = [role(code) for code in dict.fromkeys(codes)]
    return [term for term in found if term.explanation]


def register(code: str) -> str:
    """Returns the name of a further register; a new one in the words of its code."""
    return _REGISTERS.get(code, code.replace("_", " ").capitalize())


def language(code: str | None) -> str:
    """Returns a language in English; empty without one."""
    return _LANGUAGES.get(code or "", code or "")


def status(code: str) -> str:
    """Returns an explanation of a company's status; empty for an active one."""
    return _STATUSES.get(code, "")


def form(country: str, code: str) -> str:
    """Returns the legal form in English; empty for one without an English word."""
    return _FORMS.get(country, {}).get(code, "")
