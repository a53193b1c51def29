"""Events in words, for people who read them in a feed reader or by e-mail."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from common.contracts.events import EventType

#: Maximum characters of a value: some are lists of thousands of names.
MAX_VALUE: Final = 300

#: Follows the company's name. Events of other types have the name of the type.
_TITLES: Final[Mapping[str, str]] = {
    EventType.COMPANY_CREATED: "is new in the register",
    EventType.COMPANY_UPDATED: "has changed",
    EventType.COMPANY_STATUS_CHANGED: "has another status",
    EventType.COMPANY_REMOVED: "was removed from the register",
    EventType.OWNERS_CHANGED: "has other owners",
    EventType.PRODUCTION_UNIT_CREATED: "has a new production unit",
    EventType.PRODUCTION_UNIT_UPDATED: "has a changed production unit",
    EventType.PRODUCTION_UNIT_ENDED: "has closed a production unit",
    EventType.EINVOICING_CHANGED: "can be sent e-invoices in another way",
}


def title_of(event: Mapping[str, Any]) -> str:
    """Returns one line about a public event of a company: its name and what happened."""
    company = event["data"].get("company") or {}
    name = company.get("name") or f"{event['country'].upper()} {event['vat']}"
    # A line break in a title would be a second line of the reader's list.
    return " ".join(f"{name} {_TITLES.get(event['type'], event['type'])}".split())


def lines_of(event: Mapping[str, Any]) -> list[str]:
    """Returns the company's number and what has changed, one line for each field."""
    lines = [f"{event['country'].upper()} {event['vat']}"]
    unit = event["data"].get("production_unit")
    if unit is not None:
        lines.append(f"production unit: {_shown(unit.get('name'))}")
    lines += [
        f"{change['field'].replace('_', ' ')}: {_shown(change['old'])} → {_shown(change['new'])}"
        for change in event["data"].get("changes", ())
    ]
    return lines


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"
