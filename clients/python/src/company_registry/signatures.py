"""Signatures of deliveries: `X-Signature`, and the headers of Standard Webhooks."""

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from typing import Final

from company_registry.errors import InvalidSignature

#: Tolerance of a delivery's timestamp in seconds; an older delivery may be a replay.
TOLERANCE: Final = 300

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 (a prefix)

_TIMESTAMP = re.compile("[0-9]{10}")
_DELIVERY_ID = re.compile("[0-9a-f-]{36}")


def verify(
    headers: Mapping[str, str], body: bytes, secret: str, *, now: float | None = None
) -> None:
    """Raises InvalidSignature unless the delivery was signed with the webhook's secret.

    `body` is the raw body; parsing and serialising it again changes it. `secret` is the whole
    string from the webhook's creation, including `whsec_`. Header names may be in any case. `now`
    is Unix time in seconds and defaults to the current time. During a rotation both secrets verify.
    """
    _check_types(headers, body, secret)
    given = {name.lower(): value for name, value in headers.items()}
    timestamp, delivery_id = given.get("x-timestamp", ""), given.get("x-delivery-id", "")
    # The signature joins its three parts without separators. The fixed widths of the first two
    # prevent bytes from moving between the parts.
    if not _TIMESTAMP.fullmatch(timestamp):
        raise InvalidSignature("X-Timestamp is missing or not ten digits")
    if not _DELIVERY_ID.fullmatch(delivery_id):
        raise InvalidSignature("X-Delivery-Id is missing or not a UUID of 36 characters")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        raise InvalidSignature(f"X-Timestamp is more than {TOLERANCE} seconds off")
    expected = _signature(secret, timestamp, delivery_id, body).encode()
    signatures = (given.get("x-signature", ""), given.get("x-signature-previous", ""))
    # Servers decode invalid UTF-8 to surrogates, for which a plain `encode` raises.
    matches = [
        hmac.compare_digest(expected, signature.encode(errors="replace"))
        for signature in signatures
    ]
    if not any(matches):
        raise InvalidSignature("no signature was made with this secret over this body")


def _check_types(headers: object, body: object, secret: object) -> None:
    """Raises TypeError or ValueError for a mistake of the receiver, which no delivery can mend."""
    # Several frameworks have headers that are no Mapping, but have its methods.
    if not hasattr(headers, "items"):
        raise TypeError(
            "headers must be a mapping of names to values; give dict(headers) of a list of pairs"
        )
    if not isinstance(body, bytes | bytearray | memoryview):
        raise TypeError(
            "body must be the raw bytes of the request, such as request.get_data() or "
            "await request.body(); a decoded or parsed body has other bytes"
        )
    if not isinstance(secret, str):
        raise TypeError("secret must be the text of the webhook's creation, whsec_…")
    if secret != secret.strip() or not secret:
        raise ValueError(
            "the secret is empty, or begins or ends with a blank or line break, as one that was "
            "read from a file: give secret.strip()"
        )


def signed_headers(secret: str, *, delivery_id: str, body: bytes, timestamp: int) -> dict[str, str]:
    """Returns the headers that the service sends with a delivery; `timestamp` is Unix time."""
    moment = str(timestamp)
    return {
        "X-Timestamp": moment,
        "X-Delivery-Id": delivery_id,
        "X-Signature": _signature(secret, moment, delivery_id, body),
        "webhook-id": delivery_id,
        "webhook-timestamp": moment,
        "webhook-signature": _standard(secret, moment, delivery_id, body),
    }


def _signature(secret: str, timestamp: str, delivery_id: str, body: bytes) -> str:
    message = timestamp.encode() + delivery_id.encode() + body
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def _standard(secret: str, timestamp: str, delivery_id: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    message = f"{delivery_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
