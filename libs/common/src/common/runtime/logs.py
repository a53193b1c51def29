"""Logs are JSON, one line per unit of work, on standard output."""

import asyncio
import atexit
import logging
import sys
from collections import deque
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, BinaryIO

import orjson
import structlog

from common.runtime import tracing

#: Loggers kept at WARNING; at INFO they would add lines to every unit of work, with its searches.
_QUIET = ("aiohttp", "aio_pika", "pymongo", "dicttoxml", "asyncio", "httpx", "httpcore")
#: One logs an error at each try to connect, which `common.messaging.connection` logs once, the
#: other a warning for each malformed `tracestate` that a client sends.
_SILENT = ("aiormq", "opentelemetry.trace.span")


def configure(level: str, *, service: str) -> Callable[[], None]:
    """Routes structlog and the standard library's loggers to JSON lines; call once, at start.

    Returns a function that flushes buffered lines, for a process that ends without Python's exit.
    """

    def stamp(
        _logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        # One processor instead of structlog's three, and two variables instead of one for each
        # field: every unit of work passes here.
        trace, request_id = tracing.CURRENT.get(), tracing.REQUEST_ID.get()
        if trace is not None:
            event.setdefault("trace_id", trace.trace_id)
        if request_id is not None:
            event.setdefault("request_id", request_id)
        event["level"] = method
        event["at"] = datetime.now(UTC)
        event["service"] = service
        return event

    def line(logger: object, method: str, event: MutableMapping[str, Any]) -> bytes:
        if "exc_info" in event:
            event = structlog.processors.format_exc_info(logger, method, event)
        return _dump(stamp(logger, method, event)) + b"\n"

    lines = _Lines(sys.stdout.buffer)
    numeric = logging.getLevelNamesMapping()[level]
    structlog.configure(
        processors=[line],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=lambda *_names: lines,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processor=structlog.processors.JSONRenderer(
                serializer=lambda *a, **k: _dump(*a, **k).decode()
            ),
            foreign_pre_chain=[
                structlog.stdlib.add_logger_name,
                stamp,
                structlog.processors.format_exc_info,
            ],
        )
    )
    logging.basicConfig(level=numeric, handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(numeric, logging.WARNING))
    for name in _SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return lines.write_out


def _dump(event: object, **_options: object) -> bytes:
    return orjson.dumps(event, default=str, option=orjson.OPT_UTC_Z)


class _Lines:
    """Standard output, written once per event-loop iteration: a write for each line is slow.

    Outside the loop, in a thread or a command, each line is written immediately.
    """

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._waiting: deque[bytes] = deque()
        atexit.register(self.write_out)

    def take(self, line: bytes) -> None:
        """Writes a line; structlog calls it by the name of the level."""
        self._waiting.append(line)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.write_out()
        else:
            if len(self._waiting) == 1:
                loop.call_soon(self.write_out)

    debug = info = warning = error = critical = take

    def write_out(self) -> None:
        # Taken one by one: other threads add and take lines meanwhile.
        lines = []
        with suppress(IndexError):
            while True:
                lines.append(self._waiting.popleft())
        self._output.write(b"".join(lines))
        self._output.flush()
