"""Which webhooks an event is for, as keys of one index.

A webhook is listed under the companies of its filter, or else under each of its patterns with each
of its countries (`*` for any). An event asks for the seven keys it can be listed under, so that
matching costs what matches and not what is stored.
"""

from dataclasses import dataclass

from common.contracts.company import Country, company_key
from common.contracts.events import EventType
from webhook_store.models import Webhook

#: Every event type, or every country.
ANY = "*"


@dataclass(frozen=True, slots=True)
class Subject:
    """What of an event decides whom it is for."""

    kind: EventType
    country: Country
    vat: str


def patterns_of(kind: EventType) -> tuple[str, ...]:
    """The patterns that an event type matches: itself, its family, everything."""
    family = kind.partition(".")[0]
    return (kind.value, f"{family}.{ANY}", ANY)


def match_keys(webhook: Webhook) -> list[str]:
    """What a webhook is listed under; nothing when its filter can never match."""
    countries = () if webhook.filter is None else webhook.filter.countries
    companies = () if webhook.filter is None else webhook.filter.companies
    if companies:
        return [key for key in companies if not countries or key.partition(":")[0] in countries]
    return [f"{pattern}|{place}" for pattern in webhook.events for place in countries or (ANY,)]


def event_keys(subject: Subject) -> list[str]:
    """What the webhooks that an event is for are listed under.

    A webhook listed under the company still has to match one of the patterns of the event's kind.
    """
    of_patterns = [
        f"{pattern}|{place}"
        for pattern in patterns_of(subject.kind)
        for place in (subject.country.value, ANY)
    ]
    return [company_key(subject.country, subject.vat), *of_patterns]
