"""Matching of events and webhooks through the keys of one index.

A webhook is indexed under the companies of its filter, or else under each of its patterns with each
of its countries (`*` for any). An event looks up seven keys, so the cost of matching depends on the
matches and not on the number of webhooks.
"""

from dataclasses import dataclass

from common.contracts.company import Country, company_key
from common.contracts.events import EventType
from webhook_store.models import Webhook

#: Every event type, or every country.
ANY = "*"


@dataclass(frozen=True, slots=True)
class Subject:
    """Properties of an event that matching uses."""

    kind: EventType
    country: Country
    vat: str


def patterns_of(kind: EventType) -> tuple[str, ...]:
    """Returns the patterns that match an event type: itself, its family, everything."""
    family = kind.partition(".")[0]
    return (kind.value, f"{family}.{ANY}", ANY)


def match_keys(webhook: Webhook) -> list[str]:
    """Returns a webhook's index keys; none when its filter can never match."""
    countries = () if webhook.filter is None else webhook.filter.countries
    companies = () if webhook.filter is None else webhook.filter.companies
    if companies:
        return [key for key in companies if not countries or key.partition(":")[0] in countries]
    return [f"{pattern}|{place}" for pattern in webhook.events for place in countries or (ANY,)]


def event_keys(subject: Subject) -> list[str]:
    """Returns the index keys of the webhooks that may match an event.

    A webhook indexed under the company must still match one of the event type's patterns.
    """
    of_patterns = [
        f"{pattern}|{place}"
        for pattern in patterns_of(subject.kind)
        for place in (subject.country.value, ANY)
    ]
    return [company_key(subject.country, subject.vat), *of_patterns]
