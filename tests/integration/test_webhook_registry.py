"""The webhook registry over RabbitMQ and MongoDB, called as by the gateway."""

import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import aio_pika
import bson
import orjson
import pymongo
import pytest
from aio_pika.abc import AbstractQueue
from pydantic import SecretStr

from common.contracts.events import EventType
from common.contracts.failures import FailureCode
from common.contracts.topology import EVENTS_EXCHANGE
from common.contracts.webhook_api import Operation, WebhookReply
from common.contracts.webhooks import decode_addressed
from common.messaging.requests import WEBHOOKS
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from common.mongo import Database
from common.runtime.health import Health
from tests.builders.deliveries import WEBHOOK, a_new_delivery
from tests.builders.webhooks import a_draft, a_request, encoded_key
from tests.conftest import DatabaseNames
from tests.delivery.broker import rpc_client
from tests.delivery.waiting import SOON, eventually
from webhook_registry.app import build
from webhook_registry.settings import Settings
from webhook_store.deliveries import CancelReason, Deliveries, DeliveryTimes
from webhook_store.recoveries import Recoveries, Recovery

pytestmark = pytest.mark.integration


NOW = datetime.now(UTC).replace(microsecond=0)


@dataclass(frozen=True)
class Registry:
    """A running registry, and one who asks it."""

    client: RpcClient
    settings: Settings

    async def do(self, operation: Operation, **fields: Any) -> WebhookReply:
        request = a_request(operation, **fields)
        return await self.client.call(
            WEBHOOKS.route(), request, WebhookReply, timeout=SOON, request_id="request"
        )

    async def refused(self, operation: Operation, **fields: Any) -> FailureCode:
        with pytest.raises(RpcFailed) as caught:
            await self.do(operation, **fields)
        return caught.value.failure.code

    async def created(self, **fields: Any) -> dict[str, Any]:
        return read(await self.do(Operation.CREATE, body=a_draft(**fields)))


def read(reply: WebhookReply) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(reply.body)
    return document


@pytest.fixture(name="settings")
def _settings(amqp_url: str, mongo_url: str, database_names: DatabaseNames) -> Settings:
    return Settings(
        amqp_url=SecretStr(amqp_url),
        mongo_url=SecretStr(mongo_url),
        webhooks_db=database_names.webhooks,
        webhook_secret_keys=SecretStr(f"k1:{encoded_key('k1')}"),
        max_webhooks_per_owner=5,
    )


@pytest.fixture(name="registry")
async def _registry(settings: Settings, webhooks_db: Database) -> AsyncIterator[Registry]:
    async with AsyncExitStack() as stack:
        health = Health()
        await build(settings, stack, health)
        health.serving = True
        url = settings.amqp_url.get_secret_value()
        client = await stack.enter_async_context(rpc_client(url, WEBHOOKS.queue()))
        await eventually(health.report, lambda report: report[0])
        yield Registry(client, settings)


@pytest.fixture(name="events")
async def _events(amqp_url: str) -> AsyncIterator[AbstractQueue]:
    """Receives the test events that the registry publishes."""
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        exchange = await channel.declare_exchange(
            EVENTS_EXCHANGE, aio_pika.ExchangeType.TOPIC, durable=True
        )
        queue = await channel.declare_queue(exclusive=True)
        await queue.bind(exchange, "none.webhook.test")
        yield queue


async def next_of(queue: AbstractQueue) -> bytes:
    async with queue.iterator(no_ack=True, timeout=SOON) as messages:
        return (await anext(messages)).body


async def test_a_webhook_is_created_changed_and_deleted(registry: Registry) -> None:
    created = await registry.created(events=["company.*"])
    webhook_id = created.pop("id")

    listed = read(await registry.do(Operation.LIST))
    changed = read(
        await registry.do(Operation.CHANGE, webhook_id=webhook_id, body=b'{"description": "x"}')
    )
    rotated = read(await registry.do(Operation.ROTATE_SECRET, webhook_id=webhook_id))
    deliveries = read(await registry.do(Operation.DELIVERIES, webhook_id=webhook_id))
    gone = await registry.do(Operation.DELETE, webhook_id=webhook_id)

    assert [webhook["id"] for webhook in listed["webhooks"]] == [webhook_id]
    assert (changed["description"], changed["events"]) == ("x", ["company.*"])
    assert len(base64.b64decode(rotated["secret"].removeprefix("whsec_"))) == 32
    assert deliveries == {"deliveries": [], "cursor": None}
    assert gone.status == 204
    assert await registry.refused(Operation.GET, webhook_id=webhook_id) == "webhook_not_found"


async def test_a_test_event_is_published_for_its_webhook(
    registry: Registry, events: AbstractQueue
) -> None:
    webhook_id = (await registry.created())["id"]

    await registry.do(Operation.TEST, webhook_id=webhook_id)

    event, public = decode_addressed(await next_of(events))
    assert (event.webhook_id, event.type) == (webhook_id, EventType.WEBHOOK_TEST)
    assert webhook_id.encode() not in public
    assert orjson.loads(public)["data"] == {}


async def test_a_test_without_a_queue_fails_as_unavailable(registry: Registry) -> None:
    webhook_id = (await registry.created())["id"]

    code = await registry.refused(Operation.TEST, webhook_id=webhook_id)

    assert code is FailureCode.UNAVAILABLE


async def test_another_process_completes_an_abandoned_recovery(
    settings: Settings, webhooks_db: Database
) -> None:
    rows = webhooks_db["deliveries"]
    cancelled = {"generation": 0, "cancelled": CancelReason.WEBHOOK_DISABLED, "occurred_at": NOW}
    await Deliveries(webhooks_db, DeliveryTimes(lease=timedelta(seconds=30))).insert(
        [a_new_delivery(number, **cancelled) for number in range(20)], at=NOW
    )
    left = Recovery(UUID(int=1), WEBHOOK, 1, NOW - timedelta(days=1), NOW)
    await Recoveries(webhooks_db).keep(left)

    async with AsyncExitStack() as stack:
        await build(settings, stack, Health())
        await eventually(
            lambda: rows.count_documents({"state": "waiting", "generation": 1}),
            lambda count: count == 20,
        )


async def test_logs_queues_metrics_and_database_contain_no_secret(
    registry: Registry,
    mongo_admin: pymongo.MongoClient[dict[str, Any]],
    events: AbstractQueue,
    capsys: pytest.CaptureFixture[str],
) -> None:
    created = await registry.do(Operation.CREATE, body=a_draft(), idempotency_key="k")
    webhook_id = read(created)["id"]
    rotated = await registry.do(Operation.ROTATE_SECRET, webhook_id=webhook_id)
    await registry.do(Operation.TEST, webhook_id=webhook_id)
    await registry.refused(Operation.CREATE, body=a_draft(url=7), idempotency_key="k2")

    stored = mongo_admin[registry.settings.webhooks_db]
    documents = [one for name in stored.list_collection_names() for one in stored[name].find()]
    left = b"".join(map(bson.encode, documents)) + await next_of(events)
    left += capsys.readouterr().out.encode() + repr((created, rotated)).encode()
    for reply in (created, rotated):
        secret = read(reply)["secret"]
        assert secret.encode() not in left
        assert base64.b64decode(secret.removeprefix("whsec_")) not in left
