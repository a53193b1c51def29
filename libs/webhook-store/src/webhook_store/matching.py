"""Matching of events and webhooks by keys, and the index of webhooks in memory.

A webhook is indexed under the keys of the most selective part of its filter: companies and
watchlists, else pairs of industry and municipality, industries, municipalities, forms or fields,
each with each of its countries (`*` for any); or else under each of its patterns. An event looks up
its own keys, so the cost of matching depends on the webhooks that share one of them and not on the
number of webhooks. The other parts of a filter are compared afterwards.

Webhooks that follow companies by number are not in memory but read from the database, because each
may have a thousand keys. Webhooks of one key with the same other limits are compared with an event
once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

from common.contracts.company import Company, CompanyKey, Country
from common.contracts.events import EventType, RegistryEvent
from common.contracts.watchlists import WatchlistId
from common.contracts.webhooks import Webhook, WebhookFilter, WebhookId, WebhookStatus
from common.domain.known_values import digits, municipality_key


@dataclass(frozen=True, slots=True)
class Match:
    """Webhook that matches an event."""

    webhook_id: WebhookId
    generation: int
    #: If False, the delivery is stored as cancelled and can be recovered later.
    enabled: bool


#: Every country.
ANY = "*"
#: Pairs of industry and municipality of a webhook; with more it is indexed under its industries.
_MAX_PAIRS = 1000


@dataclass(frozen=True, slots=True)
class Subject:
    """Properties of an event that matching uses."""

    event_type: EventType
    country: Country
    vat: str
    form: str | None = None
    industries: tuple[str, ...] = ()
    municipality: str | None = None
    municipality_code: str | None = None
    fields: tuple[str, ...] = ()
    #: The watchlists that have the company.
    watchlists: tuple[WatchlistId, ...] = ()

    @property
    def places(self) -> list[str]:
        """The name and the code of the municipality, as filters compare them."""
        given = (self.municipality, self.municipality_code)
        return [municipality_key(each) for each in given if each is not None]

    @property
    def company(self) -> CompanyKey:
        """The company that the event is about."""
        return CompanyKey(self.country, self.vat)

    @classmethod
    def of(cls, event: RegistryEvent, country: Country, vat: str) -> Self:
        """Returns the properties of an event about the company with this country and number."""
        data = event.data
        company = None if data is None else data.company
        return cls(
            event_type=event.type,
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
        "municipality_code": None if company.address is None else company.address.municipality_code,
    }


def match_keys(webhook: Webhook) -> list[str]:
    """Returns a webhook's index keys; none when its filter can never match."""
    limits = webhook.filter or WebhookFilter()
    places = limits.countries or (ANY,)
    if limits.companies or limits.watchlists:
        followed = [
            key
            for key in limits.companies
            if not limits.countries or key.country in limits.countries
        ]
        return followed + [
            f"{_list_name(one)}|{place}" for one in limits.watchlists for place in places
        ]
    names = next(filter(None, _names(limits)), None) or webhook.events
    return [f"{name}|{place}" for name in names for place in places]


def _names(limits: WebhookFilter) -> Iterable[list[str]]:
    industries = [f"industry:{digits(prefix)}" for prefix in limits.industries]
    municipalities = list(
        dict.fromkeys(f"municipality:{municipality_key(each)}" for each in limits.municipalities)
    )
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
    names = [*subject.event_type.patterns, *industries]
    municipalities = [f"municipality:{each}" for each in subject.places]
    names += [*municipalities, *_pairs(industries, municipalities)]
    if subject.form is not None:
        names.append(f"form:{subject.form}")
    names += dict.fromkeys(f"field:{_top(field)}" for field in subject.fields)
    names += map(_list_name, subject.watchlists)
    keys = [f"{name}|{place}" for name in names for place in (subject.country.value, ANY)]
    return [subject.company, *keys]


def _list_name(watchlist: WatchlistId) -> str:
    return f"watchlist:{watchlist}"


def _top(field: str) -> str:
    return field.partition(".")[0]


def _prefixes(codes: Iterable[str]) -> dict[str, None]:
    return {code[:length]: None for code in codes for length in range(1, len(code) + 1)}


def touches(changed: str, field: str) -> bool:
    """Returns True if a change of one field is one of the other, or of a part of it."""
    return f"{changed}.".startswith(f"{field}.") or f"{field}.".startswith(f"{changed}.")


