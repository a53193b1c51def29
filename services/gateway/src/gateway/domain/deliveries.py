"""Parsing of the query string that selects deliveries."""

import re
from datetime import UTC, datetime

from common.contracts.events import EventType
from common.contracts.webhooks import LISTED, MAX_LISTED, AttemptStatus, DeliveryQuery
from gateway.domain.reading import Parameters, Reading

STATUS, TYPE, SINCE, UNTIL, LIMIT, AFTER = "status", "type", "since", "until", "limit", "after"

_CURSOR = re.compile(r"[A-Za-z0-9_-]{1,200}")


def parse_deliveries(parameters: Parameters) -> DeliveryQuery:
    """Parse the selection; raises InvalidParameter."""
    reading = _DeliveriesReading(parameters)
    query = DeliveryQuery(
        status=reading.status(),
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
    def status(self) -> AttemptStatus | None:
        value = self.single(STATUS)
        if value is not None and value not in tuple(AttemptStatus):
            self.invalid(STATUS, f"must be {', '.join(AttemptStatus)}, or left out")
            return None
        return None if value is None else AttemptStatus(value)

    def types(self) -> tuple[EventType, ...]:
        value = self.single(TYPE)
        if value is not None and value not in tuple(EventType):
            self.invalid(TYPE, "must be an event type; GET /api/event-types lists them")
            return ()
        return () if value is None else (EventType(value),)

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
