"""No service has more rights than those of docs/operations.md, with which it runs here."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import aio_pika
import pymongo
import pytest
from aio_pika.abc import AbstractChannel
from aiormq.exceptions import ChannelAccessRefused
from pymongo.errors import OperationFailure

from common.contracts.company import Country
from common.contracts.topology import (
    DEAD_LETTERS_QUEUE,
    DELIVERIES_QUEUE,
    EVENTS_EXCHANGE,
    EVENTS_QUEUE,
    OWNER_EVENTS_QUEUE,
    RETRIES_QUEUE,
    WEBHOOKS_QUEUE,
    lookup_queue,
)
from local_stack.processes import wait_for
from tests.commanding import run_here
from tests.delivery.waiting import SOON
from tests.e2e.conftest import NAMES, Running
from tests.e2e.register import Register, an_entity
from tests.e2e.rights import database_rights

pytestmark = pytest.mark.e2e

UNAUTHORIZED = 13

WORK = (EVENTS_QUEUE, DELIVERIES_QUEUE, RETRIES_QUEUE, DEAD_LETTERS_QUEUE)
LOOKUPS = lookup_queue(Country.NO)
QUEUES_OF_OTHERS = {
    "gateway": (*WORK, WEBHOOKS_QUEUE, LOOKUPS),
    "lookup": (*WORK, WEBHOOKS_QUEUE, OWNER_EVENTS_QUEUE),
    "ingest": (*WORK, WEBHOOKS_QUEUE, LOOKUPS),
    "webhook-registry": (*WORK, LOOKUPS),
    "dispatcher": (WEBHOOKS_QUEUE, LOOKUPS),
}


async def test_ingest_reads_the_receipts_of_the_dispatcher(
    running: Running, register: Register
) -> None:
    number = "310999903"
    await register.load("no-enheter", an_entity(number, "PRØVERETTEN AS"))

    def is_confirmed() -> bool:
        with pymongo.MongoClient[dict[str, Any]](running.mongo["ingest"], timeoutMS=20_000) as it:
            events = list(it[NAMES.register]["outbox"].find({"company": f"no:{number}"}))
        return bool(events) and all("again_at" not in event for event in events)

    assert await asyncio.to_thread(wait_for, is_confirmed, seconds=SOON)


def test_commands_work_with_the_documented_rights(running: Running) -> None:
    for command in (
        ("ingest", "remove", "no", "310999912"),
        ("ingest", "removed"),
        ("ingest", "republish", "--since", datetime.now(UTC).isoformat()),
        ("webhook_registry", "reseal"),
    ):
        status, _, said = run_here(running.system, *command)
        assert (command, status) == (command, 0), said
    # It writes bytes, so it needs a process.
    status, _, said = running.system.run("dispatcher", "dead-letters", "list")
    assert status == 0, said


#: Something that a service may not do to a queue or an exchange.
Act = Callable[[AbstractChannel, str], Awaitable[None]]


async def read(channel: AbstractChannel, queue: str) -> None:
    theirs = await channel.get_queue(queue, ensure=False)
    await theirs.get(fail=False, timeout=20)


async def serve(channel: AbstractChannel, exchange: str) -> None:
    own = await channel.declare_queue(exclusive=True, timeout=20)
    await own.bind(exchange, timeout=20)


async def delete(channel: AbstractChannel, queue: str) -> None:
    await channel.queue_delete(queue, timeout=20)


async def make_up(channel: AbstractChannel, exchange: str) -> None:
    events = await channel.get_exchange(exchange, ensure=False)
    await events.publish(aio_pika.Message(b"{}"), "no.company.created", timeout=20)


@pytest.mark.parametrize("user", QUEUES_OF_OTHERS)
async def test_a_service_cannot_use_the_queues_of_others_or_make_up_their_messages(
    running: Running, user: str
) -> None:
    theirs = QUEUES_OF_OTHERS[user]
    acts: list[tuple[Act, str]] = [(read, queue) for queue in theirs]
    acts += [(serve, queue) for queue in theirs if queue not in WORK] + [(delete, theirs[0])]
    if user in ("gateway", "lookup", "dispatcher"):  # which publish no events
        acts.append((make_up, EVENTS_EXCHANGE))
    allowed = []

    async with await aio_pika.connect(running.amqp[user], timeout=20) as connection:
        for act, name in acts:
            try:
                # A refusal ends the channel.
                await act(await connection.channel(), name)
            except ChannelAccessRefused:
                continue
            allowed.append((str(act), name))

    assert allowed == []


@pytest.mark.parametrize("user", database_rights())
def test_a_service_can_neither_write_nor_read_databases_of_others(
    running: Running, user: str
) -> None:
    rights = database_rights()[user]
    own = {right.database for right in rights if right.collection is None}
    readable = {(right.database, right.collection) for right in rights}
    with pymongo.MongoClient[dict[str, Any]](running.mongo[user], timeoutMS=20_000) as client:
        for database in {NAMES.register, NAMES.webhooks, NAMES.access} - own:
            for collection in ("webhooks", "keys", "companies", "receipts"):
                place = client[database][collection]

                with pytest.raises(OperationFailure) as written:
                    place.insert_one({})
                assert written.value.code == UNAUTHORIZED
                if (database, collection) not in readable:
                    with pytest.raises(OperationFailure) as found:
                        place.find_one()
                    assert found.value.code == UNAUTHORIZED


@pytest.mark.parametrize(
    "command",
    [
        # Of `mongorestore --oplogReplay`, and of a longer oplog.
        {"applyOps": [{"op": "c", "ns": "restored.$cmd", "o": {"create": "rows"}}]},
        {"replSetResizeOplog": 1, "size": 1000.0},
    ],
    ids=lambda each: next(iter(each)),
)
def test_restores_and_changes_of_the_oplog_have_a_user(
    running: Running, command: dict[str, Any]
) -> None:
    def run(user: str) -> Mapping[str, Any]:
        with pymongo.MongoClient[dict[str, Any]](running.mongo[user], timeoutMS=20_000) as client:
            return client.admin.command(command)

    assert run("restore")["ok"] == 1
    with pytest.raises(OperationFailure) as refused:
        run("backup")
    assert refused.value.code == UNAUTHORIZED
