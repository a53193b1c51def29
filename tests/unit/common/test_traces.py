"""W3C Trace Context: headers that continue a trace. Spans, which need an endpoint: their export."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from common.contracts.contract import TraceContext, parse, read
from common.runtime import otlp, tracing
from common.runtime.service import exporting_spans
from common.runtime.settings import ProcessSettings
from common.runtime.tracing import CURRENT, Kind, span

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_traceparent_has_a_trace_a_span_and_flags() -> None:
    context = parse(PARENT)

    assert context is not None
    assert (context.trace_id, context.span_id, context.flags) == (TRACE, SPAN, 1)


@pytest.mark.parametrize(
    "given, kept",
    [
        (f" {PARENT} ", PARENT),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-adds", PARENT),
        (f"00-{TRACE}-{SPAN}-ff", f"00-{TRACE}-{SPAN}-03"),
    ],
)
def test_a_traceparent_is_passed_on_in_version_00(given: str, kept: str) -> None:
    assert parse(given) == TraceContext(kept)


@pytest.mark.parametrize(
    "given",
    [
        *(None, 7, b"00", "", "00", PARENT.upper(), f"{PARENT}-more"),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0g",
        f"{PARENT}\n{PARENT}",
        "٠٠-" + PARENT[3:],
    ],
)
def test_a_malformed_traceparent_is_none(given: object) -> None:
    assert parse(given, "vendor=1") is None


@pytest.mark.parametrize("state", [None, 7, "", "a=\n", "a=é", "a" * 513])
def test_a_malformed_tracestate_is_dropped(state: object) -> None:
    assert parse(PARENT, state) == TraceContext(PARENT)


@pytest.mark.parametrize("context", [TraceContext(PARENT), TraceContext(PARENT, "a=1,b=2")])
def test_a_context_is_read_from_its_fields(context: TraceContext) -> None:
    assert read(context.fields()) == context


#: Imports the code of a service without the export of spans.
WITHOUT = """
import sys
import gateway.app, lookup.app, ingest.commands, dispatcher.app, webhook_registry.app
import common.runtime.service
sys.exit(any(name.startswith("opentelemetry") for name in sys.modules))
"""

#: Ends with a span that no collector accepts.
UNAVAILABLE = """
import asyncio
from common.runtime import tracing
from common.runtime.service import exporting_spans
from common.runtime.settings import ProcessSettings

async def work() -> None:
    settings = ProcessSettings(admin_port=0, otel_exporter_otlp_endpoint="http://127.0.0.1:9")
    async with exporting_spans(settings, "tests"):
        with tracing.span("work", tracing.Kind.SERVER, None, {}):
            pass

asyncio.run(work())
"""


CALLER = TraceContext(PARENT, "vendor=1")


class Spans:
    """The spans of a process with an endpoint."""

    def __init__(self, share: float) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = otlp.provider_of("tests", self._exporter, share=share)
        self.tracer = otlp.OtlpTracer(self._provider)

    def ended(self) -> tuple[ReadableSpan, ...]:
        self._provider.force_flush()
        return self._exporter.get_finished_spans()

    def close(self) -> None:
        self._provider.shutdown()


@pytest.fixture
def spans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    found = Spans(share=getattr(request, "param", 1.0))
    monkeypatch.setattr(tracing, "tracer", found.tracer)
    yield found
    found.close()


def test_a_span_continues_its_parent(spans: Spans) -> None:
    with span("work", Kind.CONSUMER, CALLER, {"queue": "q"}) as recorded:
        recorded["count"] = 3

    [done] = spans.ended()
    assert done.parent is not None
    assert f"{done.context.trace_id:032x}" == CALLER.trace_id
    assert f"{done.parent.span_id:016x}" == CALLER.span_id
    assert (done.name, done.kind.name, done.status.is_ok) == ("work", "CONSUMER", True)
    assert dict(done.attributes or {}) == {"queue": "q", "count": 3}
    assert done.resource.attributes["service.name"] == "tests"


@pytest.mark.usefixtures("spans")
def test_what_follows_is_the_spans_child_with_the_callers_state() -> None:
    with span("work", Kind.SERVER, CALLER, {}):
        current = CURRENT.get()

    assert current is not None
    assert current == CURRENT.get()
    assert (current.trace_id, current.state) == (CALLER.trace_id, "vendor=1")
    assert current.span_id != CALLER.span_id


def test_an_exception_is_the_cause_of_a_failed_span(spans: Spans) -> None:
    with pytest.raises(KeyError), span("work", Kind.INTERNAL, None, {}):
        raise KeyError("secret")

    [done] = spans.ended()
    assert not done.status.is_ok
    assert dict(done.attributes or {}) == {"error.type": "KeyError"}
    assert "secret" not in done.to_json()


@pytest.mark.parametrize("status, is_ok", [(200, True), (404, True), (503, False)])
def test_a_request_failed_if_the_server_did(spans: Spans, status: int, *, is_ok: bool) -> None:
    with span("GET /api", Kind.SERVER, None, {}) as recorded:
        recorded[tracing.STATUS] = status

    [done] = spans.ended()
    assert done.status.is_ok is is_ok


@pytest.mark.parametrize("spans", [0.0], indirect=True)
def test_a_share_of_new_traces_is_exported_and_all_that_a_caller_samples(spans: Spans) -> None:
    unsampled = TraceContext(f"{PARENT[:-2]}00")
    for parent, flag in ((None, 0), (CALLER, 1), (unsampled, 0)):
        with span("work", Kind.INTERNAL, parent, {}):
            current = CURRENT.get()
        assert current is not None
        assert current.flags & 1 == flag

    assert len(spans.ended()) == 1


async def test_without_a_collector_the_context_is_carried_alone() -> None:
    async with exporting_spans(ProcessSettings(admin_port=0), "tests"):
        with span("work", Kind.SERVER, CALLER, {}):
            assert CURRENT.get() == CALLER


def test_an_unavailable_collector_does_not_delay_shutdown() -> None:
    # In a process of its own: OpenTelemetry's thread goes on after the body. Shutting OpenTelemetry
    # down waits 30 s for a collector for which the exporter has more time than that.
    patient = os.environ | {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "600"}

    ended = subprocess.run(
        [sys.executable, "-c", UNAVAILABLE], env=patient, timeout=25, check=False
    )

    assert ended.returncode == 0


def test_nothing_of_opentelemetry_is_imported_where_no_span_is_exported() -> None:
    assert subprocess.run([sys.executable, "-c", WITHOUT], check=False).returncode == 0


@pytest.mark.parametrize(
    "given", ["collector:4318", "ftp://host", "http://user:word@host", "http://"]
)
def test_an_endpoint_is_a_url_without_a_password(given: str) -> None:
    with pytest.raises(ValueError, match="otel_exporter_otlp_endpoint"):
        ProcessSettings(admin_port=0, otel_exporter_otlp_endpoint=given)
