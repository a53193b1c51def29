"""The form of a webhook, converted to the API's fields and back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, cast, get_args

from company_registry.webhook_models import Webhook, WebhookFilter

_SEPARATORS = re.compile(r"[\s,;]+")

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
        words={name: _words(text(name), name) for name in WORD_LISTS},
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
    return WebhookForm(
        url=webhook.url,
        description=webhook.description or "",
        choice=_choice(webhook.events),
        families=families,
        types=singles,
        countries=chosen.countries,
        watchlists=chosen.watchlists,
        words={name: getattr(chosen, name) for name in WORD_LISTS},
    )


def _choice(events: Sequence[str]) -> Choice:
    if "*" in events:
        return "all"
    return "families" if all(name.endswith(".*") for name in events) else "types"


def _words(text: str, name: str) -> tuple[str, ...]:
    """Returns the words of a list; names of municipalities hold spaces, so commas separate them."""
    parts = re.split(r"[,;\n]+", text) if name == "municipalities" else _SEPARATORS.split(text)
    return tuple(word.strip() for word in parts if word.strip())
