"""Keys of an owner: what their scopes mean, the form of a new one, and their use as a plot."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from company_registry.key_models import KeyDay, KeyRate

#: What each scope allows, in the order of the form.
SCOPES: Final = {
    "lookup": "Look up, search, list and match companies",
    "webhooks": "Manage webhooks and watchlists, and see deliveries with their bodies",
    "events": "Read the feed of events, as pages and live",
    "export": "Copy a whole register",
    "protected": "List companies that are protected from advertising",
    "keys": "Create, replace and end keys of its owner, and see their requests",
}

#: The units of a rate, in seconds.
UNITS: Final = {"1": "second", "60": "minute", "3600": "hour"}

#: Pixels of a plot.
WIDTH: Final = 300
HEIGHT: Final = 48
DAYS: Final = 30
_STEP: Final = WIDTH // DAYS
_BAR: Final = 8
#: A day with a single request can be seen.
_LEAST: Final = 2


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of the plot; lengths are in pixels."""

    day: str
    requests: int
    refused: int
    x: int
    answered_height: int
    refused_height: int
    width: int = _BAR

    @property
    def y_answered(self) -> int:
        """The top of the bar of answered requests."""
        return HEIGHT - self.answered_height

    @property
    def y_refused(self) -> int:
        """The top of the bar of refused ones, which stands on the other."""
        return self.y_answered - self.refused_height


def bars(days: Sequence[KeyDay], *, today: date) -> list[Bar]:
    """Returns the last 30 days with requests as bars; the highest has the height of the plot."""
    most = max((each.requests for each in days), default=0)
    found = []
    for each in days:
        place = DAYS - 1 - (today - date.fromisoformat(each.day)).days
        if not 0 <= place < DAYS:
            continue
        answered, refused = (
            max(_LEAST, count * HEIGHT // most) if count else 0
            for count in (each.requests - each.refused, each.refused)
        )
        answered = min(answered, HEIGHT - refused)
        found.append(Bar(each.day, each.requests, each.refused, place * _STEP, answered, refused))
    return found


def first_day(today: date) -> str:
    """Returns the first day of the plot."""
    return (today - timedelta(days=DAYS - 1)).isoformat()


def lacking(scopes: Collection[str]) -> list[tuple[str, str]]:
    """Returns the scopes that a key lacks, and so what it may not do or see."""
    return [(name, text) for name, text in SCOPES.items() if name not in scopes]


@dataclass(frozen=True, slots=True)
class KeyForm:
    """The form of a new key, as it was filled in."""

    name: str = ""
    scopes: tuple[str, ...] = ("lookup",)
    expires_at: str = ""
    rate_count: str = ""
    rate_unit: str = "60"
    is_publishable: bool = False
    origins: str = ""
    visitor_count: str = ""
    visitor_unit: str = "60"

    def members(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the options of the new key but its expiry, and the faults of the fields."""
        found: dict[str, str] = {}
        options: dict[str, Any] = {"rate": _rate(self.rate_count, self.rate_unit, "rate", found)}
        if self.is_publishable:
            options["origins"] = self.origins.split()
            visitors = _rate(self.visitor_count, self.visitor_unit, "visitor_rate", found)
            options["visitor_rate"] = visitors
            if not options["origins"]:
                found["origins"] = "Enter the address of the site, such as https://www.example.com."
        else:
            options["scopes"] = self.scopes
            if not self.scopes:
                found["scopes"] = "Choose what the key may do."
        if not self.name:
            found["name"] = "Enter what the key is for."
        return options, found


def read_form(fields: Mapping[str, Sequence[str]]) -> KeyForm:
    """Returns the form as it was sent."""

    def text(name: str, default: str = "") -> str:
        return next(iter(fields.get(name, ())), default).strip()

    return KeyForm(
        name=text("name"),
        scopes=tuple(each for each in fields.get("scopes", ()) if each in SCOPES),
        expires_at=text("expires_at"),
        rate_count=text("rate_count"),
        rate_unit=text("rate_unit", "60"),
        is_publishable=text("kind") == "publishable",
        origins=text("origins"),
        visitor_count=text("visitor_count"),
        visitor_unit=text("visitor_unit", "60"),
    )


def _rate(count: str, unit: str, name: str, faults: dict[str, str]) -> KeyRate | None:
    if not count:
        return None
    if not (count.isascii() and count.isdecimal() and 0 < int(count) < 10**9 and unit in UNITS):
        faults[name] = "Enter a whole number of requests, or nothing."
        return None
    return KeyRate(count=int(count), window_seconds=int(unit))
