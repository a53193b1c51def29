"""Connections to a broker, and what is sent over them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from random import Random

from aio_pika import Message
from aio_pika.abc import AbstractConnection
from aio_pika.exceptions import ChannelNotFoundEntity, DeliveryError

from common.messaging.connection import SupervisedConnection, supervised
from common.messaging.publisher import Publisher
from common.messaging.queues import Topology
from common.messaging.rpc_client import RpcClient
from dispatcher.queues import delivery_topology
from tests.delivery.waiting import SOON, eventually, until_connected

#: Given to what is never connected.
NOWHERE = "amqp://guest:guest@127.0.0.1:1/"


@asynccontextmanager
async def connections(url: str, *names: str) -> AsyncIterator[list[SupervisedConnection]]:
    """A connection of each name, all of them connected."""
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(supervised(url, name=name, random=Random(1)))
            for name in names
        ]
        await until_connected(*opened)
        yield opened


async def a_publisher(
    connection: SupervisedConnection, topology: Topology | None = None, *, timeout: float = SOON
) -> Publisher:
    """A publisher, by default to the queues of the dispatcher."""
    publisher = Publisher(
        connection, topology=topology or delivery_topology(), timeout=timedelta(seconds=timeout)
    )
    await connection.add(publisher)
    return publisher


async def until_bound(operator: AbstractConnection, exchange: str) -> None:
    """Returns when a queue takes the messages of the exchange, with an empty one."""

    async def publish() -> bool:
        channel = await operator.channel(on_return_raises=True)
        try:
            existing = await channel.get_exchange(exchange)
            await existing.publish(Message(b""), "", mandatory=True)
        except (ChannelNotFoundEntity, DeliveryError):
            return False
        await channel.close()
        return True

    await eventually(publish, bool)


@asynccontextmanager
async def rpc_client(url: str, queue: str) -> AsyncIterator[RpcClient]:
    async with (
        connections(url, "asking", "answers") as (publishing, consuming),
        RpcClient(publishing, consuming, queues=(queue,)) as client,
    ):
        yield client
