"""Verification of a delivery by a receiver, written from the specification alone (section 5)."""

import hashlib
import hmac
import re
from collections.abc import Mapping


def is_genuine(headers: Mapping[str, str], body: bytes, secret: str, *, now: float) -> bool:
    """True if X-Signature is the HMAC of X-Timestamp, X-Delivery-Id and body under the secret."""
    timestamp, delivery_id = headers["X-Timestamp"], headers["X-Delivery-Id"]
    if not re.fullmatch("[0-9]{10}", timestamp) or len(delivery_id) != 36:
        return False
    if abs(now - int(timestamp)) > 300:
        return False
    digest = hmac.new(secret.encode(), digestmod=hashlib.sha256)
    digest.update(timestamp.encode())
    digest.update(delivery_id.encode())
    digest.update(body)
    given = headers["X-Signature"].encode(errors="replace")
    return hmac.compare_digest(digest.hexdigest().encode(), given)
