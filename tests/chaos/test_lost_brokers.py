"""Outages and data loss of RabbitMQ delay deliveries and lose none."""

import asyncio

import pytest

from common.contracts.events import RegistryEvent
from common.contracts.webhooks import Webhook
from local_stack.management import Management
from local_stack.rabbitmq import RabbitMQ
from tests.chaos.freezing import frozen
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: Seconds: longer than a publish may take.
FROZEN = 6.0


async def until_delivered(pipe: Pipeline, events: list[RegistryEvent], *to: Webhook) -> None:
    for event in events:
        for webhook in to:
            await pipe.until_row(event, webhook, state="succeeded", attempts=1, seconds=90)


async def test_closed_connections_a_frozen_and_a_killed_broker_lose_and_repeat_nothing(
    pipe: Pipeline, broker_management: Management, own_vhost: str, stoppable_broker: RabbitMQ
) -> None:
    a, b = await pipe.webhooks(["/a", "/b"])
    service = await pipe.dispatcher()
    first, later = ([an_event(number) for number in range(n, n + 60)] for n in (1, 61))

    publishing = asyncio.create_task(pipe.publish(*first))
    for number in (20, 60):
        await pipe.receiver.until_count(number)
        await asyncio.to_thread(broker_management.close_connections, own_vhost)
    await publishing
    await until_delivered(pipe, first, a, b)
    publishing = asyncio.create_task(pipe.publish(*later))
    await pipe.receiver.until_count(2 * len(first) + 10)
    with frozen(stoppable_broker.processes):
        # Its clients must give it up; no effect signals it to the test.
        await asyncio.sleep(FROZEN)
    await publishing
    await until_delivered(pipe, later, a, b)
    counted = pipe.receiver.counted()

    async def fail_once_the_broker_is_gone(_received: Received) -> int:
        await asyncio.to_thread(stoppable_broker.kill)
        return 500

    pipe.receiver.answer("/a", fail_once_the_broker_is_gone)
    retried = an_event(121)
    await pipe.publish(retried)
    # The attempt is recorded without a broker, and only its row says that there is another.
    await pipe.until_row(retried, a, attempts=1)
    pipe.receiver.answer("/a", 200)
    await asyncio.to_thread(stoppable_broker.start)
    await pipe.until_row(retried, a, state="succeeded", seconds=60)

    assert service.process.exit_status is None
    assert set(counted.values()) == {2}
    assert pipe.receiver.counted("/a")[retried.id] == 2
    assert await pipe.dead_letters() == 0
