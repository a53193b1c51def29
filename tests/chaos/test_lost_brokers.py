"""Outages and data loss of RabbitMQ delay deliveries and lose none."""

import asyncio

import pytest

from local_stack.management import Management
from local_stack.rabbitmq import RabbitMQ
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received

pytestmark = [pytest.mark.integration, pytest.mark.chaos]


async def test_closed_connections_lose_and_repeat_nothing(
    pipe: Pipeline, broker_management: Management, own_vhost: str
) -> None:
    webhooks = await pipe.webhooks(["/a", "/b"])
    await pipe.dispatcher()
    events = [an_event(number) for number in range(60)]

    publishing = asyncio.create_task(pipe.publish(*events))
    for number in (20, 60):
        await pipe.receiver.until_count(number)
        await asyncio.to_thread(broker_management.close_connections, own_vhost)
    await publishing
    for event in events:
        for webhook in webhooks:
            await pipe.until_row(event, webhook, state="succeeded")

    assert set(pipe.receiver.counted().values()) == {2}
    assert await pipe.dead_letters() == 0


async def test_an_unpublished_retry_is_made_after_the_outage(
    pipe: Pipeline, stoppable_broker: RabbitMQ
) -> None:
    webhook = await pipe.webhook("/a")
    await pipe.dispatcher()

    async def fail_once_the_broker_is_gone(_received: Received) -> int:
        await asyncio.to_thread(stoppable_broker.kill)
        return 500

    pipe.receiver.answer("/a", fail_once_the_broker_is_gone)
    event = an_event()
    await pipe.publish(event)
    # The attempt is recorded without a broker, and only its row says that there is another.
    await pipe.until_row(event, webhook, attempts=1)
    pipe.receiver.answer("/a", 200)
    await asyncio.to_thread(stoppable_broker.start)

    await pipe.until_row(event, webhook, state="succeeded", seconds=60)

    assert pipe.receiver.counted() == {event.id: 2}
