"""The deliveries of a webhook, in one sentence."""

from collections.abc import Mapping, Sequence
from typing import Final

from company_registry.webhook_models import WebhookFilter

#: Longer lists are counted.
_MAX_NAMED: Final = 3

#: How a sentence goes on for a part of the filter: of one value and of several.
_PARTS: Final = {
    "forms": ("with the legal form {}", "with one of {} legal forms"),
    "industries": ("in an industry whose code begins with {}", "in one of {} industries"),
    "municipalities": ("in the municipality {}", "in one of {} municipalities"),
    "fields": ("if {} changed", "if one of {} fields changed"),
}


def arrivals(
    events: Sequence[str], limits: WebhookFilter | None, countries: Mapping[str, str]
) -> str:
    """Returns a sentence about the events that a webhook receives.

    `countries` are names of countries by their codes.
    """
    if not events:
        return "Nothing will arrive yet: choose at least one event."
    limits = limits or WebhookFilter()
    if all(name.startswith("webhook.") for name in events):
        return f"This webhook receives {_events(events)} about your other webhooks."
    parts = [f"This webhook receives {_events(events)} about {_companies(limits, countries)}"]
    parts += [
        (few if len(values) <= _MAX_NAMED else many).format(_listed(values))
        for name, (few, many) in _PARTS.items()
        if (values := getattr(limits, name))
    ]
    return ", ".join(parts) + "."


def _events(events: Sequence[str]) -> str:
    if "*" in events:
        return "every event"
    if len(events) > _MAX_NAMED:
        return f"the events of {len(events)} chosen types"
    return f"{_listed(events, word='and')} events"


def _companies(limits: WebhookFilter, countries: Mapping[str, str]) -> str:
    places = [countries.get(code, code.upper()) for code in limits.countries]
    # Both registers are all of them.
    place = f" in {_listed(places)}" if 0 < len(places) < len(countries) else ""
    if limits.watchlists:
        count = len(limits.watchlists)
        lists = "of a watchlist" if count == 1 else f"of {count:,} watchlists"
        others = f" or {_chosen(limits.companies)}" if limits.companies else ""
        return f"any company {lists}{others}{place}"
    match limits.companies:
        case ():
            return f"any company{place}" if place else "any company in both registers"
        case companies:
            return f"{_chosen(companies)}{place}"


def _chosen(companies: Sequence[str]) -> str:
    if len(companies) == 1:
        return f"the company {companies[0]}"
    return f"{len(companies):,} chosen companies"


def _listed(values: Sequence[str], *, word: str = "or") -> str:
    """Returns `a, b or c`; of more, their number."""
    if len(values) > _MAX_NAMED:
        return f"{len(values):,}"
    *first, last = values
    return f"{', '.join(first)} {word} {last}" if first else last
