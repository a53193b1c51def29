"""Each service works with the rights that docs/operations.md gives it, and has no others."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
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
from local_stack.certificates import certificates
from local_stack.management import Management
from local_stack.processes import wait_for
from local_stack.servers import BrokerAddress
from local_stack.system import System
from tests.commanding import run_here
from tests.conftest import DatabaseNames
from tests.delivery.receiver import receiving
from tests.delivery.waiting import SOON
from tests.e2e.client import client_with
from tests.e2e.conftest import SETTINGS, Running, prepared
from tests.e2e.register import Register, an_entity
from tests.e2e.rights import broker_users, database_rights, database_users

pytestmark = pytest.mark.e2e

NAMES = DatabaseNames("register", "webhooks", "access")
#: RabbitMQ's and MongoDB's words for a missing right.
REFUSALS = ("ACCESS_REFUSED", "not authorized")
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


@dataclass(frozen=True, slots=True)
class Secured:
    """A system whose services have users of their own; their URLs by user."""

    running: Running
    amqp: Mapping[str, str]
    mongo: Mapping[str, str]


@pytest.fixture(scope="module")
def secured(
    broker: BrokerAddress,
    sample_registers: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    vhost = f"secured-{uuid.uuid4().hex}"
    management = Management(broker.management_url)
    management.create_vhost(vhost)
    try:
        with broker_users(broker, vhost) as amqp, database_users(folder / "mongodb") as mongo:
            trusted = certificates(folder / "receiver")
            system = System(
                folder,
                "amqp://no-user.invalid",
                "mongodb://no-user.invalid",
                {
                    **NAMES.environment,
                    **SETTINGS,
                    "WEBHOOK_EXTRA_CA_FILE": str(trusted.ca_file),
                    "EVENT_RECEIPT_TIMEOUT": "PT1S",
                },
                {
                    user.replace("-", "_"): {"AMQP_URL": amqp[user], "MONGO_URL": mongo[user]}
                    for user in amqp
                },
            )
            try:
                key = prepared(system, {"no-enheter": sample_registers["no-enheter"]})
                yield Secured(Running(system, key, NAMES, trusted), amqp, mongo)
            finally:
                system.close()
    finally:
        management.delete_vhost(vhost)


@asynccontextmanager
async def channel_of(url: str) -> AsyncIterator[AbstractChannel]:
    async with await aio_pika.connect(url, timeout=20) as connection:
        yield await connection.channel()


async def test_a_lookup_a_webhook_and_its_deliveries_work_with_the_documented_rights(
    secured: Secured, tmp_path: Path
) -> None:
    system, key = secured.running.system, secured.running.key
    number = "310999903"

    async with (
        client_with(key, system.base_url) as client,
        receiving(secured.running.certificates) as receiver,
    ):
        query = {"country": "no", "name": "Prøvefabrikken Norge"}
        async with client.session.get("/api", params=query) as answer:
            found = await answer.json()
        webhook = await client.subscribe(receiver, "/hook", filter={"companies": [f"no:{number}"]})
        receiver.answer("/hook", 503)
        await client.test(webhook)
        # Of a retry the task has gone through a delay queue.
        await receiver.next("/hook", number=2)
        receiver.answer("/hook", 204)
        await Register(system, tmp_path).load("no-enheter", an_entity(number, "PRØVERETTEN AS"))
        await receiver.until(
            lambda: "company.created" in {one.event["type"] for one in receiver.at("/hook")}
        )

    confirmed = await asyncio.to_thread(
        wait_for, lambda: is_confirmed(secured.mongo["ingest"], f"no:{number}"), seconds=SOON
    )

    assert found["vat"] == "310345679"
    assert confirmed
    assert all(one.genuine for one in receiver.at("/hook"))
    assert refused(system) == []


def is_confirmed(url: str, company: str) -> bool:
    """True if ingest has read the dispatcher's receipts of a company's events."""
    with pymongo.MongoClient[dict[str, Any]](url, timeoutMS=20_000) as client:
        events = list(client[NAMES.register]["outbox"].find({"company": company}))
    return bool(events) and all("again_at" not in event for event in events)


def refused(system: System) -> list[str]:
    """The lines of the services' logs that tell of a missing right."""
    return [
        line
        for name in system.services
        for line in system.log_of(name).splitlines()
        if any(refusal in line for refusal in REFUSALS)
    ]


