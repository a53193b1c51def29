"""Failovers and outages of MongoDB charge no attempt and lose no delivery."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from common.contracts.company import CompanyKey
from common.contracts.failures import FailureCode, Unavailable
from common.contracts.webhook_api import Operation
from common.messaging.rpc import RpcFailed
from common.mongo import Reads, connected
from common.mongo import database as named_database
from gateway.access.keys import MongoKeys
from gateway.problems import ServiceUnavailable
from local_stack.replica_set import ReplicaSet
from local_stack.servers import own_replica_set
from register_store.reads import StoredRegister
from tests.builders.keys import a_presented_key, an_api_key
from tests.chaos.freezing import frozen
from tests.delivery.asking import asking, registry
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

A = TypeVar("A")
T = TypeVar("T")

#: Seconds without a database: longer than a lease, and three times the requeue job's rest.
AWAY = 30.0
#: Seconds without an answer: longer than an operation's timeout.
FROZEN = 20.0
#: A delivery that waits for its lease, or for the requeue job, is far beyond the test's limit.
LONG_LEASE = {"webhook_lease": "PT10M", "webhook_requeue_grace": "PT10M"}


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
    # Only posts that could not be recorded within their lease are repeated.
    repeats = len(pipe.receiver.received) - len(events) * len(webhooks)
    assert repeats == 0
    assert await pipe.dead_letters() == 0


async def test_a_command_waits_for_the_next_primary(
    pipe_on_three_members: Pipeline, three_members: ReplicaSet
) -> None:
    issue = ("keys", "issue", "--owner", "acme", "--name", "incident", "--scope", "lookup")
    former = three_members.primary()
    await asyncio.to_thread(former.kill)

    status, key, said = await asyncio.to_thread(pipe_on_three_members.system.run, "gateway", *issue)

    assert (status, said.splitlines()[-1]) == (0, "Store it now: it is not shown again.")
    assert key
    await asyncio.to_thread(three_members.start)


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

    assert refused.value.failure.code is FailureCode.UNAVAILABLE
    assert webhook.id in listed.body.decode()
    # Even the post just before the outage is recorded and not repeated.
    assert set(pipe.receiver.counted().values()) == {1}
    assert await pipe.dead_letters() == 0


async def test_deliveries_continue_when_a_frozen_database_does(
    pipe_on_one_member: Pipeline, stoppable_mongo: ReplicaSet
) -> None:
    """A claim without an answer does not hold its row until the end of its lease."""
    pipe = pipe_on_one_member
    webhooks = await pipe.webhooks([f"/{n}" for n in range(40)], of_many_owners=True)
    await pipe.dispatcher(**LONG_LEASE)
    events = [an_event(number) for number in range(40)]
    wanted = len(events) * len(webhooks)

    publishing = asyncio.create_task(pipe.publish(*events))
    await pipe.receiver.until_count(300)
    with frozen(stoppable_mongo.members[0].processes):
        # Claims and results are under way, and no effect signals the end of the freeze.
        await asyncio.sleep(FROZEN)
    await publishing
    await pipe.receiver.until_count(wanted)

    for event in events:
        for webhook in webhooks:
            await pipe.until_row(event, webhook, state="succeeded", attempts=1)
    assert len(pipe.receiver.received) == wanted


async def test_companies_and_api_keys_are_read_while_there_is_no_primary(tmp_path: Path) -> None:
    # Of two members, the one that is left cannot be elected.
    members = own_replica_set(tmp_path, members=2, election_timeout=1)
    key, presented = CompanyKey.parse("dk:12345674"), a_presented_key()
    try:
        await asyncio.to_thread(members.start)
        limit = timedelta(seconds=30)
        async with connected(members.url, name="test", operation_timeout=limit) as client:
            access, register = (named_database(client, name) for name in ("access", "register"))
            keys = MongoKeys(access)
            companies = StoredRegister(Reads(register))
            stored = {"_id": key, "revision": 1, "core": b"{}", "owners": None}
            await register["companies"].insert_one(stored)
            await keys.add(an_api_key(presented))
            await asyncio.to_thread(members.primary().kill)

            # A read that was under way fails; the driver may need a moment to see what happened.
            read = await eventually(partial(unless_away, companies.companies, [key]), bool)
            known = await eventually(partial(unless_away, keys.get, presented.id), bool)
    finally:
        await asyncio.to_thread(members.kill)

    assert read is not None
    assert read[key].revision == 1
    assert known is not None


async def test_companies_and_api_keys_are_read_while_the_primary_hangs(
    three_members: ReplicaSet,
) -> None:
    key, presented = CompanyKey.parse("dk:12345674"), a_presented_key()
    # An operation that waited for the primary would outlast the test.
    limit = timedelta(minutes=10)
    async with connected(three_members.url, name="test", operation_timeout=limit) as client:
        access, register = (named_database(client, name) for name in ("access", "register"))
        keys = MongoKeys(access)
        companies = StoredRegister(Reads(register))
        stored = {"_id": key, "revision": 1, "core": b"{}", "owners": None}
        await register["companies"].insert_one(stored)
        await keys.add(an_api_key(presented))
        with frozen(three_members.primary().processes):
            # A secondary may get the company a moment later.
            read = await eventually(partial(unless_away, companies.companies, [key]), bool)
            known = await eventually(partial(unless_away, keys.get, presented.id), bool)

    assert read is not None
    assert read[key].revision == 1
    assert known is not None


async def unless_away(read: Callable[[A], Awaitable[T]], argument: A) -> T | None:
    with suppress(Unavailable, ServiceUnavailable):
        return await read(argument)
    return None
