"""Subscriptions: patterns of event types and a filter of companies."""

import re
from typing import Final

from common.contracts.company import Company, CompanyKey, Country, ProductionUnit
from common.contracts.events import EventType
from common.contracts.webhooks import WebhookFilter
from webhook_registry.domain.refusals import Wrong
from webhook_store.matching import patterns_of

MAX_COMPANIES = 1000
#: Maximum entries of each other part of a filter.
MAX_TEXTS = 100

#: Fields that changes may have: of companies and their production units, and lists beside them.
FIELDS: Final = frozenset(
    {
        *Company.model_fields,
        *ProductionUnit.model_fields,
        "company",
        "owners",
        "roles",
        "einvoicing",
    }
)

#: Patterns: each event type, each family (`company.*`), and `*`.
PATTERNS = frozenset(pattern for kind in EventType for pattern in patterns_of(kind))

#: Registration numbers are eight digits in Denmark and nine in Norway.
_COMPANY = re.compile(r"dk:[0-9]{8}|no:[0-9]{9}")


def read_events(value: object) -> tuple[str, ...]:
    """Reads the patterns without duplicates; raises Wrong."""
    if not isinstance(value, list) or not value:
        raise Wrong('give a list of at least one pattern, such as ["company.updated"] or ["*"]')
    for number, pattern in enumerate(value):
        if not isinstance(pattern, str) or pattern not in PATTERNS:
            raise Wrong(
                "give an event type (GET /api/event-types lists them), a family such as "
                "company.*, or *",
                at=f"[{number}]",
            )
    return tuple(dict.fromkeys(value))


def read_filter(value: object) -> WebhookFilter | None:
    """Reads the filter; None if it restricts nothing. Raises Wrong."""
    if value is None:
        return None
    if not isinstance(value, dict) or not value.keys() <= WebhookFilter.model_fields.keys():
        raise Wrong(f"give null or an object with any of {', '.join(WebhookFilter.model_fields)}")
    limits = WebhookFilter(
        countries=_countries(value.get("countries")),
        companies=_companies(value.get("companies")),
        **{name: _texts(name, value.get(name)) for name in _TEXTS},
    )
    return limits if limits != WebhookFilter() else None


#: The other parts of a filter: what each text looks like, and how to say it.
_TEXTS: Final = {
    "forms": (
        re.compile(r"[A-Z0-9]{1,10}"),
        "give the code of a legal form as companies have it, such as 80 or AS",
    ),
    "industries": (
        re.compile(r"[0-9]{1,2}|[0-9]{2}\.?[0-9]{1,4}"),
        "give an industry code or its beginning, such as 62 or 62.010",
    ),
    "municipalities": (
        re.compile(r"\S(.{0,98}\S)?"),
        "give the name of a municipality as addresses have it",
    ),
    "fields": (
        re.compile(rf"({'|'.join(sorted(FIELDS))})(\.[a-z_]{{1,40}}){{0,3}}"),
        "give a field of a company, such as name or address.street",
    ),
}


def _texts(part: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    pattern, hint = _TEXTS[part]
    if not isinstance(value, list) or len(value) > MAX_TEXTS:
        raise Wrong(f"give a list of at most {MAX_TEXTS} texts", at=f".{part}")
    for number, text in enumerate(value):
        if not isinstance(text, str) or not pattern.fullmatch(text):
            raise Wrong(hint, at=f".{part}[{number}]")
    return tuple(dict.fromkeys(value))


def _countries(value: object) -> tuple[Country, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Wrong('give a list, such as ["dk"]', at=".countries")
    codes = [country.lower() if isinstance(country, str) else country for country in value]
    for number, country in enumerate(codes):
        if country not in tuple(Country):
            raise Wrong(f"give one of {', '.join(Country)}", at=f".countries[{number}]")
    return tuple(dict.fromkeys(Country(country) for country in codes))


def _companies(value: object) -> tuple[CompanyKey, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_COMPANIES:
        raise Wrong(f"give a list of at most {MAX_COMPANIES} companies", at=".companies")
    for number, company in enumerate(value):
        if not isinstance(company, str) or not _COMPANY.fullmatch(company.lower()):
            raise Wrong(
                "give country and registration number, such as dk:12345674 or no:123456785",
                at=f".companies[{number}]",
            )
    return tuple(dict.fromkeys(CompanyKey.parse(company.lower()) for company in value))
