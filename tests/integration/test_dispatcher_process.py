"""The dispatcher as a process: input, output and shutdown."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from common.contracts.events import encode_event
from local_stack.system import Service
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import SOON, eventually

pytestmark = pytest.mark.integration

METRICS = {
    "webhook_attempts_total",
    "webhook_attempt_duration_seconds",
    "webhook_delivery_latency_seconds",
    "webhooks_disabled_total",
    "webhook_deliveries_cancelled_total",
    "webhook_deliveries_deferred_total",
    "webhook_retry_publish_failures_total",
    "webhook_claims_lost_total",
    "webhook_attempts_crashed_total",
    "webhook_deliveries_waiting",
    "webhooks_throttled",
    "webhook_deliveries_overdue_total",
    "webhook_dead_letters",
}


async def metrics_of(service: Service) -> str:
    async with aiohttp.ClientSession() as session:
        answer = await session.get(f"{service.admin_url}/metrics")
        return await answer.text()


async def stop(service: Service) -> int | None:
    await asyncio.to_thread(service.process.stop)
    return service.process.exit_status


def lines_of(pipe: Pipeline, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in pipe.system.log_of("dispatcher").splitlines()]
    return [line for line in lines if line["event"] == event]


async def test_an_event_from_before_the_start_is_delivered_logged_without_secrets_and_measured(
    pipe: Pipeline,
) -> None:
    webhook = await pipe.webhook("/hook-with-a-token-in-it")
    await pipe.webhook("/units", events=("production_unit.*",))
    event = an_event()
    await pipe.publish(event)

    service = await pipe.dispatcher()

    received = await pipe.receiver.next("/hook-with-a-token-in-it")
    await pipe.until_row(event, webhook, state="succeeded")
    [line] = await eventually(lambda: asyncio.to_thread(lines_of, pipe, "delivery.attempted"), bool)
    text = await eventually(
        lambda: metrics_of(service),
        lambda text: "webhook_delivery_latency_seconds_count 1.0" in text,
    )
    assert received.genuine
    assert received.body == encode_event(event)
    assert received.headers["Content-Type"] == "application/json"
    assert pipe.receiver.at("/units") == []
    assert line["event_id"] == event.id
    assert (line["attempt"], line["status"], line["error"]) == (1, 204, None)
    log = pipe.system.log_of("dispatcher")
    for secret in ("token", "whsec_", encode_event(event).decode()):
        assert secret not in log
    described = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert described >= METRICS
    assert 'webhook_attempts_total{cause="none",outcome="succeeded"} 1.0' in text


async def test_webhooks_are_indexed_first_and_a_shutdown_waits_for_a_post_and_records_it(
    pipe: Pipeline,
) -> None:
    webhook = await pipe.webhook("/slow")
    gate = asyncio.Event()

    async def slowly(_received: Received) -> int:
        await gate.wait()
        return 200

    pipe.receiver.answer("/slow", slowly)
    service = await pipe.dispatcher()
    indexed = await asyncio.to_thread(lines_of, pipe, "webhooks.indexed")
    event = an_event()
    await pipe.publish(event)
    await pipe.receiver.next("/slow")

    service.process.terminate()
    await eventually(
        lambda: asyncio.to_thread(lines_of, pipe, "service.stopping"), bool, seconds=SOON
    )
    gate.set()

    assert [line["webhooks"] for line in indexed] == [1], "before it consumes events"
    assert await stop(service) == 0
    assert (await pipe.row(event, webhook))["state"] == "succeeded"
    assert len(pipe.receiver.received) == 1
