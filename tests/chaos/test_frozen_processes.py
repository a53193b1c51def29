"""A dispatcher or a broker that is suspended and continues loses no event."""

import asyncio

import pytest

from local_stack.rabbitmq import RabbitMQ
from tests.chaos.freezing import frozen
from tests.delivery.pipeline import SHORT_LEASE, Pipeline, an_event
from tests.delivery.receiver import Received

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: Seconds: longer than the shortest lease, and than the silence after which a broker is given up.
FROZEN = 10.0


async def test_a_dispatcher_that_freezes_longer_than_its_lease_loses_no_event(
    pipe: Pipeline,
) -> None:
    webhook = await pipe.webhook("/a")
    service = await pipe.dispatcher("first", **SHORT_LEASE)
    events = [an_event(number) for number in range(40)]
    begun = asyncio.Event()

    async def note(_received: Received) -> int:
        begun.set()
        return 200

    pipe.receiver.answer("/a", note)
    publishing = asyncio.create_task(pipe.publish(*events))
    await pipe.receiver.until(begun.is_set)
    with frozen([service.process]):
        await pipe.dispatcher("second", **SHORT_LEASE)
        # The lease must end meanwhile; no effect signals it.
        await asyncio.sleep(FROZEN)
    await publishing
    for event in events:
        await pipe.until_row(event, webhook, state="succeeded", attempts=1, seconds=90)

    assert service.process.exit_status is None
    # Only what was under way when it froze is posted twice.
    assert max(pipe.receiver.counted().values()) <= 2


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
