"""Base class of every message between processes, and the trace that it continues."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple

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


TRACEPARENT, TRACESTATE = "traceparent", "tracestate"

#: Version, trace, parent and flags. Later versions may add fields; ff is none.
_PARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?"
)
_STATE = re.compile(r"[ -~]{1,512}")


class TraceContext(NamedTuple):
    """A position in a trace; the next spans are its children."""

    #: The header of version 00.
    parent: str
    #: `tracestate`, empty without one.
    state: str = ""

    @property
    def trace_id(self) -> str:
        """The id of the trace: 32 hexadecimal digits."""
        return self.parent[3:35]

    @property
    def span_id(self) -> str:
        """The id of the parent span: 16 hexadecimal digits."""
        return self.parent[36:52]

    @property
    def flags(self) -> int:
        """The trace flags; bit 0 is set if the trace is sampled."""
        return int(self.parent[53:], 16)

    def fields(self) -> dict[str, str]:
        """Returns headers of a message or fields of a document, for `read`."""
        if not self.state:
            return {TRACEPARENT: self.parent}
        return {TRACEPARENT: self.parent, TRACESTATE: self.state}


def parse(parent: object, state: object = None) -> TraceContext | None:
    """Returns the context of two headers; None for a `traceparent` that is absent or malformed.

    A malformed `tracestate` is dropped.
    """
    found = _PARENT.fullmatch(parent.strip()) if isinstance(parent, str) else None
    if found is None:
        return None
    version, trace, span, flags, rest = found.groups()
    if version == "00" and rest is not None:
        return None
    kept = state if isinstance(state, str) and _STATE.fullmatch(state) else ""
    known = int(flags, 16) & 3  # sampled, and whether the id is random
    return TraceContext(f"00-{trace}-{span}-{known:02x}", kept)


def read(fields: Mapping[str, Any]) -> TraceContext | None:
    """Returns the context that `TraceContext.fields` was stored as."""
    return parse(fields.get(TRACEPARENT), fields.get(TRACESTATE))
