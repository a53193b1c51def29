"""Whatever the description of webhooks allows or forbids, it is answered as it says."""

import asyncio
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
import schemathesis
from schemathesis.checks import positive_data_acceptance

from gateway.adapters.http.openapi.document import openapi_document
from gateway.domain.rates import Rate
from tests.fakes.gateway import gateway as a_gateway
from tests.fakes.webhook_registry import World
from tests.fakes.webhooks import Registrar


@pytest.fixture(scope="module", name="base_url")
def _base_url() -> Iterator[tuple[str, dict[str, str]]]:
    """A gateway in a thread of its own, and a key: schemathesis waits for its answers."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    found: list[tuple[str, dict[str, str]]] = []
    started = asyncio.Event()

    async def serve() -> None:
        registrar = Registrar(World(limit=1_000_000))
        async with a_gateway(registrar=registrar, key_rate=Rate(10**6, 60)) as gateway:
            found.append((str(gateway.client.make_url("/")), gateway.issue()))
            started.set()
            await stop.wait()

    thread = Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    asyncio.run_coroutine_threadsafe(started.wait(), loop).result(timeout=10)
    yield found[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


schema = schemathesis.openapi.from_dict(openapi_document()).include(tag="Webhooks")


@schema.parametrize()
def test_schemathesis_finds_no_difference(case: Any, base_url: tuple[str, dict[str, str]]) -> None:
    url, key = base_url
    # Which hosts are public and which times are past, no OpenAPI document can say: what fits the
    # schemas may rightly be refused.
    case.call_and_validate(base_url=url, headers=key, excluded_checks=[positive_data_acceptance])
