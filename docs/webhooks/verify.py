"""Check a delivery before you believe it. Copy this file; it needs nothing but Python 3.9.

    if not verify(SECRET, request.headers, request.body):
        return 401

Pass the raw bytes of the body, as they came: parsed and written again they are others.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Mapping

#: Seconds that a delivery's timestamp may be off; what is older may be a replay.
TOLERANCE = 300


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> bool:
    """Whether the delivery was signed with the webhook's secret, at most five minutes ago.

    `secret` is the whole string that the webhook was created with, `whsec_` included. `headers`
    may be in any case. `now` is Unix time in seconds, and the clock's unless it is given.
    """
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get("x-timestamp", "")
    delivery_id = given.get("x-delivery-id", "")
    # The signature joins its three parts with nothing between them: only because the first two
    # have fixed widths can no byte be moved from one part to another.
    if not re.fullmatch("[0-9]{10}", timestamp) or not re.fullmatch("[0-9a-f-]{36}", delivery_id):
        return False
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        return False
    message = timestamp.encode() + delivery_id.encode() + body
    expected = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    # While a secret is being replaced, the one before it signs as well.
    signatures = (given.get("x-signature", ""), given.get("x-signature-previous", ""))
    # Servers give bytes that are no UTF-8 as surrogates: a plain `encode` would raise.
    return any(
        hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))
        for signature in signatures
    )
