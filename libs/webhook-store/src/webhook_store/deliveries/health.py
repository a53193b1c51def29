"""Health of webhooks, from their stored attempts."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pymongo import ASCENDING, DESCENDING

from common.contracts.webhooks import AttemptCounts, AttemptStatus, WebhookHealth, WebhookId
from common.mongo import Database, translated_errors
from webhook_store.deliveries.documents import ATTEMPTS, Document

_SUCCEEDED, _FAILED = AttemptStatus.SUCCEEDED.value, AttemptStatus.FAILED.value

#: Maximum attempts counted.
MAX_COUNTED, MAX_CONSECUTIVE = 10_000, 1000
_DAY = timedelta(days=1)
#: Webhooks read at once, four queries each, of the driver's hundred connections: a list of many
#: webhooks leaves connections to other operations.
MAX_AT_ONCE = 16
#: Webhooks whose health is kept for reads that may be given an earlier one.
MAX_KEPT = 10_000


class Health:
    """Reads the health of webhooks; raises `Unavailable`."""

    def __init__(self, database: Database) -> None:
        self._attempts = database[ATTEMPTS]
        self._turns = asyncio.Semaphore(MAX_AT_ONCE)
        #: The last reads with their times, the latest last.
        self._kept: dict[WebhookId, tuple[datetime, WebhookHealth]] = {}

    async def of(
        self, webhooks: Sequence[WebhookId], *, at: datetime, max_age: timedelta = timedelta()
    ) -> Mapping[WebhookId, WebhookHealth]:
        """Returns the health of webhooks at `at`, or as read up to `max_age` earlier."""
        with translated_errors():
            found = await asyncio.gather(
                *(self._in_turn(webhook, at, max_age) for webhook in webhooks)
            )
        return dict(zip(webhooks, found, strict=True))

    async def _in_turn(
        self, webhook_id: WebhookId, at: datetime, max_age: timedelta
    ) -> WebhookHealth:
        async with self._turns:
            # Checked here, within the turn: concurrent lists reuse what the first of them has read.
            kept = self._kept.get(webhook_id)
            if max_age and kept is not None and at - kept[0] < max_age:
                return kept[1]
            health = await self._of(webhook_id, at)
        self._kept.pop(webhook_id, None)
        self._kept[webhook_id] = at, health
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return health

    async def _of(self, webhook_id: WebhookId, at: datetime) -> WebhookHealth:
        of_webhook = {"webhook_id": webhook_id}
        recent = {**of_webhook, "attempted_at": {"$gte": at - _DAY}}
        success, failure, succeeded, failed = await asyncio.gather(
            self._edge({**of_webhook, "status": _SUCCEEDED}, DESCENDING),
            self._edge({**of_webhook, "status": _FAILED}, DESCENDING),
            self._count({**recent, "status": _SUCCEEDED}, MAX_COUNTED),
            self._count({**recent, "status": _FAILED}, MAX_COUNTED),
        )
        since: Document = {} if success is None else {"attempted_at": {"$gt": success}}
        failing = {**of_webhook, "status": _FAILED, **since}
        is_failing = failure is not None and (success is None or failure > success)
        return WebhookHealth(
            last_success_at=success,
            last_failure_at=failure,
            consecutive_failures=(await self._count(failing, MAX_CONSECUTIVE) if is_failing else 0),
            failing_since=await self._edge(failing, ASCENDING) if is_failing else None,
            last_24h=AttemptCounts(succeeded=succeeded, failed=failed),
        )

    async def _edge(self, query: Document, order: int) -> datetime | None:
        """Returns the time of the first or last attempt."""
        found = await self._attempts.find_one(
            query, {"_id": 0, "attempted_at": 1}, sort=[("attempted_at", order)]
        )
        return None if found is None else found["attempted_at"]

    async def _count(self, query: Document, limit: int) -> int:
        return await self._attempts.count_documents(query, limit=limit)
