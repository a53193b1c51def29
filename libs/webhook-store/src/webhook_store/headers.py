"""Headers of a delivery's request, for the dispatcher that sends them and the registry."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from common.contracts.events import EventType

#: User agent of every post.
USER_AGENT: Final = "company-registry-webhooks/1"

#: A signature in its displayed form.
MASKED: Final = "********"

#: Maximum number of custom headers of a webhook.
MAX_HEADERS: Final = 10

#: Names that an owner cannot give, in lower case: ours, those that HTTP gives a meaning for the
#: connection or the body, and those of proxies, which receivers trust.
_RESERVED: Final = frozenset(
    {
        "accept-encoding",
        "cdn-loop",
        "cf-connecting-ip",
        "client-ip",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "forwarded",
        "host",
        "http2-settings",
        "keep-alive",
        "max-forwards",
        "te",
        "traceparent",
        "tracestate",
        "trailer",
        "transfer-encoding",
        "true-client-ip",
        "upgrade",
        "user-agent",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-delivery-id",
        "x-event-type",
        "x-real-ip",
        "x-signature",
        "x-signature-previous",
        "x-timestamp",
    }
)
#: Prefixes of such names.
_RESERVED_PREFIXES: Final = ("proxy-", "webhook-", "x-forwarded-")

_NO_LETTER_OR_DIGIT = re.compile("[^a-z0-9]")


def comparable(name: str) -> str:
    """Returns the name as receivers may read it: CGI maps `X-A` and `x_a` to `HTTP_X_A`."""
    return _NO_LETTER_OR_DIGIT.sub("-", name.lower())


def is_reserved(name: str) -> bool:
    """Returns True if owners cannot set the header, in any spelling that receivers equate."""
    same = comparable(name)
    return same in _RESERVED or same.startswith(_RESERVED_PREFIXES)


def constant_headers(event_type: EventType) -> dict[str, str]:
    """Returns the headers that are the same for every attempt and webhook."""
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-Event-Type": event_type.value,
    }


def shown_headers(
    event_type: EventType, delivery_id: str, at: datetime, *, own: Iterable[str]
) -> dict[str, str]:
    """Returns the headers of an attempt as its owner sees them; `own` names the custom ones."""
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
