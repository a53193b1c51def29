"""Spans: their export, and that nothing of it is imported without an endpoint."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from common.contracts.traces import TraceContext
from common.runtime import otlp, tracing
from common.runtime.service import exporting_spans
from common.runtime.settings import ProcessSettings
from common.runtime.tracing import CURRENT, Kind, span

PARENT = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1")

#: Imports the code of a service without the export of spans.
WITHOUT = """
import sys
import gateway.app, lookup.app, lookup.sync_commands, dispatcher.app, webhook_registry.app
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


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter, request: pytest.FixtureRequest) -> TracerProvider:
    return otlp.provider_of("tests", exporter, share=getattr(request, "param", 1.0))


@pytest.fixture
def _traced(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tracing, "tracer", otlp.OtlpTracer(provider))
    yield
    provider.shutdown()


@pytest.mark.usefixtures("_traced")
class TestSpans:
    def test_a_span_continues_its_parent(
        self, provider: TracerProvider, exporter: InMemorySpanExporter
    ) -> None:
        with span("work", Kind.CONSUMER, PARENT, {"queue": "q"}) as recorded:
            recorded["count"] = 3
        provider.force_flush()

        [done] = exporter.get_finished_spans()
        assert done.parent is not None
        assert f"{done.context.trace_id:032x}" == PARENT.trace_id
        assert f"{done.parent.span_id:016x}" == PARENT.span_id
        assert (done.name, done.kind.name) == ("work", "CONSUMER")
        assert dict(done.attributes or {}) == {"queue": "q", "count": 3}
        assert done.status.is_ok
        assert done.resource.attributes["service.name"] == "tests"

    def test_what_follows_is_the_spans_child_with_the_callers_state(self) -> None:
        with span("work", Kind.SERVER, PARENT, {}):
            current = CURRENT.get()

        assert current is not None
        assert current == CURRENT.get()
        assert (current.trace_id, current.state) == (PARENT.trace_id, "vendor=1")
        assert current.span_id != PARENT.span_id

    def test_an_exception_is_the_cause_of_a_failed_span(
        self, provider: TracerProvider, exporter: InMemorySpanExporter
    ) -> None:
        with pytest.raises(KeyError), span("work", Kind.INTERNAL, None, {}):
            raise KeyError("secret")
        provider.force_flush()

        [done] = exporter.get_finished_spans()
        assert (done.status.is_ok, dict(done.attributes or {})) == (
            False,
            {"error.type": "KeyError"},
        )
        assert "secret" not in done.to_json()

    @pytest.mark.parametrize("status, failed", [(200, False), (404, False), (503, True)])
    def test_a_request_failed_if_the_server_did(
        self,
        provider: TracerProvider,
        exporter: InMemorySpanExporter,
        status: int,
        *,
        failed: bool,
    ) -> None:
        with span("GET /api", Kind.SERVER, None, {}) as recorded:
            recorded[tracing.STATUS] = status
        provider.force_flush()

        [done] = exporter.get_finished_spans()
        assert done.status.is_ok is not failed

    @pytest.mark.parametrize("provider", [0.0], indirect=True)
    def test_a_share_of_new_traces_is_exported_and_all_that_a_caller_samples(
        self, provider: TracerProvider, exporter: InMemorySpanExporter
    ) -> None:
        unsampled = TraceContext(f"{PARENT.parent[:-2]}00")
        for parent, flag in ((None, 0), (PARENT, 1), (unsampled, 0)):
            with span("work", Kind.INTERNAL, parent, {}):
                current = CURRENT.get()
            assert current is not None
            assert current.flags & 1 == flag
        provider.force_flush()

        assert len(exporter.get_finished_spans()) == 1


async def test_without_a_collector_the_context_is_carried_alone() -> None:
    async with exporting_spans(ProcessSettings(admin_port=0), "tests"):
        with span("work", Kind.SERVER, PARENT, {}):
            assert CURRENT.get() == PARENT


def test_a_collector_that_is_away_delays_no_end() -> None:
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
