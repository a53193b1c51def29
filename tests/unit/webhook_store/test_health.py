"""Reading the health of many webhooks at once."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from common.contracts.webhooks import WebhookId
from common.mongo import Database
from webhook_store.delivery_documents import ATTEMPTS
from webhook_store.health import MAX_AT_ONCE, Health

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@dataclass
class Attempts:
    """No attempts, and the highest number of queries at once."""

    running: int = 0
    most: int = 0

    async def find_one(self, *_: Any, **__: Any) -> None:
        await self._query()

    async def count_documents(self, *_: Any, **__: Any) -> int:
        await self._query()
        return 0

    async def _query(self) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1


async def test_a_long_list_leaves_connections_to_other_operations() -> None:
    attempts = Attempts()
    health = Health(cast(Database, {ATTEMPTS: attempts}))
    webhooks = [WebhookId(f"wh_{number}") for number in range(500)]

    found, _ = await asyncio.gather(health.of(webhooks, at=NOON), health.of(webhooks[:50], at=NOON))

    assert list(found) == webhooks
    assert attempts.most == 4 * MAX_AT_ONCE
