"""Parsing of the query string that selects deliveries."""

import re
from datetime import UTC, datetime

from common.contracts.events import EventType
from common.contracts.webhooks import LISTED, MAX_LISTED, AttemptStatus, DeliveryQuery
from gateway.http.parameters import Parameters, Reading

STATUS, TYPE, SINCE, UNTIL, LIMIT, AFTER = "status", "type", "since", "until", "limit", "after"

_STATES = ", ".join(AttemptStatus)

_CURSOR = re.compile(r"[A-Za-z0-9_-]{1,200}")


def parse_deliveries(parameters: Parameters) -> DeliveryQuery:
    """Parse the selection; raises InvalidParameter."""
    reading = _DeliveriesReading(parameters)
    query = DeliveryQuery(
        status=reading.choice(STATUS, AttemptStatus, f"must be {_STATES}, or left out"),
        types=reading.types(),
        since=reading.moment(SINCE),
        until=reading.moment(UNTIL),
        limit=reading.number(LIMIT, 1, MAX_LISTED, LISTED),
        after=reading.cursor(),
    )
    if reading.faults:
        raise reading.problem()
    return query


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

    def cursor(self) -> str | None:
        value = self.single(AFTER)
        if value is not None and not _CURSOR.fullmatch(value):
            self.invalid(AFTER, "must be the cursor of an earlier answer")
        return value
