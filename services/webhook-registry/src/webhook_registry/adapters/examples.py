"""Invented events, one of each type, for tests that owners request."""

from collections.abc import Mapping
from importlib.resources import files

import orjson

from common.contracts.events import EventType, RegistryEvent


def example_events() -> Mapping[EventType, RegistryEvent]:
    """Reads the examples."""
    folder = files("webhook_registry") / "examples"
    documents = {
        kind: orjson.loads((folder / f"{kind.value}.json").read_bytes()) for kind in EventType
    }
    return {
        # Without data, `data` is an empty object.
        kind: RegistryEvent.model_validate({**document, "data": document["data"] or None})
        for kind, document in documents.items()
    }
