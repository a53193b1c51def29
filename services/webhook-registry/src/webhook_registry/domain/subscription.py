"""Subscriptions: patterns of event types and a filter of companies."""

import re

from common.contracts.company import CompanyKey, Country
from common.contracts.events import EventType
from webhook_registry.domain.refusals import Wrong
from webhook_store.matching import patterns_of
from webhook_store.models import EventFilter

MAX_COMPANIES = 1000

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


def read_filter(value: object) -> EventFilter | None:
    """Reads the filter; None if it restricts nothing. Raises Wrong."""
    if value is None:
        return None
    if not isinstance(value, dict) or not value.keys() <= {"countries", "companies"}:
        raise Wrong('give null or an object of "countries" and "companies"')
    limits = EventFilter(
        countries=_countries(value.get("countries")), companies=_companies(value.get("companies"))
    )
    return limits if limits != EventFilter() else None


def _countries(value: object) -> tuple[Country, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Wrong('give a list, such as ["dk"]', at=".countries")
    for number, country in enumerate(value):
        if country not in tuple(Country):
            raise Wrong(f"give one of {', '.join(Country)}", at=f".countries[{number}]")
    return tuple(dict.fromkeys(Country(country) for country in value))


def _companies(value: object) -> tuple[CompanyKey, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_COMPANIES:
        raise Wrong(f"give a list of at most {MAX_COMPANIES} companies", at=".companies")
    for number, company in enumerate(value):
        if not isinstance(company, str) or not _COMPANY.fullmatch(company):
            raise Wrong(
                "give country and registration number, such as dk:12345674 or no:123456785",
                at=f".companies[{number}]",
            )
    return tuple(dict.fromkeys(CompanyKey(company) for company in value))
