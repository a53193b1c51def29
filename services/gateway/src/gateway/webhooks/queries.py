"""Parsing of the query string that selects deliveries."""

from datetime import UTC, datetime

from common.contracts.company import CompanyKey
from common.contracts.events import EventType
from common.contracts.watchlists import DEFAULT_WATCHED, MAX_CHANGED, WatchedQuery
from common.contracts.webhook_api import LISTED, MAX_LISTED, DeliveryQuery, ListPosition
from common.contracts.webhooks import AttemptStatus
from gateway.http.parameters import Parameters, Reading

STATUS, TYPE, SINCE, UNTIL, LIMIT, AFTER = "status", "type", "since", "until", "limit", "after"

_STATES = ", ".join(AttemptStatus)


def parse_deliveries(parameters: Parameters) -> DeliveryQuery:
    """Returns the selection of deliveries; raises InvalidParameter."""
    reading = _DeliveriesReading(parameters)
    query = DeliveryQuery(
        status=reading.choice(STATUS, AttemptStatus, f"must be {_STATES}, or left out"),
        types=reading.types(),
        since=reading.moment(SINCE),
        until=reading.moment(UNTIL),
        limit=reading.number(LIMIT, 1, MAX_LISTED, LISTED),
        after=reading.position(),
    )
    reading.check()
    return query


def parse_watched(parameters: Parameters) -> WatchedQuery:
    """Returns the selection of a watchlist's companies; raises InvalidParameter."""
    reading = Reading(parameters)
    limit = reading.number(LIMIT, 1, MAX_CHANGED, DEFAULT_WATCHED)
    after = reading.single(AFTER)
    position = None if after is None else CompanyKey.read(after)
    if after is not None and position is None:
        reading.invalid(AFTER, "must be the cursor of an earlier answer")
    reading.check()
    return WatchedQuery(limit=limit, after=position)


class _DeliveriesReading(Reading):
    def types(self) -> tuple[EventType, ...]:
        message = "must be an event type; GET /api/event-types lists them"
        chosen = self.choice(TYPE, EventType, message)
        return () if chosen is None else (chosen,)

    def moment(self, name: str) -> datetime | None:
        value = self.single(name)
        if value is None:
            return None
        try:
            # A plus sign that is not percent-encoded arrives as a space.
            moment = datetime.fromisoformat(value.replace(" ", "+"))
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        self.invalid(name, "must be a time as in RFC 3339, such as 2026-03-02T05:00:00Z")
        return None

    def position(self) -> ListPosition | None:
        value = self.single(AFTER)
        try:
            return None if value is None else ListPosition.parse(value)
        except ValueError:
            self.invalid(AFTER, "must be the cursor of an earlier answer")
            return None
