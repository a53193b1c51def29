"""Cursors of the lists of deliveries."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from datetime import UTC, datetime, timedelta

from webhook_registry.domain.refusals import invalid_parameter
from webhook_store.delivery_models import ListPosition

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_POSITION = re.compile(r"(?P<at>[0-9]{1,14}) (?P<id>[0-9a-f:-]{36,60})")


def write_cursor(position: ListPosition) -> str:
    milliseconds = (position.at - _EPOCH) // timedelta(milliseconds=1)
    return urlsafe_b64encode(f"{milliseconds} {position.id}".encode()).decode().rstrip("=")


def read_cursor(text: str) -> ListPosition:
    """The position that a cursor encodes; raises Rejected."""
    try:
        decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except (Error, ValueError):
        decoded = ""
    match = _POSITION.fullmatch(decoded)
    if match is None:
        raise invalid_parameter("after", "must be the cursor of an earlier answer")
    return ListPosition(_EPOCH + timedelta(milliseconds=int(match["at"])), match["id"])
