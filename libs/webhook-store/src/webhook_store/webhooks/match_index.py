"""Webhooks by the keys that events look them up under, in memory.

Webhooks that follow companies by number are not in it, but are read from the database, because each
may have a thousand keys. Webhooks of one key with the same other limits are compared with an event
once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from common.contracts.events import EventType
from common.contracts.webhooks import WebhookId, WebhookStatus
from webhook_store.webhooks.matching import Limits, Subject, event_keys
from webhook_store.webhooks.models import Match


@dataclass(frozen=True, slots=True)
class Rule:
    """The conditions of an event beside a key of the webhook."""

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
