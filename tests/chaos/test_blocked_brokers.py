"""A broker under a memory alarm takes no messages: it is unavailable, and says so at once."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

import aiohttp
import pytest

from common.contracts.company import Country
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.contracts.topology import EVENTS_QUEUE, lookup_queue
from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.errors import BrokerUnavailable
from common.messaging.publisher import Publisher
from common.messaging.rpc import Result, RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import Route
from common.messaging.rpc_server import RpcServer
from dispatcher.queues import delivery_topology
from local_stack.rabbitmq import RabbitMQ
from local_stack.system import System
from tests.conftest import DatabaseNames
from tests.delivery.waiting import SOON, eventually, until_connected

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

ROUTE = Route(lookup_queue(Country.DK))
#: A request's exception, and a publish's.
UNAVAILABLE = (RpcFailed, BrokerUnavailable)
REQUEST = LookupRequest(
    country=Country.DK, questions=(Question(type=SearchType.VAT, term="12345674"),)
)
#: Seconds; longer than a test, so that a call that ends sooner was not ended by its limit.
LONG = 120.0
BLOCKED = "blocked by the broker, which is short of a resource"


@dataclass
class Clients:
    """Both ways in which messages are sent, each over a connection of its own."""

    rpc: RpcClient
    asking: SupervisedConnection
    publisher: Publisher
    publishing: SupervisedConnection

    async def ask(self) -> bytes:
        reply = await self.rpc.call(ROUTE, REQUEST, LookupReply, timeout=LONG, request_id="test")
        return reply.body

    async def publish(self) -> None:
        await self.publisher.publish(b"{}", routing_key=EVENTS_QUEUE)

    async def work(self) -> bool:
        """True if both can send."""
        try:
            await self.ask()
            await self.publish()
        except UNAVAILABLE:
            return False
        return True


def unreported(*_args: object) -> None:
    """Logs nothing."""


async def answer(requests: Sequence[LookupRequest]) -> Sequence[Result]:
    return [LookupReply(body=b"{}", tag="t") for _ in requests]


@pytest.fixture
async def clients(own_amqp_url: str) -> AsyncIterator[Clients]:
    async with AsyncExitStack() as stack:
        asking, replies, serve, publishing = [
            await stack.enter_async_context(supervised(own_amqp_url, name=name, random=Random(1)))
            for name in ("asking", "replies", "serve", "publishing")
        ]
        publisher = Publisher(
            publishing,
            topology=delivery_topology(),
            timeout=timedelta(seconds=LONG),
        )
        await publishing.add(publisher)
        client = await stack.enter_async_context(RpcClient(asking, replies, queues=(ROUTE.queue,)))
        server = RpcServer((serve,), ROUTE.queue, LookupRequest, answer, report=unreported)
        await stack.enter_async_context(server.serving(drain_timeout=SOON))
        await until_connected(asking, replies, serve, publishing)
        yield Clients(client, asking, publisher, publishing)


@pytest.fixture
def alarm(stoppable_broker: RabbitMQ) -> Iterator[RabbitMQ]:
    """The broker, whose alarm is cleared after the test."""
    yield stoppable_broker
    stoppable_broker.set_memory_alarm(raised=False)


async def test_a_blocked_connection_is_unavailable_until_the_alarm_clears(
    clients: Clients, alarm: RabbitMQ
) -> None:
    assert await clients.work()
    await asyncio.to_thread(alarm.set_memory_alarm, raised=True)

    for send in (clients.ask, clients.publish):
        # The first message has the broker block the connection, the second finds it blocked.
        for _ in range(2):
            with pytest.raises(UNAVAILABLE):
                async with asyncio.timeout(SOON):
                    await send()
    words = [await connection.health() for connection in (clients.asking, clients.publishing)]
    await asyncio.to_thread(alarm.set_memory_alarm, raised=False)

    assert words == [BLOCKED, BLOCKED]
    assert await eventually(clients.work, bool)
    assert [await connection.health() for connection in (clients.asking, clients.publishing)] == [
        None,
        None,
    ]


async def test_a_client_receives_503_with_retry_after_while_the_broker_blocks_requests(
    alarm: RabbitMQ,
    own_amqp_url: str,
    mongo_url: str,
    database_names: DatabaseNames,
    tmp_path: Path,
) -> None:
    system = System(tmp_path, own_amqp_url, mongo_url, database_names.environment)
    async with AsyncExitStack() as stack:
        stack.callback(system.close)
        connection = await stack.enter_async_context(
            supervised(own_amqp_url, name="lookup", random=Random(1))
        )
        server = RpcServer((connection,), ROUTE.queue, LookupRequest, answer, report=unreported)
        await stack.enter_async_context(server.serving(drain_timeout=SOON))
        gateway = await asyncio.to_thread(system.start, "gateway")
        await asyncio.to_thread(gateway.wait_until_ready)

        async def asked() -> tuple[int, str | None]:
            url = f"http://127.0.0.1:{system.base_port}/api?country=dk&vat=12345674"
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                return response.status, response.headers.get("Retry-After")

        assert await eventually(asked, lambda told: told == (200, None))
        await asyncio.to_thread(alarm.set_memory_alarm, raised=True)
        blocked = [await asked() for _ in range(3)]
        await asyncio.to_thread(alarm.set_memory_alarm, raised=False)

        assert [status for status, _ in blocked] == [503] * 3
        assert all(retry_after is not None for _, retry_after in blocked)
        assert await eventually(asked, lambda told: told == (200, None))
