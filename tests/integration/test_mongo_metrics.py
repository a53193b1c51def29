"""Metrics and spans of a client's pool and commands."""

import uuid
from collections.abc import AsyncIterator

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY
from pymongo.errors import OperationFailure

from common.contracts.contract import TraceContext
from common.mongo import Client, connected
from common.runtime import otlp, tracing

pytestmark = pytest.mark.integration

NAME = f"measured-{uuid.uuid4().hex}"


def value(metric: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(metric, {"client": NAME, **labels}) or 0.0


def commands(command: str, outcome: str) -> float:
    metric = "mongodb_command_duration_seconds_count"
    return value(metric, command=command, outcome=outcome)


@pytest.fixture
async def client(mongo_url: str) -> AsyncIterator[Client]:
    async with connected(mongo_url, name=NAME) as client:
        yield client


async def test_commands_are_counted_by_their_outcome(client: Client) -> None:
    pings, failures = commands("ping", "succeeded"), commands("nothing", "failed")

    await client.admin.command("ping")
    with pytest.raises(OperationFailure):
        await client.admin.command("nothing")

    assert commands("ping", "succeeded") == pings + 1
    assert commands("nothing", "failed") == failures + 1


async def test_connections_are_counted_while_they_are_open_and_in_use(mongo_url: str) -> None:
    async with connected(mongo_url, name=NAME) as client:
        waits = value("mongodb_pool_wait_seconds_count")
        await client.admin.command("ping")

        assert value("mongodb_pool_wait_seconds_count") == waits + 1
        assert value("mongodb_pool_connections") == 1
        assert value("mongodb_pool_connections_in_use") == 0

    assert value("mongodb_pool_connections") == 0


async def test_an_operation_that_gets_no_connection_is_counted(client: Client) -> None:
    reasons = ("timeout", "connection_error", "pool_closed")

    found = {r: value("mongodb_pool_wait_failures_total", reason=r) for r in reasons}

    assert found == dict.fromkeys(reasons, 0.0)


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PERSON = "Anna Testesen"


async def test_commands_of_a_trace_have_spans_without_what_they_ask_for(
    mongo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = InMemorySpanExporter()
    provider = otlp.provider_of("measured", exporter, share=1.0)
    monkeypatch.setattr(tracing, "tracer", otlp.OtlpTracer(provider))
    async with connected(mongo_url, name=NAME) as client:
        people = client[NAME]["people"]

        await people.find_one({"name": PERSON})
        parent = TraceContext(f"00-{TRACE}-00f067aa0ba902b7-01")
        with tracing.span("work", tracing.Kind.INTERNAL, parent, {}):
            await people.insert_many([{"_id": number, "name": PERSON} for number in range(4)])
            await people.find({"name": PERSON}, batch_size=3).to_list(None)
            with pytest.raises(OperationFailure):
                await people.update_one({"name": PERSON}, {"$nothing": PERSON})
            with pytest.raises(OperationFailure):
                await client.admin.command("nothing")
        provider.force_flush()
        *spans, work = exporter.get_finished_spans()
        await client.drop_database(NAME)

    assert [span.name for span in spans] == [
        "insert people",
        "find people",
        "getMore people",
        "update people",
        "nothing",
    ]
    assert work.context is not None
    for span in spans:
        assert span.parent is not None
        assert (span.parent.span_id, span.context.trace_id) == (
            work.context.span_id,
            int(TRACE, 16),
        )
        assert PERSON not in span.to_json()
    assert dict(spans[2].attributes or {}) == {
        "db.system.name": "mongodb",
        "db.namespace": NAME,
        "db.operation.name": "getMore",
        "db.collection.name": "people",
    }
    assert (spans[4].attributes or {})[tracing.ERROR] == "CommandNotFound"
