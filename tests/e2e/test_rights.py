"""No service has more rights than those of docs/operations.md, with which it runs here."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

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
    FAN_OUT_QUEUE,
    RETRIES_QUEUE,
)
from common.messaging.requests import LOOK_UP, OWNER_EVENT, WEBHOOKS
from local_stack.processes import wait_for
from tests.builders.registers import a_person, a_role, roles
from tests.commanding import run_here
from tests.delivery.receiver import Receiver
from tests.delivery.waiting import SOON, eventually
from tests.e2e.client import Client, client_with
from tests.e2e.conftest import NAMES, Running
from tests.e2e.register import Register, an_entity
from tests.e2e.rights import database_rights

pytestmark = pytest.mark.e2e

UNAUTHORIZED = 13

WORK = (FAN_OUT_QUEUE, DELIVERIES_QUEUE, RETRIES_QUEUE, DEAD_LETTERS_QUEUE)
LOOKUPS = LOOK_UP.queue(Country.NO)
OF_WEBHOOKS, OWNER_EVENTS = WEBHOOKS.queue(), OWNER_EVENT.queue()
QUEUES_OF_OTHERS = {
    "gateway": (*WORK, OF_WEBHOOKS, LOOKUPS),
    "lookup": (*WORK, OF_WEBHOOKS, OWNER_EVENTS),
    "ingest": (*WORK, OF_WEBHOOKS, LOOKUPS),
    "webhook-registry": (*WORK, LOOKUPS),
    "dispatcher": (OF_WEBHOOKS, LOOKUPS),
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


async def test_a_person_is_limited_with_the_documented_rights(
    running: Running, register: Register, owner: Client, receiver: Receiver
) -> None:
    number, anna = "310999970", "Anna Testesen"
    limited = ("no", number, anna)
    webhook = await owner.subscribe(receiver, "/limited", filter={"companies": [f"no:{number}"]})
    await register.load("no-enheter", an_entity(number, "PRØVEPERSONEN AS"))
    sole = a_role(person=a_person(*anna.split()))
    await register.load("no-roller", roles(sole, organisasjonsnummer=number))
    await owner.until_listed(webhook, 2, "?status=succeeded")

    said = [
        commanded(running, module, *words)
        for module, *words in (
            ("ingest", "limit", *limited),
            ("webhook_registry", "limit", *limited),
            ("ingest", "limited"),
            ("ingest", "limit", "--end", *limited),
        )
    ]

    assert said[:2] == ["left out; 1 event deleted\n", "1 event deleted\n"]
    assert f"no {number} " in said[2]
    assert said[3] == "ended\n"


async def test_a_customer_is_removed_with_the_documented_rights(
    running: Running, receiver: Receiver
) -> None:
    name = f"leaving-{uuid4().hex}"
    key = await running.issue_key(name)
    async with client_with(key, running.system.base_url) as leaving:
        webhook = await leaving.subscribe(receiver, "/leaving", events=["webhook.*"])
        receiver.answer("/leaving", 410)
        await leaving.test(webhook)
        # An event of the owner's own webhook is in the register's database.
        await leaving.until_webhook(webhook, status="disabled")
        async with leaving.session.post("/api/watchlists", json={"name": "Kunder"}) as created:
            watchlist = f"/api/watchlists/{(await created.json())['id']}"
        news = {"address": f"{name}@example.com"}
        async with leaving.session.post(f"{watchlist}/digests", json=news) as answer:
            assert answer.status == 201
        async with leaving.session.patch(
            f"{watchlist}/companies", json={"add": ["dk:12345674"]}
        ) as added:
            assert (await added.json())["added"] == 1

    def counts(*options: str) -> list[str]:
        modules = ("gateway", "webhook_registry", "ingest")
        return [commanded(running, each, "owners", "remove", *options, name) for each in modules]

    stored = [
        "1 key",
        "1 webhook, 1 watchlist with 1 company, 1 digest, 0 files of customers, 1 attempt",
        "1 event",
    ]
    none = [
        "0 keys",
        "0 webhooks, 0 watchlists with 0 companies, 0 digests, 0 files of customers, 0 attempts",
        "0 events",
    ]
    await eventually(
        lambda: asyncio.to_thread(counts, "--dry-run"),
        lambda found: found == [f"{each} found\n" for each in stored],
    )
    assert counts() == [f"{each} deleted\n" for each in stored]
    assert counts("--dry-run") == [f"{each} found\n" for each in none]


def commanded(running: Running, module: str, *words: str) -> str:
    """All that a command prints, which succeeds as its service's users."""
    status, out, err = run_here(running.system, module, *words)
    assert (words, status) == (words, 0), err
    return out + err


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
