"""Verify the signature of a delivery. Copy this file; it needs only Python 3.9.

    if not verify(SECRET, request.headers, request.body):
        return 401

Pass the raw bytes of the request body; parsing and serialising it again changes them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Mapping

#: Tolerance of a delivery's timestamp in seconds; older deliveries may be replays.
TOLERANCE = 300


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> bool:
    """Return whether the delivery was signed with the webhook's secret within the tolerance.

    `secret` is the whole string from the webhook's creation, including `whsec_`. Header names may
    be in any case. `now` is Unix time in seconds and defaults to the current time.
    """
    if not isinstance(body, (bytes, bytearray)) or not hasattr(headers, "items"):
        raise TypeError("give the headers as a mapping, and the raw bytes of the body")
    if secret != secret.strip():
        raise ValueError("the secret begins or ends with a blank or line break")
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get("x-timestamp", "")
    delivery_id = given.get("x-delivery-id", "")
    # The signature joins its three parts without separators. The fixed widths of the first two
    # prevent bytes from moving between the parts.
    if not re.fullmatch("[0-9]{10}", timestamp) or not re.fullmatch("[0-9a-f-]{36}", delivery_id):
        return False
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        return False
    message = timestamp.encode() + delivery_id.encode() + body
    expected = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    # During a rotation the previous secret signs as well.
    signatures = (given.get("x-signature", ""), given.get("x-signature-previous", ""))
    # Servers decode invalid UTF-8 to surrogates, for which a plain `encode` raises.
    return any(
        hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))
        for signature in signatures
    )