async def test_events_are_read_with_the_documented_rights(secured: Secured) -> None:
    system = secured.running.system
    issue = ("keys", "issue", "--owner", "e2e", "--name", "feed", "--scope", "events")
    _, key, _ = await asyncio.to_thread(run_here, system, "gateway", *issue)

    async with (
        client_with(key.strip(), system.base_url) as client,
        client.session.get("/api/events") as answer,
    ):
        assert answer.status == 200
    assert refused(system) == []


@pytest.mark.parametrize(
    "command",
    [
        ("ingest", "remove", "no", "310999911"),
        ("ingest", "removed"),
        ("ingest", "restored"),
        ("ingest", "republish", "--since", "2026-01-01T00:00:00Z"),
        ("webhook_registry", "reseal"),
        ("dispatcher", "dead-letters", "list"),
    ],
    ids=" ".join,
)
def test_a_command_works_with_the_documented_rights(
    secured: Secured, command: tuple[str, ...]
) -> None:
    status, _, said = secured.running.system.run(*command)

    assert status == 0, said


@pytest.mark.parametrize(
    "user, queue", [(user, queue) for user, queues in QUEUES_OF_OTHERS.items() for queue in queues]
)
async def test_a_service_cannot_consume_the_queues_of_others(
    secured: Secured, user: str, queue: str
) -> None:
    async with channel_of(secured.amqp[user]) as channel:
        theirs = await channel.get_queue(queue, ensure=False)

        with pytest.raises(ChannelAccessRefused):
            await theirs.get(fail=False, timeout=20)


@pytest.mark.parametrize(
    "user, exchange",
    [
        (user, queue)
        for user, queues in QUEUES_OF_OTHERS.items()
        for queue in queues
        if queue in (WEBHOOKS_QUEUE, LOOKUPS, OWNER_EVENTS_QUEUE)
    ],
)
async def test_a_service_cannot_serve_the_requests_of_others(
    secured: Secured, user: str, exchange: str
) -> None:
    async with channel_of(secured.amqp[user]) as channel:
        own = await channel.declare_queue(exclusive=True, timeout=20)

        with pytest.raises(ChannelAccessRefused):
            await own.bind(exchange, timeout=20)


@pytest.mark.parametrize("user", ["gateway", "lookup", "dispatcher"])
async def test_a_service_that_publishes_no_events_cannot_make_one_up(
    secured: Secured, user: str
) -> None:
    async with channel_of(secured.amqp[user]) as channel:
        exchange = await channel.get_exchange(EVENTS_EXCHANGE, ensure=False)

        with pytest.raises(ChannelAccessRefused):
            await exchange.publish(aio_pika.Message(b"{}"), "no.company.created", timeout=20)


@pytest.mark.parametrize("user", QUEUES_OF_OTHERS)
async def test_a_service_cannot_delete_queues_of_others(secured: Secured, user: str) -> None:
    async with channel_of(secured.amqp[user]) as channel:
        with pytest.raises(ChannelAccessRefused):
            await channel.queue_delete(QUEUES_OF_OTHERS[user][0], timeout=20)


def places_of_others() -> list[tuple[str, str]]:
    """Each user with each database that it has no role in."""
    return [
        (user, database)
        for user, rights in database_rights().items()
        for database in (NAMES.register, NAMES.webhooks, NAMES.access)
        if database not in {right.database for right in rights if right.collection is None}
    ]


@pytest.mark.parametrize("user, database", places_of_others())
@pytest.mark.parametrize("collection", ["webhooks", "keys", "companies", "receipts"])
def test_a_service_can_neither_write_nor_read_databases_of_others(
    secured: Secured, user: str, database: str, collection: str
) -> None:
    readable = database_rights()[user]
    with pymongo.MongoClient[dict[str, Any]](secured.mongo[user], timeoutMS=20_000) as client:
        place = client[database][collection]

        with pytest.raises(OperationFailure) as written:
            place.insert_one({})
        assert written.value.code == UNAUTHORIZED
        if (database, collection) not in {(each.database, each.collection) for each in readable}:
            with pytest.raises(OperationFailure) as read:
                place.find_one()
            assert read.value.code == UNAUTHORIZED


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
    secured: Secured, command: dict[str, Any]
) -> None:
    def run(user: str) -> Mapping[str, Any]:
        with pymongo.MongoClient[dict[str, Any]](secured.mongo[user], timeoutMS=20_000) as client:
            return client.admin.command(command)

    assert run("restore")["ok"] == 1
    with pytest.raises(OperationFailure) as refused:
        run("backup")
    assert refused.value.code == UNAUTHORIZED