@dataclass(frozen=True, slots=True)
class Limits:
    """The parts of a stored filter that are compared with an event in addition to the keys."""

    forms: frozenset[str] = frozenset()
    #: As the municipality is compared.
    municipalities: frozenset[str] = frozenset()
    #: Beginnings of industry codes, digits only.
    industries: tuple[str, ...] = ()
    #: Fields without a dot, which a change of any part of them touches.
    fields: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Self:
        """Returns the parts of a stored filter."""
        given = stored or {}
        fields = given.get("fields") or ()
        return cls(
            forms=frozenset(given.get("forms") or ()),
            municipalities=frozenset(map(municipality_key, given.get("municipalities") or ())),
            industries=tuple(map(digits, given.get("industries") or ())),
            fields=frozenset(field for field in fields if "." not in field),
            parts=tuple(field for field in fields if "." in field),
        )

    def select(self, subject: Subject) -> bool:
        """Returns True if an event passes; countries, companies and watchlists are keys."""
        return (
            (not self.forms or subject.form in self.forms)
            and (not self.municipalities or not self.municipalities.isdisjoint(subject.places))
            and (
                not self.industries
                or any(code.startswith(self.industries) for code in subject.industries)
            )
            and (not (self.fields or self.parts) or any(map(self._has_field, subject.fields)))
        )

    def _has_field(self, changed: str) -> bool:
        return _top(changed) in self.fields or any(touches(changed, part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Rule:
    """The conditions of an event in addition to a key of the webhook."""

    event_types: frozenset[EventType]
    limits: Limits

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Rule":
        """Returns the rule of a stored webhook."""
        return cls(_kinds(tuple(document["events"])), Limits.of(document.get("filter")))

    def selects(self, subject: Subject) -> bool:
        """Returns True if an event that was looked up by a key is for the webhook."""
        return subject.event_type in self.event_types and self.limits.select(subject)


@dataclass(frozen=True, slots=True)
class _Group:
    """The webhooks of one key with one rule."""

    rule: Rule
    matches: dict[WebhookId, Match] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Stored:
    """A webhook that is in the index."""

    keys: tuple[str, ...]
    rule: Rule
    match: Match


class MatchIndex:
    """Finds the webhooks of an event, with exactly the rule of `matching.py`."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[_Group]] = {}
        self._stored: dict[WebhookId, _Stored] = {}
        self._with_lists = 0
        #: Equal rules, as one object each.
        self._rules: dict[Rule, Rule] = {}
        self._keys: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def has_lists(self) -> bool:
        """True if a webhook follows a watchlist."""
        return self._with_lists > 0

    def put(self, document: Mapping[str, Any]) -> None:
        """Adds a stored webhook, or replaces it; one without a key of this index is left out."""
        # Keys of companies are not indexed here.
        keys = tuple(
            self._keys.setdefault(key, key) for key in document["match_keys"] if "|" in key
        )
        rule = Rule.of(document)
        new = _Stored(keys, self._rules.setdefault(rule, rule), match_of(document))
        if self._stored.get(new.match.webhook_id) == new:
            return
        self.remove(new.match.webhook_id)
        if not keys:
            return
        for key in keys:
            self._group(key, new.rule).matches[new.match.webhook_id] = new.match
        self._stored[new.match.webhook_id] = new
        self._with_lists += _has_list(new)

    def _group(self, key: str, rule: Rule) -> _Group:
        groups = self._by_key.setdefault(key, [])
        for group in groups:
            if group.rule is rule:
                return group
        groups.append(_Group(rule))
        return groups[-1]

    def remove(self, webhook_id: WebhookId) -> None:
        """Removes a webhook, if it is there."""
        stored = self._stored.pop(webhook_id, None)
        if stored is None:
            return
        for key in stored.keys:
            group = self._group(key, stored.rule)
            group.matches.pop(webhook_id, None)
            if not group.matches:
                self._by_key[key].remove(group)
            if not self._by_key[key]:
                del self._by_key[key], self._keys[key]
        self._with_lists -= _has_list(stored)

    def matching(self, subject: Subject) -> dict[WebhookId, Match]:
        """Returns the webhooks that an event is for."""
        found: dict[WebhookId, Match] = {}
        for key in event_keys(subject):
            for group in self._by_key.get(key, ()):
                if group.rule.selects(subject):
                    found |= group.matches
        return found


def match_of(document: Mapping[str, Any]) -> Match:
    """Returns the match of a stored webhook."""
    return Match(
        webhook_id=document["_id"],
        generation=document["generation"],
        enabled=document["status"] == WebhookStatus.ENABLED,
    )


def _has_list(stored: _Stored) -> bool:
    return stored.keys[0].startswith("watchlist:")


@cache
def _kinds(patterns: tuple[str, ...]) -> frozenset[EventType]:
    return frozenset(
        event_type for event_type in EventType if not set(event_type.patterns).isdisjoint(patterns)
    )
