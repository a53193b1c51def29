"""The public port: how it stops, and what it makes of what is no HTTP."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from uuid import UUID

import aiohttp
import orjson
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from gateway.adapters.http.routes import Policy, Surroundings, application
from gateway.adapters.http.server import public_port
from gateway.adapters.http.xml_processes import XmlRenderer
from gateway.domain.rates import Rate
from tests.fakes.gateway import (
    FakeKeyStore,
    FakeLookups,
    FakeSuggestions,
    FakeWebhooks,
    ManualClock,
)

pytestmark = pytest.mark.integration

LOOKUP = "/api?country=dk&vat=12345674"
SOON = 10.0


def an_application(lookups: FakeLookups) -> web.Application:
    surroundings = Surroundings(
        lookups=lookups,
        suggestions=FakeSuggestions(),
        webhooks=FakeWebhooks(),
        keys=FakeKeyStore(),
        renderer=XmlRenderer(),
        clock=ManualClock(),
        new_id=lambda: "id",
        new_call_id=lambda: UUID(int=1),
        registry=CollectorRegistry(),
    )
    return application(surroundings, Policy(anonymous_rate=Rate(100, 60), key_rate=Rate(100, 60)))


async def test_a_request_under_way_is_answered_before_the_end() -> None:
    lookups = FakeLookups()
    lookups.gate.clear()
    async with aiohttp.ClientSession() as session:
        async with asyncio.TaskGroup() as group, serving(lookups) as port:
            request = group.create_task(fetch(session, port))
            await lookups.reached.wait()
            group.create_task(let_go(lookups))

        assert request.result() == 200


async def let_go(lookups: FakeLookups) -> None:
    lookups.gate.set()


async def fetch(session: aiohttp.ClientSession, port: int) -> int:
    async with session.get(f"http://127.0.0.1:{port}{LOOKUP}") as answer:
        await answer.read()
        return answer.status


def serving(lookups: FakeLookups, stop_limit: float = 5) -> AbstractAsyncContextManager[int]:
    return public_port(
        an_application(lookups),
        host="127.0.0.1",
        port=0,
        stop_limit=timedelta(seconds=stop_limit),
        new_id=lambda: "id",
    )


async def test_after_the_end_nobody_is_let_in() -> None:
    async with serving(FakeLookups()) as port:
        pass

    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_an_idle_connection_does_not_hold_up_the_end() -> None:
    async with (
        aiohttp.ClientSession() as session,
        asyncio.timeout(SOON),
        serving(FakeLookups(), stop_limit=10 * SOON) as port,
    ):
        assert await fetch(session, port) == 200


FLOOD = b"GET /api HTTP/1.1\r\nHost: x\r\nX-A: " + b"x" * 100_000 + b"\r\n\r\n"
NOT_ENCODED = "GET /api?country=dk&name=Prøve HTTP/1.1\r\nHost: x\r\n\r\n".encode()


@pytest.mark.parametrize(
    "sent, code",
    [
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", "invalid_body"),
        (FLOOD, "invalid_body"),
        (NOT_ENCODED, "invalid_parameter"),
    ],
)
async def test_what_cannot_be_read_is_a_problem_and_no_line_in_the_log(
    caplog: pytest.LogCaptureFixture, sent: bytes, code: str
) -> None:
    async with serving(FakeLookups()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    problem = orjson.loads(body)
    assert b" 400 " in head
    assert b"application/problem+json" in head
    assert b"X-Request-Id: id" in head
    assert b"aiohttp" not in head
    assert (problem["code"], problem["request_id"]) == (code, "id")
    assert caplog.records == []
