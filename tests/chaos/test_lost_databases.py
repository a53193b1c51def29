"""Failovers and outages of MongoDB charge no attempt and lose no delivery."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

import pytest

from common.contracts.company import CompanyKey
from common.contracts.failures import FailureCode, Unavailable
from common.contracts.webhook_api import Operation
from common.messaging.rpc import RpcFailed
from common.mongo import Reads, connected
from common.mongo import database as named_database
from gateway.access.keys import ApiKey, MongoKeys
from gateway.problems import ServiceUnavailable
from local_stack.replica_set import ReplicaSet
from register_store.reads import StoredRegister
from tests.builders.keys import a_presented_key, an_api_key
from tests.chaos.freezing import frozen
from tests.commanding import run_here
from tests.delivery.asking import asking, registry
from tests.delivery.pipeline import SHORT_LEASE, Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

A = TypeVar("A")
T = TypeVar("T")

#: Seconds without a database: longer than a short lease, and than the requeue job's rest.
AWAY = 12.0
#: Seconds without an answer: longer than an operation's timeout, which is 5.
FROZEN = 8.0
#: A delivery that waits for its lease, or for the requeue job, is far beyond the test's limit.
LONG_LEASE = {"webhook_lease": "PT10M", "webhook_requeue_grace": "PT10M"}


async def test_a_killed_primary_loses_no_event_and_a_command_waits_for_the_next_one(
    pipe_on_three_members: Pipeline, three_members: ReplicaSet
) -> None:
    pipe = pipe_on_three_members
    issue = ("keys", "issue", "--owner", "acme", "--name", "incident", "--scope", "lookup")
    webhooks = await pipe.webhooks(["/a", "/b"])
    await pipe.dispatcher()
    events = [an_event(number) for number in range(200)]

    publishing = asyncio.create_task(pipe.publish(*events))
    await pipe.receiver.until_count(20)
    await asyncio.to_thread(three_members.primary().kill)
    status, key, said = await asyncio.to_thread(run_here, pipe.system, "gateway", *issue)
    await asyncio.to_thread(three_members.start)
    await publishing
    await pipe.receiver.until(
        lambda: len(pipe.receiver.counted("/a")) == len(pipe.receiver.counted("/b")) == len(events),
        seconds=90,
    )

    for event in events:
        for webhook in webhooks:
            await pipe.until_row(event, webhook, state="succeeded", attempts=1)
    # Only posts that could not be recorded within their lease are repeated.
    assert len(pipe.receiver.received) == len(events) * len(webhooks)
    assert await pipe.dead_letters() == 0
    assert (status, said.splitlines()[-1]) == (0, "Store it now: it is not shown again.")
    assert key


async def test_a_database_outage_charges_no_attempt_and_ends_no_process(
    pipe_on_one_member: Pipeline, stoppable_mongo: ReplicaSet
) -> None:
    pipe = pipe_on_one_member
    webhook = await pipe.webhook("/a")
    await asyncio.gather(pipe.dispatcher(**SHORT_LEASE), registry(pipe))
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

    # On a busy machine the call ends before the registry's own wait: a 503 like the other.
    assert refused.value.failure.code in (FailureCode.UNAVAILABLE, FailureCode.DEADLINE_EXCEEDED)
    assert webhook.id in listed.body.decode()
    # Even the post just before the outage is recorded and not repeated.
    assert set(pipe.receiver.counted().values()) == {1}
    assert await pipe.dead_letters() == 0


async def test_deliveries_continue_when_a_frozen_database_does(
    pipe_on_one_member: Pipeline, stoppable_mongo: ReplicaSet
) -> None:
    """A claim without an answer does not hold its row until the end of its lease."""
    pipe = pipe_on_one_member
    webhooks = await pipe.webhooks([f"/{n}" for n in range(20)], of_many_owners=True)
    await pipe.dispatcher(**LONG_LEASE)
    events = [an_event(number) for number in range(40)]
    wanted = len(events) * len(webhooks)

    publishing = asyncio.create_task(pipe.publish(*events))
    await pipe.receiver.until_count(100)
    with frozen(stoppable_mongo.members[0].processes):
        # Claims and results are under way, and no effect signals the end of the freeze.
        await asyncio.sleep(FROZEN)
    await publishing
    await pipe.receiver.until_count(wanted)

    for event in events:
        for webhook in webhooks:
            await pipe.until_row(event, webhook, state="succeeded", attempts=1)
    assert len(pipe.receiver.received) == wanted


async def test_companies_and_api_keys_are_read_while_the_primary_hangs_and_while_there_is_none(
    three_members: ReplicaSet,
) -> None:
    key, presented = CompanyKey.parse("dk:12345674"), a_presented_key()
    # An operation that waited for the primary would outlast the test.
    limit = timedelta(minutes=10)
    async with connected(three_members.url, name="test", operation_timeout=limit) as client:
        access, register = (named_database(client, name) for name in ("access", "register"))
        keys = MongoKeys(access)
        companies = StoredRegister(Reads(register))

        async def read() -> tuple[int, ApiKey]:
            # A read that was under way fails, and a secondary may get the company a moment later.
            found = await eventually(partial(unless_away, companies.companies, [key]), bool)
            known = await eventually(partial(unless_away, keys.get, presented.id), bool)
            assert found is not None
            assert known is not None
            return found[key].revision, known

        await register["companies"].insert_one(
            {"_id": key, "revision": 1, "core": b"{}", "owners": None}
        )
        await keys.add(an_api_key(presented))
        before = await read()
        with frozen(three_members.primary().processes):
            while_it_hangs = await read()
        primary = three_members.primary()
        for member in (primary, *[one for one in three_members.members if one is not primary][:1]):
            # The one that is left cannot be elected.
            await asyncio.to_thread(member.kill)
        without = await read()

    assert while_it_hangs == without == before


async def unless_away(read: Callable[[A], Awaitable[T]], argument: A) -> T | None:
    with suppress(Unavailable, ServiceUnavailable):
        return await read(argument)
    return None
