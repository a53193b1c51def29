"""A dispatcher or a broker that is suspended and continues loses no event."""

import asyncio

import pytest

from local_stack.rabbitmq import RabbitMQ
from tests.chaos.freezing import frozen
from tests.delivery.pipeline import Pipeline, an_event

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: Seconds: longer than the shortest lease, and than the silence after which a broker is given up.
FROZEN = 10.0


async def test_a_broker_that_freezes_loses_no_event(
    pipe: Pipeline, stoppable_broker: RabbitMQ
) -> None:
    webhook = await pipe.webhook("/a")
    service = await pipe.dispatcher()
    events = [an_event(number) for number in range(40)]

    publishing = asyncio.create_task(pipe.publish(*events))
    await pipe.receiver.until_count(5)
    with frozen(stoppable_broker.processes):
        # Its clients must give it up; no effect signals it to the test.
        await asyncio.sleep(FROZEN)
    await publishing
    for event in events:
        await pipe.until_row(event, webhook, state="succeeded", attempts=1, seconds=90)

    assert service.process.exit_status is None
    assert set(pipe.receiver.counted().values()) == {1}
