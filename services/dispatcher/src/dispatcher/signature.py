"""Signatures of deliveries: our own scheme and Standard Webhooks.

Our scheme concatenates timestamp, delivery id and body without separators, so the first two have
fixed widths: ten digits and 36 characters. Otherwise a signature would also match a message whose
field boundaries are shifted.
"""

import base64
import hmac
from collections.abc import Mapping
from datetime import datetime

from webhook_store.secrets import SigningSecrets

TIMESTAMP_WIDTH = 10
DELIVERY_ID_WIDTH = 36

_STANDARD_PREFIX = "whsec_"


def signature_headers(
    secrets: SigningSecrets, *, delivery_id: str, body: bytes, at: datetime
) -> Mapping[str, str]:
    """Returns the headers with which a receiver verifies a delivery's origin and time."""
    timestamp = _timestamp(at)
    if len(delivery_id) != DELIVERY_ID_WIDTH:
        raise ValueError(f"a delivery id has {DELIVERY_ID_WIDTH} characters")
    keys = [secrets.newest.get_secret_value()]
    headers = {
        "X-Timestamp": timestamp,
        "X-Delivery-Id": delivery_id,
        "X-Signature": sign(keys[0], timestamp=timestamp, delivery_id=delivery_id, body=body),
    }
    if secrets.previous is not None:
        keys.append(secrets.previous.get_secret_value())
        headers["X-Signature-Previous"] = sign(
            keys[1], timestamp=timestamp, delivery_id=delivery_id, body=body
        )
    return headers | {
        "webhook-id": delivery_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(
            sign_standard(key, timestamp=timestamp, delivery_id=delivery_id, body=body)
            for key in keys
        ),
    }


def sign(secret: str, *, timestamp: str, delivery_id: str, body: bytes) -> str:
    """Returns the hex HMAC-SHA256 of timestamp, id and body under the whole secret string."""
    message = timestamp.encode() + delivery_id.encode() + body
    return hmac.digest(secret.encode(), message, "sha256").hex()


def sign_standard(secret: str, *, timestamp: str, delivery_id: str, body: bytes) -> str:
    """Returns one entry of `webhook-signature`; the key is the base64-decoded secret."""
    key = base64.b64decode(secret.removeprefix(_STANDARD_PREFIX))
    message = f"{delivery_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, message, "sha256")).decode()


def _timestamp(at: datetime) -> str:
    timestamp = str(int(at.timestamp()))
    if len(timestamp) != TIMESTAMP_WIDTH or not timestamp.isdecimal():
        raise ValueError(f"a timestamp has {TIMESTAMP_WIDTH} digits")
    return timestamp
