"""Responses to clients while parts of the system are unavailable, and recovery afterwards."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from local_stack.rabbitmq import RabbitMQ
from local_stack.replica_set import ReplicaSet
from local_stack.servers import BrokerAddress
from tests.commanding import run_here
from tests.conftest import OwnServers, ensure_running
from tests.delivery import waiting
from tests.e2e.conftest import Running, running_system

#: The first test starts servers and a whole system, which takes minutes on a busy machine.
pytestmark = [pytest.mark.e2e, pytest.mark.chaos, pytest.mark.timeout(600)]

#: Seconds in which a client has its answer, and in which the system is well again (issue 2).
ANSWERED, RECOVERED = 2.0, 10.0
#: Additional time on a busy machine. A client that waits for a dependency to return takes longer.
GRACE = 20.0

QUERY = {"country": "dk", "vat": "12345674"}


@pytest.fixture(scope="module")
def _running(
    own_servers: OwnServers,
    sample_registers: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """A system on servers that these tests stop and start."""
    broker, replica_set = own_servers.broker, own_servers.replica_set
    assert broker is not None
    assert replica_set is not None
    for server in (broker, replica_set):
        ensure_running(server)
    address = BrokerAddress(broker.amqp_url, broker.management_url)
    folder = tmp_path_factory.mktemp("faults")
    with running_system(address, replica_set.url, sample_registers, folder) as system:
        yield system


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


@pytest.mark.parametrize(
    "server, fault", [("broker", "stop"), ("broker", "kill"), ("database", "stop")]
)
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


async def test_a_company_loaded_while_the_system_runs_is_found_by_name_and_address(
    client: aiohttp.ClientSession, running: Running, tmp_path: Path
) -> None:
    entity = {
        "organisasjonsnummer": "310999993",
        "navn": "NYSTIFTET PRØVEKVARTETT AS",
        "organisasjonsform": {"kode": "AS", "beskrivelse": "Aksjeselskap", "links": []},
        "forretningsadresse": {
            "adresse": ["Kvartettgata 44"],
            "postnummer": "0159",
            "poststed": "OSLO",
            "landkode": "NO",
            "land": "Norge",
        },
    }
    name = {"country": "no", "name": "nystiftet prøvekvartett"}
    address = {"country": "no", "address": "Kvartettgata 44, 0159 Oslo"}
    before = await status_of(client, **name)
    file = tmp_path / "no-enheter.json"
    file.write_text(json.dumps([entity]))

    status, _, _ = await asyncio.to_thread(
        run_here, running.system, "ingest", "import", "no-enheter", str(file)
    )

    assert status == 0
    assert before == (404, "company_not_found")
    for query in (name, address):
        await eventually((200, None), partial(status_of, client, **query))


async def test_a_removed_company_is_found_by_nothing_any_more(
    client: aiohttp.ClientSession, running: Running
) -> None:
    queries = [
        {"country": "no", "vat": "310345814"},
        {"country": "no", "name": "Prøvevik idrettslag"},
    ]
    before = [await status_of(client, **query) for query in queries]

    await asyncio.to_thread(run_here, running.system, "ingest", "remove", "no", "310345814")

    by_number, by_name = (partial(status_of, client, **query) for query in queries)
    assert before == [(200, None)] * 2
    await eventually((410, "company_removed"), by_number)
    await eventually((404, "company_not_found"), by_name)
