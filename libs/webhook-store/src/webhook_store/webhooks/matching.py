"""Matching of events and webhooks through the keys of one index.

A webhook is indexed under the keys of the most selective part of its filter: companies, else pairs
of industry and municipality, industries, municipalities, forms or fields, each with each of its
countries (`*` for any); or else under each of its patterns. An event looks up its own keys, so the
cost of matching depends on the webhooks that share one of them and not on the number of webhooks.
The other parts of a filter are compared afterwards.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from common.contracts.company import Company, CompanyKey, Country
from common.contracts.events import EventType, RegistryEvent
from common.contracts.webhooks import Webhook, WebhookFilter
from common.domain.known_values import digits

#: Every country.
ANY = "*"
#: Pairs of industry and municipality of a webhook; with more it is indexed under its industries.
_MAX_PAIRS = 1000


@dataclass(frozen=True, slots=True)
class Subject:
    """Properties of an event that matching uses."""

    kind: EventType
    country: Country
    vat: str
    form: str | None = None
    industries: tuple[str, ...] = ()
    municipality: str | None = None
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, event: RegistryEvent, country: Country, vat: str) -> Self:
        """Returns the properties of an event about the company with this country and number."""
        data = event.data
        company = None if data is None else data.company
        return cls(
            kind=event.type,
            country=country,
            vat=vat,
            fields=() if data is None else tuple(change.field for change in data.changes),
            **({} if company is None else _facts(company)),
        )


def _facts(company: Company) -> dict[str, Any]:
    industries = (company.industry, *company.secondary_industries)
    return {
        "form": None if company.form is None else company.form.code,
        "industries": tuple(digits(one.code) for one in industries if one is not None),
        "municipality": None if company.address is None else company.address.municipality,
    }


def match_keys(webhook: Webhook) -> list[str]:
    """Returns a webhook's index keys; none when its filter can never match."""
    limits = webhook.filter or WebhookFilter()
    places = limits.countries or (ANY,)
    if limits.companies:
        return [
            key
            for key in limits.companies
            if not limits.countries or key.country in limits.countries
        ]
    names = next(filter(None, _names(limits)), None) or webhook.events
    return [f"{name}|{place}" for name in names for place in places]


def _names(limits: WebhookFilter) -> Iterable[list[str]]:
    """Yields the names of each part of a filter, the most selective first."""
    industries = [f"industry:{digits(prefix)}" for prefix in limits.industries]
    municipalities = [f"municipality:{name.casefold()}" for name in limits.municipalities]
    if len(industries) * len(municipalities) <= _MAX_PAIRS:
        yield _pairs(industries, municipalities)
    yield industries
    yield municipalities
    yield [f"form:{code}" for code in limits.forms]
    yield list(dict.fromkeys(f"field:{_top(field)}" for field in limits.fields))


def _pairs(industries: list[str], municipalities: list[str]) -> list[str]:
    return [f"{industry}&{name}" for industry in industries for name in municipalities]


def event_keys(subject: Subject) -> list[str]:
    """Returns the index keys of the webhooks that may match an event.

    A webhook found by another key than a pattern must still match one of the event type's patterns.
    """
    industries = [f"industry:{prefix}" for prefix in _prefixes(subject.industries)]
    names = [*subject.kind.patterns, *industries]
    if subject.municipality is not None:
        municipalities = [f"municipality:{subject.municipality.casefold()}"]
        names += [*municipalities, *_pairs(industries, municipalities)]
    if subject.form is not None:
        names.append(f"form:{subject.form}")
    names += dict.fromkeys(f"field:{_top(field)}" for field in subject.fields)
    keys = [f"{name}|{place}" for name in names for place in (subject.country.value, ANY)]
    return [CompanyKey(subject.country, subject.vat), *keys]


def _top(field: str) -> str:
    return field.partition(".")[0]


def _prefixes(codes: Iterable[str]) -> dict[str, None]:
    return {code[:length]: None for code in codes for length in range(1, len(code) + 1)}


def _touches(changed: str, field: str) -> bool:
    """Returns True if a change touches a field, a part of it, or an object that has it."""
    return f"{changed}.".startswith(f"{field}.") or f"{field}.".startswith(f"{changed}.")


def is_selected(limits: Mapping[str, Any], subject: Subject) -> bool:
    """Returns True if an event passes a stored filter, whose countries and companies are keys."""
    forms, fields = limits.get("forms"), limits.get("fields")
    industries, municipalities = limits.get("industries"), limits.get("municipalities")
    return (
        (not forms or subject.form in forms)
        and (not municipalities or _is_among(subject.municipality, municipalities))
        and (not industries or _is_within(subject.industries, industries))
        and (not fields or any(_touches(one, field) for one in subject.fields for field in fields))
    )


def _is_among(municipality: str | None, names: Iterable[str]) -> bool:
    return municipality is not None and municipality.casefold() in map(str.casefold, names)


def _is_within(codes: Iterable[str], prefixes: Iterable[str]) -> bool:
    beginnings = tuple(map(digits, prefixes))
    return any(code.startswith(beginnings) for code in codes)
