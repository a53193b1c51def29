"""A killed registry leaves no partial work behind."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import orjson
import pytest

from common.contracts.events import RegistryEvent, encode_event
from common.contracts.webhook_api import Operation, WebhookReply
from common.contracts.webhooks import Webhook
from tests.builders.deliveries import a_new_delivery
from tests.builders.webhooks import a_draft, secret_keys
from tests.delivery.asking import Asking, asking, registry
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.waiting import eventually
from webhook_store.deliveries import CancelReason, Deliveries, DeliveryTimes
from webhook_store.events import Events, StoredEvent
from webhook_store.secrets import sealed_of

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: Clients that create one webhook after another, and webhooks that exist when a registry is killed.
CLIENTS, AT_KILL = 40, 60


async def test_killed_during_creation_each_webhook_exists_once(
    pipe: Pipeline,
) -> None:
    stored = pipe.webhooks_db["webhooks"]
    service = await registry(pipe, "first")
    killed, numbers = asyncio.Event(), count()
    created: list[dict[str, Any]] = []

    async def create_until_killed(client: Asking) -> None:
        while not killed.is_set():
            answer = await client.until_answered(
                Operation.CREATE, body=a_draft(), idempotency_key=f"key-{next(numbers)}"
            )
            created.append(orjson.loads(answer.body))

    # Every client has a request in flight when the registry dies.
    async with asking(pipe) as client, asyncio.TaskGroup() as clients:
        for _ in range(CLIENTS):
            clients.create_task(create_until_killed(client))
        await eventually(lambda: stored.count_documents({}), lambda made: made >= AT_KILL)
        service.process.kill()
        killed.set()
        await registry(pipe, "second")

    webhooks = {one["_id"]: one async for one in stored.find()}
    assert len(webhooks) == len({one["slot"] for one in webhooks.values()}) == next(numbers)
    assert sorted(one["id"] for one in created) == sorted(webhooks)
    opening = secret_keys("k1")
    for one in created:
        sealed = sealed_of(webhooks[one["id"]]["secrets"]["newest"])
        secret = opening.unseal(sealed, one["id"]).get_secret_value()
        # Of a call that died the answer is lost, and a repeat never shows the secret.
        assert one.get("secret") in (None, secret)


async def test_killed_during_a_recovery_each_delivery_is_resent_once(
    pipe: Pipeline,
) -> None:
    webhook = await pipe.webhook("/a")
    event = an_event()
    ids = await cancelled_rows(pipe, webhook, event, count=500)
    first = await registry(pipe, "first")
    rows = pipe.webhooks_db["deliveries"]
    since = datetime.now(UTC) - timedelta(days=1)
    body = orjson.dumps({"since": since})
    async with asking(pipe) as client, await rows.watch() as changes:

        def recover() -> Coroutine[Any, Any, WebhookReply]:
            return client.until_answered(
                Operation.RECOVER, owner=webhook.owner, webhook_id=webhook.id, body=body
            )

        recovering = asyncio.create_task(recover())
        await changes.next()
        first.process.kill()
        await registry(pipe, "second")
        await recovering
        await eventually(
            lambda: rows.count_documents({"state": "cancelled"}), lambda count: count == 0
        )
        again = await recover()
    # The requeue job has no part in it.
    await pipe.dispatcher(webhook_requeue_grace="PT1H", webhook_requeue_interval="PT1H")

    assert orjson.loads(again.body) == {"count": 0}
    await pipe.receiver.until_count(len(ids))
    delivered = Counter(one.delivery_id for one in pipe.receiver.received)
    assert delivered == Counter(ids)


async def cancelled_rows(
    pipe: Pipeline, webhook: Webhook, event: RegistryEvent, *, count: int
) -> list[str]:
    """Deliveries that were cancelled while the webhook was disabled; gives their ids."""
    now = datetime.now(UTC)
    stored = StoredEvent(event.id, event.type, None, encode_event(event))
    times = DeliveryTimes(lease=timedelta(seconds=30))
    await Events(pipe.webhooks_db, times).store([stored], at=now)
    new = [
        a_new_delivery(
            number,
            webhook_id=webhook.id,
            event_id=event.id,
            occurred_at=now,
            cancelled=CancelReason.WEBHOOK_DISABLED,
        )
        for number in range(count)
    ]
    rows = Deliveries(pipe.webhooks_db, times)
    await rows.insert(new, at=now)
    return [one.id for one in new]
