"""Base class of every message between processes."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer


def rfc3339_milliseconds(moment: datetime) -> str:
    """Returns a UTC time as text, truncated to the database's precision of milliseconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


#: A time in UTC; RFC 3339 with milliseconds and `Z` in JSON.
Timestamp = Annotated[
    datetime, PlainSerializer(rfc3339_milliseconds, return_type=str, when_used="json")
]


class Contract(BaseModel):
    """A frozen message; readers ignore unknown fields, so that writers may add some."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_bytes="utf8")
