"""One trace through all processes, exported to a collector: of a lookup, and of a change."""

import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from common.contracts.events import EventType
from register_samples.server import Registers
from tests.delivery.collector import Collector
from tests.delivery.receiver import receiving
from tests.delivery.waiting import eventually
from tests.e2e.client import client_with
from tests.e2e.conftest import COMPANIES, Running
from tests.e2e.feed import FOLLOWED, followed
from tests.e2e.register import an_entity

pytestmark = pytest.mark.e2e

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
LOOKUP = "/api?country=dk&vat=12345674"


async def test_a_lookup_is_one_trace_from_the_client_to_the_lookup_service(
    running: Running, collector: Collector
) -> None:
    async with aiohttp.ClientSession(running.system.base_url) as client:
        headers = {"traceparent": f"00-{TRACE}-{SPAN}-01", "X-Request-Id": "traced"}
        async with client.get(LOOKUP, headers=headers) as answer:
            assert answer.status == 200

    await until(lambda: any(span.name == "find companies" for span in collector.of(TRACE)))
    await until(lambda: any(span.name == "GET /api" for span in collector.of(TRACE)))
    [read] = [span for span in collector.of(TRACE) if span.name == "find companies"]
    assert collector.path_to(read.span_id) == [
        ("gateway", "GET /api"),
        ("gateway", "rpc.lookup.dk"),
        ("lookup", "rpc.lookup.dk"),
        ("lookup", "find companies"),
    ]
    [first] = [span for span in collector.of(TRACE) if span.name == "GET /api"]
    assert first.parent_id == SPAN
    assert first.attributes["http.response.status_code"] == 200
    for service, event in (("gateway", "request.done"), ("lookup", "lookup.done")):
        [line] = await logged(running, service, event, request_id="traced")
        assert line["trace_id"] == TRACE


async def test_an_unsampled_trace_is_carried_and_not_exported(
    running: Running, collector: Collector
) -> None:
    trace = "5" * 32
    async with aiohttp.ClientSession(running.system.base_url) as client:
        async with client.get(LOOKUP, headers={"traceparent": f"00-{trace}-{SPAN}-00"}) as answer:
            assert answer.status == 200
        async with client.get(LOOKUP, headers={"traceparent": f"00-{'6' * 32}-{SPAN}-01"}):
            pass

    await until(lambda: len(collector.of("6" * 32)) >= 3)
    assert await logged(running, "lookup", "lookup.done", trace_id=trace)
    assert collector.of(trace) == []


async def test_a_change_is_one_trace_from_the_register_to_the_receiver(
    running: Running, collector: Collector
) -> None:
    registers, number = Registers(companies=COMPANIES), "310987654"
    async with (
        receiving(running.certificates) as receiver,
        client_with(running.key, running.system.base_url) as owner,
        followed(running.system, registers, *FOLLOWED),
    ):
        await owner.subscribe(receiver, "/no", filter={"companies": [f"no:{number}"]})
        registers.no.entities.add(an_entity(number, "PRØVESTRØMMEN AS"))
        received = await receiver.next("/no")

    assert (received.genuine, received.event["type"]) == (True, EventType.COMPANY_CREATED)
    version, trace, posted, flags = received.headers["traceparent"].split("-")
    assert (version, int(flags, 16) & 1) == ("00", 1)
    assert "tracestate" not in received.headers

    def exported() -> bool:
        return {"ingest", "dispatcher"} <= {s.service for s in collector.of(trace)}

    await until(lambda: exported() and len(collector.path_to(posted)) == 4)
    assert collector.path_to(posted) == [
        ("ingest", "change"),
        ("ingest", "publish registry.events"),
        ("dispatcher", "process dispatcher.events"),
        ("dispatcher", "POST"),
    ]
    event_id = received.event["id"]
    for service, event in (("ingest", "event.published"), ("dispatcher", "delivery.attempted")):
        lines = await logged(running, service, event, event_id=event_id)
        assert {line["trace_id"] for line in lines} == {trace}


async def logged(running: Running, service: str, event: str, **fields: str) -> list[dict[str, Any]]:
    """The lines with these fields, once there is one."""

    async def lines() -> list[dict[str, Any]]:
        wanted = {"event": event, **fields}.items()
        log = running.system.log_of(service)
        every = (json.loads(line) for line in log[: log.rfind("\n") + 1].splitlines())
        return [line for line in every if wanted <= line.items()]

    return await eventually(lines, bool)


async def until(condition: Callable[[], bool]) -> None:
    async def look() -> bool:
        return condition()

    await eventually(look, bool)
