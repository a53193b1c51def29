"""The home page: which webhooks need attention, how fresh registers are, and the newest changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from company_registry.models import Event, RegisterSource
from company_registry.watchlist_models import Watchlist
from company_registry.webhook_models import Webhook


@dataclass(frozen=True, slots=True)
class WatchedChange:
    """An event about a watched company."""

    event: Event
    #: The lists that are known to have the company.
    watchlists: tuple[Watchlist, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The newest events of some watchlists, oldest first, as one request has them."""

    watchlists: Sequence[Watchlist]
    events: Sequence[Event]


def readings_of(watchlists: Sequence[Watchlist], *, most: int, named: int) -> list[list[Watchlist]]:
    """Returns which lists are read in one request each, at most `most`, the last changed first.

    Up to `named` lists are read each by itself, so that a change names its list; more of them at
    once.
    """
    last = sorted((each for each in watchlists if each.size), key=_changed_at, reverse=True)[:most]
    return [[each] for each in last] if len(last) <= named else [last]


def _changed_at(watchlist: Watchlist) -> str:
    return watchlist.updated_at


def newest_of(readings: Iterable[Reading], *, most: int) -> list[WatchedChange]:
    """Returns the newest changes, newest first; one that several lists have is there once."""
    found: dict[str, WatchedChange] = {}
    for reading in readings:
        # An event of several lists that were read at once may be of any.
        known = tuple(reading.watchlists) if len(reading.watchlists) == 1 else ()
        for event in reversed(reading.events):
            before = found.get(event.id, WatchedChange(event)).watchlists
            found[event.id] = WatchedChange(event, (*before, *known))
    return sorted(found.values(), key=lambda one: one.event.occurred_at, reverse=True)[:most]


def troubled(webhooks: Iterable[Webhook]) -> list[Webhook]:
    """Returns the webhooks that need attention, the most urgent first."""
    return sorted(filter(_urgency, webhooks), key=_urgency, reverse=True)


def _urgency(webhook: Webhook) -> int:
    if webhook.status == "disabled":
        # Its owner knows of it, and may have forgotten it.
        return 1 if webhook.disabled_reason == "owner" else 4
    health = webhook.health
    if health is None:
        return 0
    return 3 if webhook.condition == "failing" else 2 if health.last_24h.failed else 0


#: By the beginning of their sources: the registers as people call them, and the age at which one
#: is behind, which is that of the operator's alerts.
_REGISTERS: Final = (
    ("dk-", "Denmark (CVR)", timedelta(minutes=20)),
    ("no-konsern", "Groups in Norway (Brønnøysund)", timedelta(days=2)),
    ("no-", "Norway (Brønnøysund)", timedelta(minutes=20)),
    ("peppol", "E-invoicing (Peppol)", timedelta(days=2)),
)
_PARTS: Final = {
    "dk-virksomhed": "companies",
    "dk-produktionsenhed": "production units",
    "dk-regnskab": "annual accounts",
    "no-enheter": "companies",
    "no-underenheter": "production units",
    "no-roller": "owners and roles",
    "no-regnskap": "annual accounts",
}


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh a register is, as its oldest part is."""

    name: str
    #: `current`, `behind`, `loaded` if it is not followed, or `loading`.
    state: str
    #: Every change up to then is stored; of a register that is not followed, the last load.
    at: datetime | None
    #: The parts that are behind or being loaded, if others are not.
    parts: tuple[str, ...] = ()


def freshness(sources: Iterable[RegisterSource], now: datetime) -> list[Freshness]:
    """Returns how fresh each register is; one that this release does not know has its own name."""
    by_register: dict[tuple[str, timedelta], list[RegisterSource]] = {}
    for source in sources:
        known = (each[1:] for each in _REGISTERS if source.source.startswith(each[0]))
        register = next(known, (source.source, timedelta(days=2)))
        by_register.setdefault(register, []).append(source)
    return [_of(name, age, parts, now) for (name, age), parts in by_register.items()]


def _of(name: str, age: timedelta, parts: Sequence[RegisterSource], now: datetime) -> Freshness:
    states = {part.source: _state(part, age, now) for part in parts}
    state = next(each for each in _WORST if each in states.values())
    times = [
        at
        for part in parts
        if states[part.source] == state and (at := part.current_until or part.loaded_at)
    ]
    named = [source for source, each in states.items() if each == state]
    is_of_some = state in ("behind", "loading") and len(named) < len(parts)
    return Freshness(
        name,
        state,
        min(times, default=None),
        tuple(_PARTS.get(each, each) for each in named) if is_of_some else (),
    )


_WORST: Final = ("behind", "loading", "loaded", "current")


def _state(part: RegisterSource, age: timedelta, now: datetime) -> str:
    if part.current_until is not None:
        return "behind" if now - part.current_until > age else "current"
    return "loading" if part.loaded_at is None else "loaded"
