"""The servers that every other integration test stands on."""

import asyncio
from typing import Any

import aio_pika
import pymongo
import pytest

from local_stack.management import Management
from local_stack.rabbitmq import RabbitMQ
from local_stack.replica_set import ReplicaSet
from tests.conftest import DatabaseNames
from tests.delivery.waiting import SOON

pytestmark = pytest.mark.integration

Collection = pymongo.collection.Collection[dict[str, Any]]


@pytest.fixture
def companies(
    mongo_admin: pymongo.MongoClient[dict[str, Any]], database_names: DatabaseNames
) -> Collection:
    return mongo_admin[database_names.register]["companies"]


async def test_the_management_api_closes_every_connection_of_a_virtual_host(
    amqp_url: str, vhost: str, management: Management
) -> None:
    lost = asyncio.Queue[object]()
    async with await aio_pika.connect(amqp_url) as one, await aio_pika.connect(amqp_url) as other:
        for connection in (one, other):
            connection.close_callbacks.add(lambda sender, _reason: lost.put_nowait(sender))

        closed = await asyncio.to_thread(management.close_connections, vhost, at_least=2)

        assert closed == 2
        async with asyncio.timeout(SOON):
            assert {await lost.get(), await lost.get()} == {one, other}


@pytest.mark.chaos
async def test_a_restarted_broker_has_its_ports_and_its_messages_again(
    amqp_url: str, stoppable_broker: RabbitMQ
) -> None:
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        await channel.declare_queue("kept", arguments={"x-queue-type": "quorum"}, durable=True)
        await channel.default_exchange.publish(
            aio_pika.Message(b"event", delivery_mode=aio_pika.DeliveryMode.PERSISTENT), "kept"
        )

    await asyncio.to_thread(stoppable_broker.stop)
    await asyncio.to_thread(stoppable_broker.start)

    async with await aio_pika.connect(amqp_url) as connection:
        queue = await (await connection.channel()).get_queue("kept")
        message = await queue.get(timeout=SOON)
        assert message is not None
        assert message.body == b"event"
        await message.ack()


@pytest.mark.chaos
def test_a_killed_mongodb_comes_back_on_its_port_with_its_documents(
    companies: Collection, stoppable_mongo: ReplicaSet
) -> None:
    companies.with_options(write_concern=pymongo.WriteConcern("majority")).insert_one(
        {"_id": "no:923609016"}
    )

    stoppable_mongo.kill()
    stoppable_mongo.start()

    assert companies.count_documents({}) == 1


@pytest.mark.chaos
def test_writes_go_on_after_a_step_down_and_after_the_death_of_the_primary(
    three_members: ReplicaSet,
) -> None:
    with pymongo.MongoClient[dict[str, Any]](three_members.url, timeoutMS=30_000) as client:
        companies = client["step-down"]["companies"]

        three_members.step_down()
        companies.insert_one({"_id": "after the step-down"})
        three_members.primary().kill()
        companies.insert_one({"_id": "after the kill"})

        assert companies.count_documents({}) == 2
