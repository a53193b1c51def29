"""Headers of a delivery's request, for the dispatcher that sends them and the registry."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from common.contracts.events import EventType

#: User agent of every post.
USER_AGENT: Final = "company-registry-webhooks/1"

#: A signature in its displayed form.
MASKED: Final = "********"


#: Maximum number of an owner's own headers.
MAX_HEADERS: Final = 10

#: Names that an owner cannot give, in lower case: ours, and those that HTTP gives a meaning for the
#: connection or the body.
RESERVED: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "traceparent",
        "tracestate",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "x-delivery-id",
        "x-event-type",
        "x-signature",
        "x-signature-previous",
        "x-timestamp",
    }
)
#: And beginnings of such names.
RESERVED_PREFIXES: Final = ("proxy-", "webhook-")


def constant_headers(event_type: EventType) -> dict[str, str]:
    """Headers that are the same for every attempt and webhook."""
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-Event-Type": event_type.value,
    }


def shown_headers(
    event_type: EventType, delivery_id: str, at: datetime, *, own: Iterable[str]
) -> dict[str, str]:
    """The headers of an attempt as its owner sees them; `own` are the names of the owner's."""
    timestamp = str(int(at.timestamp()))
    return {
        **dict.fromkeys(own, MASKED),
        **constant_headers(event_type),
        "X-Timestamp": timestamp,
        "X-Delivery-Id": delivery_id,
        "X-Signature": MASKED,
        "webhook-id": delivery_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{MASKED}",
    }
