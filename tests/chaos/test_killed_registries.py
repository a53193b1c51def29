"""A killed registry leaves no partial work behind."""

import asyncio
from itertools import count
from typing import Any

import orjson
import pytest

from common.contracts.webhook_api import Operation
from tests.builders.webhooks import a_draft, secret_keys
from tests.delivery.asking import Asking, asking, registry
from tests.delivery.pipeline import Pipeline
from tests.delivery.waiting import eventually
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
