"""The forms of a webhook and of the feed's filter, and what a webhook receives in one sentence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, cast, get_args

from multidict import MultiMapping

from company_registry.webhook_models import Webhook, WebhookFilter

_SEPARATORS: Final = re.compile(r"[\s,;]+")
_COMMAS: Final = re.compile(r"[,;\n]+")

#: Lists of a filter that are typed as words. `countries` and `watchlists` are check boxes.
WORD_LISTS: Final = ("companies", "forms", "industries", "municipalities", "fields")

#: Every event, families (`company.*`), or single types (`company.updated`).
Choice = Literal["all", "families", "types"]


@dataclass(frozen=True, slots=True)
class WebhookForm:
    """The values of the form's fields."""

    url: str = ""
    description: str = ""
    choice: Choice = "all"
    #: The form keeps both lists; only that of the choice counts.
    families: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    #: Ids.
    watchlists: tuple[str, ...] = ()
    #: By the names of WORD_LISTS.
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: A header on each line; None leaves the stored ones as they are.
    headers: str = ""

    @property
    def events(self) -> tuple[str, ...]:
        """The events as the API names them; empty if none of the chosen list are."""
        return {"all": ("*",), "families": self.families, "types": self.types}[self.choice]

    @property
    def filter(self) -> WebhookFilter | None:
        """The filter; None when it selects everything."""
        chosen = WebhookFilter(countries=self.countries, watchlists=self.watchlists, **self.words)
        return None if chosen == WebhookFilter() else chosen

    @property
    def header_values(self) -> dict[str, str]:
        """Header values by name; a line without a colon is a name without a value."""
        lines = [line.partition(":") for line in self.headers.splitlines() if line.strip()]
        return {name.strip(): value.strip() for name, _, value in lines}


def read_form(values: Mapping[str, Sequence[str]]) -> WebhookForm:
    """Returns the form as it was sent."""

    def text(name: str) -> str:
        return (values.get(name) or [""])[0].strip()

    choice = text("choice")
    return WebhookForm(
        url=text("url"),
        description=text("description"),
        choice=cast(Choice, choice) if choice in get_args(Choice) else "all",
        families=tuple(values.get("families") or ()),
        types=tuple(values.get("types") or ()),
        countries=tuple(values.get("countries") or ()),
        watchlists=tuple(values.get("watchlists") or ()),
        words={
            # Names of municipalities hold spaces.
            name: _words(text(name), _COMMAS if name == "municipalities" else _SEPARATORS)
            for name in WORD_LISTS
        },
        headers=text("headers"),
    )


def form_of(webhook: Webhook, types: Sequence[str]) -> WebhookForm:
    """Returns the form of a webhook that exists; header values are never shown.

    `types` are all that may be chosen: families and types together are shown as types.
    """
    chosen = webhook.filter or WebhookFilter()
    families = tuple(name for name in webhook.events if name.endswith(".*"))
    singles = tuple(
        name
        for name in types
        if name in webhook.events or f"{name.partition('.')[0]}.*" in families
    )
    choice: Choice = "families" if len(families) == len(webhook.events) else "types"
    return WebhookForm(
        url=webhook.url,
        description=webhook.description or "",
        choice="all" if "*" in webhook.events else choice,
        families=families,
        types=singles,
        countries=chosen.countries,
        watchlists=chosen.watchlists,
        words={name: getattr(chosen, name) for name in WORD_LISTS},
    )


def _words(text: str, separators: re.Pattern[str] = _SEPARATORS) -> tuple[str, ...]:
    return tuple(word.strip() for word in separators.split(text) if word.strip())


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The filter of a page of the feed; empty members match every event."""

    types: tuple[str, ...]
    countries: tuple[str, ...]
    #: `<country>:<registration number>`.
    companies: tuple[str, ...]
    #: Ids of watchlists, whose companies count too.
    watchlists: tuple[str, ...] = ()


def read_filter(query: MultiMapping[str]) -> EventFilter:
    """Omits empty values, which a form also sends."""
    types, countries, companies, watchlists = (
        tuple(filter(None, query.getall(name, [])))
        for name in ("type", "country", "companies", "watchlist")
    )
    return EventFilter(types, countries, _words(" ".join(companies)), watchlists)


# The events of a webhook

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
        return "This webhook receives nothing yet: choose at least one event."
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
    if limits.companies:
        return f"{_chosen(limits.companies)}{place}"
    return f"any company{place or ' in both registers'}"


def _chosen(companies: Sequence[str]) -> str:
    if len(companies) == 1:
        return f"the company {companies[0]}"
    return f"{len(companies):,} chosen companies"


def _listed(values: Sequence[str], *, word: str = "or") -> str:
    if len(values) > _MAX_NAMED:
        return f"{len(values):,}"
    *first, last = values
    return f"{', '.join(first)} {word} {last}" if first else last
