"""A collector of spans: takes them over OTLP/HTTP, as OpenTelemetry's own does."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue


class Span(NamedTuple):
    service: str
    name: str
    trace_id: str
    span_id: str
    #: Empty for the first of a trace.
    parent_id: str
    attributes: dict[str, str | int]


@dataclass
class Collector:
    url: str
    spans: list[Span] = field(default_factory=list)

    def of(self, trace_id: str) -> list[Span]:
        return [span for span in self.spans if span.trace_id == trace_id]

    def path_to(self, span_id: str) -> list[tuple[str, str]]:
        """Service and name of each span from the first of its trace to this one."""
        by_id = {span.span_id: span for span in self.spans}
        found: list[tuple[str, str]] = []
        while span_id in by_id:
            span = by_id[span_id]
            found.insert(0, (span.service, span.name))
            span_id = span.parent_id
        return found

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for of_resource in request.resource_spans:
            service = str(_attributes(of_resource.resource.attributes)["service.name"])
            for of_scope in of_resource.scope_spans:
                self.spans += [
                    Span(
                        service,
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        _attributes(span.attributes),
                    )
                    for span in of_scope.spans
                ]


@contextmanager
def collecting() -> Iterator[Collector]:
    """Collects during the body, in a thread: blocking tests use it too."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found = self.path == "/v1/traces"
            if found:
                collector.take(body)
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Not logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield collector
        finally:
            server.shutdown()


def _attributes(pairs: Sequence[KeyValue]) -> dict[str, str | int]:
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in pairs}
