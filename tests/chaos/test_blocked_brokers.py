"""A broker under a memory alarm takes no messages: it is unavailable, and says so at once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from common.contracts.company import Country
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.contracts.topology import FAN_OUT_QUEUE
from common.messaging import connection
from common.messaging.connection import BrokerUnavailable, SupervisedConnection
from common.messaging.publisher import Publisher
from common.messaging.requests import LOOK_UP
from common.messaging.rpc import Result, RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_server import RpcServer
from local_stack.rabbitmq import RabbitMQ
from tests.delivery.broker import a_publisher, connections
from tests.delivery.waiting import SOON, eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

ROUTE = LOOK_UP.route(Country.DK)
#: A request's exception, and a publish's.
UNAVAILABLE = (RpcFailed, BrokerUnavailable)
REQUEST = LookupRequest(
    country=Country.DK, questions=(Question(type=SearchType.VAT, term="12345674"),)
)
#: Seconds; longer than a test, so that a call that ends sooner was not ended by its limit.
LONG = 120.0
#: Seconds in which a lost connection is closed and replaced, and the new one is blocked.
WATCHED = 4.0
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
        await self.publisher.publish(b"{}", routing_key=FAN_OUT_QUEUE)

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


@asynccontextmanager
async def lookup_server(amqp_url: str) -> AsyncIterator[None]:
    async with connections(amqp_url, "lookup") as [answering]:
        server = RpcServer((answering,), ROUTE.queue, LookupRequest, answer, report=unreported)
        async with server.serving(drain_timeout=SOON):
            yield


@pytest.fixture
async def clients(own_amqp_url: str) -> AsyncIterator[Clients]:
    async with (
        connections(own_amqp_url, "asking", "replies", "publishing") as (
            asking,
            replies,
            publishing,
        ),
        RpcClient(asking, replies, queues=(ROUTE.queue,)) as client,
        lookup_server(own_amqp_url),
    ):
        publisher = await a_publisher(publishing, timeout=LONG)
        yield Clients(client, asking, publisher, publishing)


@pytest.fixture
def is_asked(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a connection asks the broker for an own queue, which has no answer."""
    is_asked = asyncio.Event()

    async def unanswered(*_: object) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(SupervisedConnection, "_check_own_queue", unanswered)
    return is_asked


@asynccontextmanager
async def alarm(broker: RabbitMQ) -> AsyncIterator[None]:
    """A memory alarm during the body."""
    await asyncio.to_thread(broker.set_memory_alarm, raised=True)
    try:
        yield
    finally:
        await asyncio.to_thread(broker.set_memory_alarm, raised=False)


async def test_a_block_is_noticed_although_the_broker_was_just_asked_for_a_queue(
    is_asked: asyncio.Event,  # before the connections
    clients: Clients,
    stoppable_broker: RabbitMQ,
) -> None:
    await asyncio.wait_for(is_asked.wait(), SOON)
    async with alarm(stoppable_broker):
        # By its message the broker blocks the connection.
        asking = asyncio.create_task(clients.ask())
        word = await eventually(clients.asking.health, bool)
    await asyncio.gather(asking, return_exceptions=True)

    assert word == BLOCKED
    assert await eventually(clients.work, bool)


async def test_a_blocked_connection_is_unavailable_for_as_long_as_the_alarm(
    clients: Clients, stoppable_broker: RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker takes and confirms the first message of a connection that it then blocks."""
    # A channel that is closed waits for the broker for one heartbeat, and no longer.
    monkeypatch.setattr(connection, "HEARTBEAT", 1)
    both = (clients.asking, clients.publishing)
    assert await clients.work()

    async with alarm(stoppable_broker):
        for send in (clients.ask, clients.publish):
            # The first message has the broker block the connection, the second finds it blocked.
            for _ in range(2):
                with pytest.raises(UNAVAILABLE):
                    async with asyncio.timeout(SOON):
                        await send()
        words = [await each.health() for each in both]
        with pytest.raises(TimeoutError):
            await eventually(clients.asking.health, lambda said: said != BLOCKED, seconds=WATCHED)
        with pytest.raises(UNAVAILABLE):
            async with asyncio.timeout(SOON):
                await clients.ask()

    assert words == [BLOCKED, BLOCKED]
    assert await eventually(clients.work, bool)
    for each in both:
        assert await eventually(each.health, lambda said: said is None) is None
