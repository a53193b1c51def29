"""Spans of MongoDB's commands in the trace of the work in hand (ADR 0038)."""

from collections.abc import Mapping
from typing import Any, Final

from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from common.runtime import tracing

#: Commands that do not name their collection in the member that is named after them.
_ELSEWHERE: Final = {"getMore": "collection"}
_UNKNOWN: Final = "_OTHER"


class CommandSpans(CommandListener):
    """One span for each command that is sent for a trace.

    Their attributes are names alone: no filter and no document, which have personal data. Work that
    is of no trace, such as a change stream or a batch of requests, has none either.
    """

    def __init__(self, tracer: tracing.Tracer) -> None:
        self._tracer = tracer
        #: By the driver's id of the command, until its end.
        self._begun: dict[int, tracing.Span] = {}

    def started(self, event: CommandStartedEvent) -> None:
        """Begins the span of a command."""
        trace = tracing.CURRENT.get()
        if trace is None:
            return
        command, collection = event.command_name, _collection(event)
        attributes = {
            "db.system.name": "mongodb",
            "db.namespace": event.database_name,
            "db.operation.name": command,
        }
        if collection is not None:
            attributes["db.collection.name"] = collection
        name = command if collection is None else f"{command} {collection}"
        self._begun[event.request_id] = self._tracer.begin(
            name, tracing.Kind.CLIENT, trace, attributes
        )

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Ends the span."""
        span = self._begun.pop(event.request_id, None)
        if span is not None:
            span.end()

    def failed(self, event: CommandFailedEvent) -> None:
        """Ends the span with the name of the error; its message may quote a document."""
        span = self._begun.pop(event.request_id, None)
        if span is not None:
            failure: Mapping[str, Any] = event.failure
            span.end(error=str(failure.get("codeName") or failure.get("errtype") or _UNKNOWN))


def _collection(event: CommandStartedEvent) -> str | None:
    name = event.command.get(_ELSEWHERE.get(event.command_name, event.command_name))
    return name if isinstance(name, str) else None
