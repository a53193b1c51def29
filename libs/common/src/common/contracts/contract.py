"""Base class of every message between processes."""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A frozen message; readers ignore fields they do not know, so that writers may add some."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_bytes="utf8")
