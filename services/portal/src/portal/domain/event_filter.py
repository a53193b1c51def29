"""Filters of the feed of events, as the query of its page has them."""

import re
from dataclasses import dataclass
from typing import Protocol


class Query(Protocol):
    """A query with repeated keys."""

    def getall(self, key: str, default: list[str]) -> list[str]:
        """Returns all values of a key."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The filter of a page of the feed; empty members match every event."""

    types: tuple[str, ...]
    countries: tuple[str, ...]
    #: `<country>:<registration number>`.
    companies: tuple[str, ...]
    #: Ids of watchlists, whose companies count too.
    watchlists: tuple[str, ...] = ()


def read_filter(query: Query) -> EventFilter:
    """Omits empty values, which a form also sends."""
    return EventFilter(
        types=_values(query, "type"),
        countries=_values(query, "country"),
        companies=tuple(word for text in _values(query, "companies") for word in _words(text)),
        watchlists=_values(query, "watchlist"),
    )


def _values(query: Query, name: str) -> tuple[str, ...]:
    return tuple(value for value in query.getall(name, []) if value)


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,;]+", text) if word]
