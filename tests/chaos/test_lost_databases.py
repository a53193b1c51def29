"""Failovers and outages of MongoDB charge no attempt and lose no delivery."""

import asyncio
from collections.abc import Callable

import pytest

from common.contracts.failures import FailureCode
from common.contracts.topology import DEAD_LETTERS_QUEUE
from common.contracts.webhooks import Operation
from common.messaging.rpc import RpcFailed
from local_stack.replica_set import ReplicaSet
from tests.chaos.test_lost_brokers import messages_in
from tests.delivery.asking import asking, registry
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: Seconds without a database: longer than a lease, and three times the sweeper's rest.
AWAY = 30.0


def step_down(members: ReplicaSet) -> None:
    members.step_down()


def kill_and_start(members: ReplicaSet) -> None:
    former = members.primary()
    former.kill()
    members.primary(other_than=former)
    members.start()


@pytest.mark.parametrize("how", [step_down, kill_and_start])
async def test_a_failover_of_the_primary_loses_no_event(
    pipe_on_three_members: Pipeline,
    three_members: ReplicaSet,
    how: Callable[[ReplicaSet], None],
) -> None:
    pipe = pipe_on_three_members
    webhooks = await pipe.webhooks(["/a", "/b"])
    await pipe.dispatcher()
    events = [an_event(number) for number in range(200)]

    publishing = asyncio.create_task(pipe.publish(*events))
    await pipe.receiver.until_count(20)
    await asyncio.to_thread(how, three_members)
    await publishing
    await pipe.receiver.until(
        lambda: len(pipe.receiver.counted("/a")) == len(pipe.receiver.counted("/b")) == len(events),
        seconds=90,
    )

    for event in events:
        for webhook in webhooks:
            await pipe.until_row(event, webhook, state="succeeded", attempts=1)
    # Only what was posted and could not be recorded before its lease was over comes again.
    repeats = len(pipe.receiver.received) - len(events) * len(webhooks)
    assert repeats == 0
    assert await messages_in(DEAD_LETTERS_QUEUE, pipe) == 0


async def test_a_database_outage_charges_no_attempt_and_ends_no_process(
    pipe_on_one_member: Pipeline, stoppable_mongo: ReplicaSet
) -> None:
    pipe = pipe_on_one_member
    webhook = await pipe.webhook("/a")
    await asyncio.gather(pipe.dispatcher(), registry(pipe))
    posted, gone = an_event(1), asyncio.Event()

    async def answer_when_the_database_is_gone(_received: Received) -> int:
        await gone.wait()
        return 200

    pipe.receiver.answer("/a", answer_when_the_database_is_gone)
    await pipe.publish(posted)
    await pipe.receiver.next("/a")
    await asyncio.to_thread(stoppable_mongo.kill)
    gone.set()
    waiting = [an_event(number) for number in range(2, 20)]
    await pipe.publish(*waiting)
    # The outage must last this long; no effect signals its end.
    away = asyncio.create_task(asyncio.sleep(AWAY))
    async with asking(pipe) as client:
        with pytest.raises(RpcFailed) as refused:
            await client.ask(Operation.LIST, owner=webhook.owner)
        await away
        await asyncio.to_thread(stoppable_mongo.start)
        listed = await client.until_answered(Operation.LIST, owner=webhook.owner)

    for event in (posted, *waiting):
        row = await pipe.until_row(event, webhook, state="succeeded", seconds=60)
        assert row["attempts"] == 1

    assert refused.value.failure.code is FailureCode.SERVICE_UNAVAILABLE
    assert webhook.id in listed.body.decode()
    # Even what was posted just before is recorded and not posted again.
    assert set(pipe.receiver.counted().values()) == {1}
    assert await messages_in(DEAD_LETTERS_QUEUE, pipe) == 0
