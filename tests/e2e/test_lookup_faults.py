"""Responses to clients while parts of the system are unavailable, and recovery afterwards."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from local_stack.rabbitmq import RabbitMQ
from local_stack.replica_set import ReplicaSet
from local_stack.servers import BrokerAddress
from local_stack.system import System
from tests.conftest import DatabaseNames, OwnServers, ensure_running
from tests.delivery import waiting
from tests.e2e.conftest import Running, a_vhost, running_system, settings

#: The first test starts servers and a whole system, which takes minutes on a busy machine.
pytestmark = [pytest.mark.e2e, pytest.mark.chaos, pytest.mark.timeout(600)]

#: Seconds in which a client has its answer, and in which the system is well again (issue 2).
ANSWERED, RECOVERED = 2.0, 10.0
#: Additional time on a busy machine. A client that waits for a dependency to return takes longer.
GRACE = 20.0

QUERY = {"country": "dk", "vat": "12345674"}
#: The kind of file that the company is in.
QUERY_KIND = "dk-virksomhed"


@pytest.fixture(scope="module")
def _running(
    own_servers: OwnServers,
    sample_registers: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """The services that answer lookups, on servers that these tests stop and start."""
    broker, replica_set = own_servers.broker, own_servers.replica_set
    assert broker is not None
    assert replica_set is not None
    for server in (broker, replica_set):
        ensure_running(server)
    names = DatabaseNames(*(f"{name}-{uuid.uuid4().hex}" for name in ("register", "hooks", "keys")))
    folder = tmp_path_factory.mktemp("faults")
    with a_vhost(address := BrokerAddress(broker.amqp_url, broker.management_url)) as vhost:
        url = address.vhost_url(vhost)
        system = System(folder, url, replica_set.url, settings(names))
        registers = {QUERY_KIND: sample_registers[QUERY_KIND]}
        with running_system(system, names, registers, ("lookup", "gateway")) as running:
            yield running


async def status_of(client: aiohttp.ClientSession, **query: str) -> tuple[int, str | None]:
    """The answer's status and problem code; it has to come in time."""
    started = time.monotonic()
    async with client.get("/api", params=query or QUERY) as answer:
        body = await answer.json()
    assert time.monotonic() - started < ANSWERED + GRACE
    return answer.status, body.get("code")


async def eventually(
    expected: tuple[int, str | None], ask: Callable[[], Awaitable[tuple[int, str | None]]]
) -> None:
    """Asks until the answer is the expected one."""
    await waiting.eventually(ask, lambda seen: seen == expected, seconds=RECOVERED + GRACE)


@pytest.mark.parametrize("server, fault", [("broker", "kill"), ("database", "stop")])
async def test_without_a_server_clients_get_a_problem_in_time_and_answers_when_it_is_back(
    client: aiohttp.ClientSession,
    stoppable_broker: RabbitMQ,
    stoppable_mongo: ReplicaSet,
    server: str,
    fault: str,
) -> None:
    lost = stoppable_broker if server == "broker" else stoppable_mongo
    before = await status_of(client)
    try:
        await asyncio.to_thread(getattr(lost, fault))
        away = [await status_of(client) for _ in range(2)]
    finally:
        await asyncio.to_thread(ensure_running, lost)

    await eventually((200, None), partial(status_of, client))
    assert before == (200, None)
    # A database that hangs is waited for, as one of its members may answer.
    given = (504, "lookup_timeout") if server == "database" else (503, "service_unavailable")
    assert set(away) <= {given, (503, "service_unavailable")}


async def test_without_a_lookup_process_the_answer_is_503_at_once(
    client: aiohttp.ClientSession, running: Running
) -> None:
    lookup = running.system.services["lookup"]
    lookup.process.kill()
    # The broker may take a moment to notice, and keeps a request for the dead process until then.
    await eventually((503, "service_unavailable"), partial(status_of, client))
    away = await status_of(client)

    restarted = running.system.start("lookup")
    await asyncio.to_thread(restarted.wait_until_ready)
    await eventually((200, None), partial(status_of, client))

    assert away == (503, "service_unavailable")
