"""The form of a webhook, converted to the API's fields and back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from company_registry.webhook_models import Webhook, WebhookFilter

_SEPARATORS = re.compile(r"[\s,;]+")

#: Lists of a filter that are typed as words. `countries` are check boxes.
WORD_LISTS: Final = ("companies", "forms", "industries", "municipalities", "fields")


@dataclass(frozen=True, slots=True)
class WebhookForm:
    """The values of the form's fields."""

    url: str = ""
    description: str = ""
    events: tuple[str, ...] = ("*",)
    countries: tuple[str, ...] = ()
    #: By the names of WORD_LISTS.
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: A header on each line; None leaves the stored ones as they are.
    headers: str = ""

    @property
    def filter(self) -> WebhookFilter | None:
        """The filter; None when it selects everything."""
        chosen = WebhookFilter(countries=self.countries, **self.words)
        return None if chosen == WebhookFilter() else chosen

    @property
    def header_values(self) -> dict[str, str]:
        """Header values by name; a line without a colon is a name without a value."""
        lines = [line.partition(":") for line in self.headers.splitlines() if line.strip()]
        return {name.strip(): value.strip() for name, _, value in lines}


def read_form(values: Mapping[str, Sequence[str]]) -> WebhookForm:
    """The form as it was sent."""

    def text(name: str) -> str:
        return (values.get(name) or [""])[0].strip()

    return WebhookForm(
        url=text("url"),
        description=text("description"),
        events=tuple(values.get("events") or ()),
        countries=tuple(values.get("countries") or ()),
        words={name: _words(text(name), name) for name in WORD_LISTS},
        headers=text("headers"),
    )


def form_of(webhook: Webhook) -> WebhookForm:
    """The form of a webhook that exists; header values are never shown."""
    chosen = webhook.filter or WebhookFilter()
    return WebhookForm(
        url=webhook.url,
        description=webhook.description or "",
        events=webhook.events,
        countries=chosen.countries,
        words={name: getattr(chosen, name) for name in WORD_LISTS},
    )


def _words(text: str, name: str) -> tuple[str, ...]:
    """The words of a list; names of municipalities hold spaces, so commas separate them."""
    parts = re.split(r"[,;\n]+", text) if name == "municipalities" else _SEPARATORS.split(text)
    return tuple(word.strip() for word in parts if word.strip())
