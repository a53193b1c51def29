"""A node of the broker that hangs: its connections stay, and nothing answers over them."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from prometheus_client import REGISTRY

from common.contracts.company import Country
from common.contracts.lookup import LookupReply, LookupRequest, Question, SearchType
from common.messaging.connection import supervised
from common.messaging.requests import LOOK_UP
from common.messaging.rpc import Result
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_server import RpcServer
from local_stack.rabbitmq import RabbitMQ, RabbitPorts
from tests.chaos.freezing import frozen
from tests.delivery.waiting import SOON, eventually, until_connected

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

ROUTE = LOOK_UP.route(Country.DK)
REQUEST = LookupRequest(
    country=Country.DK, questions=(Question(type=SearchType.VAT, term="12345674"),)
)


@pytest.fixture
def nodes(stoppable_broker: RabbitMQ, server_folder: Path) -> Iterator[tuple[RabbitMQ, RabbitMQ]]:
    """Two nodes of one cluster."""
    second = RabbitMQ(server_folder / "second-node", RabbitPorts.free(), joins=stoppable_broker)
    try:
        second.start()
        yield stoppable_broker, second
    finally:
        second.kill()
        stoppable_broker.control("rabbitmqctl", "forget_cluster_node", "second@localhost")


async def answer(requests: Sequence[LookupRequest]) -> Sequence[Result]:
    return [LookupReply(body=b"{}", tag="t") for _ in requests]


async def served() -> float:
    labels = {"queue": ROUTE.queue}
    return REGISTRY.get_sample_value("rpc_server_batch_duration_seconds_count", labels) or 0.0


async def test_reads_are_answered_while_a_node_hangs(nodes: tuple[RabbitMQ, RabbitMQ]) -> None:
    first, second = nodes
    async with (
        supervised(first.amqp_url, name="asks-1", random=Random(1)) as asks_first,
        supervised(second.amqp_url, name="asks-2", random=Random(1)) as asks_second,
        supervised(first.amqp_url, name="serves-1", random=Random(1)) as serves_first,
        supervised(second.amqp_url, name="serves-2", random=Random(1)) as serves_second,
    ):
        await until_connected(asks_first, asks_second, serves_first, serves_second)
        server = RpcServer(
            (serves_first, serves_second),
            ROUTE.queue,
            LookupRequest,
            answer,
            report=lambda *_: None,
        )
        async with (
            server.serving(drain_timeout=1),
            RpcClient(asks_first, asks_second, queues=(ROUTE.queue,)) as client,
        ):

            async def ask() -> bytes:
                reply = await client.call(
                    ROUTE, REQUEST, LookupReply, timeout=SOON, request_id="test"
                )
                return reply.body

            before = await served()
            assert await ask() == b"{}"
            # The question of each link has reached both of the server's queues.
            await eventually(served, lambda messages: messages >= before + 5)
            with frozen(first.processes[-1:]):
                answers = await asyncio.gather(*(ask() for _ in range(100)))
                assert await ask() == b"{}"
        assert answers == [b"{}"] * 100
