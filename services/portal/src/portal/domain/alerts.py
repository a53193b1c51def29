"""What an alert is about, in words, and how often it would come."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from company_registry.models import Event
from company_registry.webhook_models import Webhook


@dataclass(frozen=True, slots=True)
class Topic:
    """A choice of what an alert is about, as a filter of a webhook or a digest has it."""

    label: str
    events: tuple[str, ...]
    fields: tuple[str, ...]


#: By their names in a form.
TOPICS: Final[dict[str, Topic]] = {
    "status": Topic("Bankruptcies and endings", ("company.status_changed",), ("status",)),
    "owners": Topic("Owners", ("owners.changed",), ("owners",)),
    "management": Topic("Management", ("company.updated",), ("roles", "signing_rule")),
    "address": Topic(
        "Address and name", ("company.updated",), ("name", "address", "postal_address")
    ),
    "accounts": Topic("Annual accounts", ("company.accounts_published",), ("annual_accounts",)),
}
EVERYTHING: Final = "everything"

#: Days of the feed that a frequency is of.
DAYS: Final = 30


def chosen(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the events and the fields of chosen topics; both empty for everything."""
    given = list(names)
    topics = [topic for name, topic in TOPICS.items() if name in given]
    if EVERYTHING in given or not topics:
        return (), ()
    events = dict.fromkeys(event for topic in topics for event in topic.events)
    fields = dict.fromkeys(field for topic in topics for field in topic.fields)
    return tuple(events), tuple(fields)


def said(events: Collection[str], fields: Collection[str]) -> str:
    """Returns what a digest is about: `owners, annual accounts`; empty for everything."""
    if "*" in events and not fields:
        return ""
    topics = [
        topic.label
        for topic in TOPICS.values()
        if set(topic.events) <= {*events} and {*topic.fields} <= {*fields}
    ]
    words = ", ".join(topics) or ", ".join([*events, *fields])
    return f"{words[:1].lower()}{words[1:]}"


def is_about(event: Event, events: Collection[str], fields: Collection[str]) -> bool:
    """Returns True if an event is of the events and fields, as `chosen` gives them."""
    if not events:
        return True
    changed = {change.field.partition(".")[0] for change in event.data.changes}
    return event.type in events and (not fields or not changed.isdisjoint(fields))


def frequency(count: int, *, is_complete: bool, days: int = DAYS) -> str:
    """Returns how often so many changes in `days` are: `about 3 a week`."""
    least = "" if is_complete else "more than "
    if not count:
        return "none in the last 30 days"
    a_week = round(count * 7 / days)
    if a_week >= 10:
        return (
            f"{least or 'about '}{round(count / days):,} a day"
            if a_week >= 70
            else (f"{least or 'about '}{a_week:,} a week")
        )
    if a_week:
        return f"{least or 'about '}{a_week} a week"
    return f"{least or 'about '}{count} a month"


def first_moment(now: datetime) -> datetime:
    """Returns the beginning of the days that a frequency is of."""
    return now - timedelta(days=DAYS)


def followers(
    webhooks: Sequence[Webhook], *, company: str, lists: Collection[str]
) -> list[Webhook]:
    """Returns the webhooks that follow a company: by its number, by a list, or as every other."""
    return [each for each in webhooks if _follows(each, company, lists)]


def _follows(webhook: Webhook, company: str, lists: Collection[str]) -> bool:
    limits = webhook.filter
    if limits is None:
        return True
    if limits.countries and company[:2] not in limits.countries:
        return False
    if limits.companies or limits.watchlists:
        return company in limits.companies or not set(lists).isdisjoint(limits.watchlists)
    # Whether it has the industry or the place of a filter is the service's to say.
    return not (limits.forms or limits.industries or limits.municipalities)
