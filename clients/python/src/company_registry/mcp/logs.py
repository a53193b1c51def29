"""Logs of a server over HTTP: JSON, one line each, on standard output, as those of the services."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

#: Letters of a traceback, whose end says what happened.
_MAX_TRACE: Final = 4_000
#: Letters of another text, which may be of a request.
_MAX_TEXT: Final = 500

log: Final = logging.getLogger("company_registry.mcp")


class _Line(logging.Formatter):
    """Formats a record with the fields that it was given."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {"event": record.getMessage()[:_MAX_TEXT]}
        fields |= getattr(record, "fields", {})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)[-_MAX_TRACE:]
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields |= {
            "logger": record.name,
            "level": record.levelname.lower(),
            "at": at.replace("+00:00", "Z"),
            "service": "mcp",
        }
        return json.dumps(fields, default=str)


def configure() -> None:
    """Routes all loggers to lines; to be called before the SDK adds a handler of its own."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Line())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    log.setLevel(logging.INFO)


def info(event: str, **fields: Any) -> None:
    """Writes a line of what was done."""
    log.info(event, extra={"fields": fields})
