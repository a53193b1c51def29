"""Reading the health of many webhooks at once."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from common.contracts.webhooks import WebhookId
from common.mongo import Database
from webhook_store.collections import ATTEMPTS, DELIVERIES
from webhook_store.owned import MAX_AT_ONCE, Health

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@dataclass
class Attempts:
    """No attempts; the number of queries, and the highest number at once."""

    queries: int = 0
    running: int = 0
    most: int = 0

    async def find_one(self, *_: Any, **__: Any) -> None:
        await self._query()

    async def count_documents(self, *_: Any, **__: Any) -> int:
        await self._query()
        return 0

    async def _query(self) -> None:
        self.queries += 1
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1


async def test_a_long_list_leaves_connections_to_other_operations() -> None:
    attempts = Attempts()
    health = Health(cast(Database, {ATTEMPTS: attempts, DELIVERIES: attempts}))
    webhooks = [WebhookId(f"wh_{number}") for number in range(500)]

    found, _ = await asyncio.gather(health.of(webhooks, at=NOON), health.of(webhooks[:50], at=NOON))

    assert list(found) == webhooks
    assert attempts.most == 4 * MAX_AT_ONCE


async def test_a_list_is_read_again_after_its_greatest_age() -> None:
    attempts = Attempts()
    health = Health(cast(Database, {ATTEMPTS: attempts, DELIVERIES: attempts}))
    webhooks = [WebhookId(f"wh_{number}") for number in range(50)]
    seconds = [0, 1, 4, 5, 6]

    counts = []
    for second in seconds:
        at = NOON + timedelta(seconds=second)
        await health.of(webhooks, at=at, max_age=timedelta(seconds=5))
        counts.append(attempts.queries)

    assert counts == [200, 200, 200, 400, 400]


async def test_a_webhook_that_is_read_alone_is_read_as_it_is_now() -> None:
    attempts = Attempts()
    health = Health(cast(Database, {ATTEMPTS: attempts, DELIVERIES: attempts}))
    webhook = WebhookId("wh_1")

    await health.of([webhook], at=NOON, max_age=timedelta(seconds=5))
    await health.of([webhook], at=NOON)

    assert attempts.queries == 8


async def test_of_lists_that_are_read_at_once_the_first_reads_for_the_others() -> None:
    attempts = Attempts()
    health = Health(cast(Database, {ATTEMPTS: attempts, DELIVERIES: attempts}))
    webhooks = [WebhookId(f"wh_{number}") for number in range(50)]

    await asyncio.gather(
        *(health.of(webhooks, at=NOON, max_age=timedelta(seconds=5)) for _ in range(20))
    )

    assert attempts.queries <= 4 * (50 + MAX_AT_ONCE)
