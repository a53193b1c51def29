"""Spans exported over OTLP/HTTP: the only module that imports OpenTelemetry."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from threading import Thread

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from common.contracts.contract import TraceContext
from common.runtime.tracing import ERROR, Attributes, Kind

#: Seconds for the last spans of a process that ends. An unavailable collector must not delay it.
FLUSH_TIMEOUT = 2.0

_W3C = TraceContextTextMapPropagator()


class OtlpSpan:
    """`Span`."""

    def __init__(self, span: Span) -> None:
        self._span = span
        context = span.get_span_context()
        parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
        self.context = TraceContext(parent, context.trace_state.to_header())

    def end(self, attributes: Attributes | None = None, *, error: str | None = None) -> None:
        """Ends the span with further attributes; one with an error gets the status ERROR."""
        found = dict(attributes or {})
        if error is not None:
            found[ERROR] = error
        self._span.set_attributes(found)
        if ERROR in found:
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


class OtlpTracer:
    """`Tracer`. A trace follows its caller's decision to sample; of new ones a share is sampled."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("company-registry", version("common"))

    def begin(
        self, name: str, kind: Kind, parent: TraceContext | None, attributes: Attributes
    ) -> OtlpSpan:
        """Begins a span under `parent`, or of a new trace."""
        context = _W3C.extract({} if parent is None else parent.fields(), Context())
        return OtlpSpan(
            self._tracer.start_span(name, context, SpanKind[kind.name], dict(attributes))
        )


def provider_of(service: str, exporter: SpanExporter, *, share: float) -> TracerProvider:
    """Returns a provider that exports in batches, from a separate thread."""
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(share)),
        resource=Resource.create({"service.name": service, "service.version": version("common")}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


@asynccontextmanager
async def exporting(endpoint: str, service: str, *, share: float) -> AsyncIterator[OtlpTracer]:
    """Exports to a collector during the body; the remaining spans briefly afterwards."""
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider = provider_of(service, exporter, share=share)
    try:
        yield OtlpTracer(provider)
    finally:
        await _shut_down(provider)


async def _shut_down(provider: TracerProvider) -> None:
    loop, flushed = asyncio.get_running_loop(), asyncio.Event()

    def flush() -> None:
        provider.shutdown()
        with suppress(RuntimeError):  # the loop did not wait
            loop.call_soon_threadsafe(flushed.set)

    # Not in the loop's executor, which would wait for an unavailable collector.
    Thread(target=flush, daemon=True).start()
    with suppress(TimeoutError):
        async with asyncio.timeout(FLUSH_TIMEOUT):
            await flushed.wait()
