"""Validation of request bodies; every error is reported with a hint."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import orjson

from common.contracts.events import EventType
from common.contracts.failures import FieldError
from common.contracts.webhooks import WebhookFilter, WebhookStatus
from common.domain.nearest import unknown_names
from webhook_registry.destinations.urls import Destination, read_destination
from webhook_registry.replies import Rejected, Wrong, invalid_body
from webhook_registry.webhooks.subscription import (
    read_events,
    read_filter,
    read_header_changes,
    read_headers,
    read_new_filter,
)

T = TypeVar("T")
Fields = Mapping[str, Any]

MAX_DESCRIPTION_LENGTH = 500

#: Maximum age of recoverable deliveries.
RECOVERABLE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Changes:
    """A webhook to create, or changes of one; fields that are not `given` stay unchanged.

    Parts that are not set in `filter` stay unchanged as well.
    """

    given: Collection[str]
    destination: Destination | None
    events: tuple[str, ...]
    filter: WebhookFilter | None
    description: str | None
    #: A value of None removes one header; None removes all.
    headers: Mapping[str, str | None] | None = field(repr=False)
    status: WebhookStatus | None

    @property
    def fields(self) -> dict[str, Any]:
        """Returns the given fields of a `Webhook`, except its status and those that are merged."""
        fields: dict[str, Any] = {
            name: getattr(self, name) for name in ("events", "description") if name in self.given
        }
        if self.destination is not None:
            fields |= {"url": self.destination.url, "host": self.destination.host}
        return fields


@dataclass(frozen=True, slots=True)
class Window:
    """Range of `occurred_at`, both ends inclusive."""

    since: datetime
    until: datetime


def read_draft(body: bytes) -> Changes:
    """Returns the webhook to create, with all its fields; raises Rejected with every error."""
    optional = ("filter", "description", "headers")
    fields = read_fields(body, required=("url", "events"), optional=optional)
    given = ("url", "events", *optional)
    return _changes(fields, given, filter_=read_new_filter, headers=read_headers)


def read_changes(body: bytes) -> Changes:
    """Returns the changes; raises Rejected with every error."""
    optional = ("url", "events", "filter", "description", "headers", "status")
    fields = read_fields(body, required=(), optional=optional)
    return _changes(fields, frozenset(fields), filter_=read_filter, headers=read_header_changes)


def _changes(
    fields: Fields,
    given: Collection[str],
    *,
    filter_: Callable[[object], WebhookFilter | None],
    headers: Callable[[object], Mapping[str, str | None] | None],
) -> Changes:
    read = Reader(fields)
    changes = Changes(
        given=given,
        destination=read("url", read_destination),
        events=read("events", read_events) or (),
        filter=read("filter", filter_),
        description=read("description", read_description),
        headers=read("headers", headers),
        status=read("status", _status),
    )
    if read.faults:
        raise faulty(read.faults)
    return changes


def read_test(body: bytes) -> EventType:
    """Returns the type of the requested test event; raises Rejected with every error."""
    if not body:
        return EventType.WEBHOOK_TEST
    read = Reader(read_fields(body, required=(), optional=("type",)))
    event_type = read("type", _event_type)
    if read.faults:
        raise faulty(read.faults)
    return event_type or EventType.WEBHOOK_TEST


def read_window(body: bytes, *, now: datetime) -> Window:
    """Returns the window to recover, capped at `now`; raises Rejected with every error."""
    fields = read_fields(body, required=("since",), optional=("until",))
    read = Reader(fields)
    since, until = read("since", _moment), read("until", _moment_or_none)
    if since is None or read.faults:
        raise faulty(read.faults)
    if since < now - RECOVERABLE:
        earliest = (now - RECOVERABLE).strftime("%Y-%m-%dT%H:%M:%SZ")
        raise faulty([_fault("since", f"give a time at most 30 days back: {earliest} or later")])
    window = Window(since, min(until or now, now))
    if window.since >= window.until:
        raise faulty([_fault("since", "give a time before until and before now")])
    # Events have times in whole seconds, so `since` is truncated to its second.
    return replace(window, since=window.since.replace(microsecond=0))


class Reader:
    """Reads fields one by one and collects their errors."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self.faults: list[FieldError] = []

    def __call__(self, name: str, parse: Callable[[object], T]) -> T | None:
        """Reads one field; None when absent or invalid."""
        if name not in self._fields:
            return None
        try:
            return parse(self._fields[name])
        except Wrong as wrong:
            self.faults.append(_fault(name + wrong.at, str(wrong)))
            return None


def read_fields(body: bytes, *, required: tuple[str, ...], optional: tuple[str, ...]) -> Fields:
    """Returns the members of the body's object.

    Required fields must exist and unknown ones are refused, by Rejected.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise invalid_body("the body is not JSON") from None
    if not isinstance(document, dict):
        raise invalid_body("the body is not a JSON object")
    faults = [_fault(name, "is required") for name in required if name not in document]
    known = (*required, *optional)
    faults += [_fault(*found) for found in unknown_names("field", document, known)]
    if faults:
        raise faulty(faults)
    return document


def read_description(value: object) -> str | None:
    """Returns a description, or None for null; raises Wrong."""
    if value is not None and not isinstance(value, str):
        raise Wrong("give a string or null")
    if value is not None and len(value) > MAX_DESCRIPTION_LENGTH:
        raise Wrong(f"give at most {MAX_DESCRIPTION_LENGTH} characters")
    return value


def _status(value: object) -> WebhookStatus:
    for status in WebhookStatus:
        if value == status:
            return status
    raise Wrong(f"give one of {', '.join(WebhookStatus)}")


def _event_type(value: object) -> EventType:
    for event_type in EventType:
        if value == event_type:
            return event_type
    raise Wrong("give an event type; GET /api/event-types lists them")


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise Wrong("give a time with its offset as in RFC 3339, such as 2026-03-02T05:00:00Z")


def _moment_or_none(value: object) -> datetime | None:
    return None if value is None else _moment(value)


def _fault(parameter: str, message: str) -> FieldError:
    return FieldError(parameter=parameter, message=message)


def faulty(faults: list[FieldError]) -> Rejected:
    """Returns the refusal of a body with these invalid fields."""
    return invalid_body("the request body is invalid", *faults)
