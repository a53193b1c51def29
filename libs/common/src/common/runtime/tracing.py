"""The trace of the work in hand, and spans where they are exported (ADR 0038).

A context is carried whether or not spans are exported. This module imports nothing of
OpenTelemetry: without an exporter `tracer` is None, and a span costs one comparison.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from enum import Enum, auto
from random import Random
from types import TracebackType
from typing import Protocol

from aiohttp import hdrs
from aiohttp.web import BaseRequest
from multidict import MultiMapping

from common.contracts.contract import TRACEPARENT, TRACESTATE, TraceContext, parse

Attributes = Mapping[str, str | int]

#: The context of the work in this task, for its log lines, its messages and its spans.
CURRENT: ContextVar[TraceContext | None] = ContextVar("trace", default=None)
#: The id of the client's request that this task works on, for its log lines.
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)


def request_ids(random: Random) -> Callable[[], str]:
    """Returns a function that gives each request an id.

    Not from the system's random numbers: that costs a system call for each id.
    """

    def new_id() -> str:
        return random.randbytes(16).hex()

    return new_id


class Kind(Enum):
    """The kinds of spans, as OpenTelemetry names them."""

    INTERNAL = auto()
    SERVER = auto()
    CLIENT = auto()
    PRODUCER = auto()
    CONSUMER = auto()


#: The attribute of a failed span: its cause in one word.
ERROR = "error.type"
#: The attribute of HTTP's status, with 5xx an error of the server.
STATUS = "http.response.status_code"
_SERVER_ERROR = 500


class Span(Protocol):
    """A span that has begun."""

    @property
    def context(self) -> TraceContext:
        """The context for what follows from the span."""

    def end(self, attributes: Attributes | None = None, *, error: str | None = None) -> None:
        """Exports the span with further attributes; `error` is that of `ERROR`."""


class Tracer(Protocol):
    """A source of spans."""

    def begin(
        self, name: str, kind: Kind, parent: TraceContext | None, attributes: Attributes
    ) -> Span:
        """Begins a span, of a new trace without a parent."""


def of_queue(name: str) -> dict[str, str | int]:
    """Returns the attributes of a span that sends to, or receives from, a queue or an exchange."""
    return {"messaging.system": "rabbitmq", "messaging.destination.name": name}


#: Set at the start of a process that exports spans. Read as `tracing.tracer`.
tracer: Tracer | None = None


def continued(
    name: str, kind: Kind, queue: str, trace: TraceContext | None, *, request_id: str | None = None
) -> Span | None:
    """Returns the span of a queue's message; None without a trace, or if none is exported."""
    if tracer is None or trace is None:
        return None
    request = {} if request_id is None else {"request.id": request_id}
    return tracer.begin(name, kind, trace, {**of_queue(queue), **request})


def trace_of(headers: MultiMapping[str]) -> TraceContext | None:
    """Returns the trace of an HTTP request; None without one `traceparent` that is well-formed."""
    if TRACEPARENT not in headers:
        return None
    parents = headers.getall(TRACEPARENT)
    states = ",".join(headers.getall(TRACESTATE, ()))
    return parse(parents[0], states) if len(parents) == 1 else None


def serving(request: BaseRequest, route: str, request_id: str) -> "span":
    """Returns the span of an HTTP request; its body records `STATUS`."""
    method = request.method if request.method in hdrs.METH_ALL else "_OTHER"
    attributes = {"http.request.method": method, "http.route": route, "request.id": request_id}
    return span(f"{method} {route}", Kind.SERVER, trace_of(request.headers), attributes)


class span:  # noqa: N801 (a context manager, used like a function)
    """Runs the body in a span and its context; without a tracer, in the parent's context.

    The context stays the task's afterwards: its further work belongs to the same trace.
    """

    __slots__ = ("_added", "_attributes", "_kind", "_name", "_parent", "_span")

    def __init__(
        self, name: str, kind: Kind, parent: TraceContext | None, attributes: Attributes
    ) -> None:
        self._name = name
        self._kind = kind
        self._parent = parent
        self._attributes = attributes
        self._added: dict[str, str | int] = {}
        self._span: Span | None = None

    def __enter__(self) -> dict[str, str | int]:
        """Attributes that the body adds are recorded at the end of the span."""
        if tracer is None:
            CURRENT.set(self._parent)
        else:
            self._span = tracer.begin(self._name, self._kind, self._parent, self._attributes)
            CURRENT.set(self._span.context)
        return self._added

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if self._span is None:
            return
        error = None if kind is None else kind.__name__
        status = self._added.get(STATUS)
        if self._kind is Kind.SERVER and isinstance(status, int) and status >= _SERVER_ERROR:
            error = str(status)
        self._span.end(self._added, error=error)
