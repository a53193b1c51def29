"""Webhooks with more due deliveries than slots: each has a lane that works them off in turn.

What is over a cap is acked and stays in its row, so a slow receiver holds no messages. Its lane
takes the webhook's next due rows as slots become free, first attempts before retries.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from common.contracts.outage import Outage
from common.contracts.webhooks import WebhookId
from dispatcher.domain.caps import Place
from dispatcher.ports import Journal, Left, Rows, Webhooks
from dispatcher.usecases.attempt import Attempt
from dispatcher.usecases.slots import Slots
from webhook_store.delivery_models import Claimed

#: Rows claimed at a time: twice what can be in flight, so that a slot need not wait for a claim.
CLAIMED_AT_ONCE = 8


class Lanes:
    """The lanes of one process; they work while `running` is entered."""

    def __init__(
        self, *, webhooks: Webhooks, rows: Rows, attempt: Attempt, slots: Slots, journal: Journal
    ) -> None:
        self._webhooks = webhooks
        self._rows = rows
        self._attempt = attempt
        self._slots = slots
        self._journal = journal
        self._group: asyncio.TaskGroup | None = None
        self._lanes: dict[WebhookId, asyncio.Task[None]] = {}
        #: Webhooks that may have due deliveries besides those already taken.
        self._more: dict[WebhookId, Place] = {}
        self._attempts: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """Webhooks with due deliveries that wait for a slot."""
        return len(self._lanes)

    def more(self, place: Place) -> None:
        """Notes that a webhook has due deliveries for which there is no slot now."""
        self._more[place.webhook_id] = place
        if place.webhook_id not in self._lanes and self._group is not None:
            lane = self._group.create_task(self._work_off(place.webhook_id))
            self._lanes[place.webhook_id] = lane

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Works while the body runs; call `finish` before leaving, or posts are cut off."""
        async with asyncio.TaskGroup() as self._group:
            try:
                yield
            finally:
                await self.finish(0)

    async def finish(self, limit: float) -> None:
        """Takes no more, and lets posts in flight end, at most `limit` seconds."""
        self._group = None
        for lane in self._lanes.values():
            lane.cancel()
        if self._attempts:
            await asyncio.wait(self._attempts, timeout=limit)
        for attempt in self._attempts:
            attempt.cancel()

    async def _work_off(self, webhook_id: WebhookId) -> None:
        try:
            while (place := self._more.pop(webhook_id, None)) is not None:
                if await self._take_next(place):
                    self._more.setdefault(webhook_id, place)
        finally:
            del self._lanes[webhook_id]

    async def _take_next(self, place: Place) -> bool:
        """Whether there was anything to take."""
        await self._slots.wait(place)
        claimed = await self._rows.claim_next(place.webhook_id, limit=CLAIMED_AT_ONCE)
        if not claimed:
            self._slots.free(place)
            return False
        first, *others = claimed
        self._start(self._attempt_one(place, first))
        for delivery in others:
            await self._slots.wait(place)
            self._start(self._attempt_one(place, delivery))
        return True

    def _start(self, attempt: Coroutine[Any, Any, None]) -> None:
        if self._group is None:  # stopping; the row is woken again when its lease is over
            attempt.close()
            return
        task = self._group.create_task(attempt)
        self._attempts.add(task)
        task.add_done_callback(self._attempts.discard)

    async def _attempt_one(self, place: Place, delivery: Claimed) -> None:
        try:
            await self._attempt(await self._webhooks.sendable(place.webhook_id), delivery)
        except Outage as outage:
            self._journal.left(delivery.id, Left.OUTAGE, str(outage))
        except Exception:  # noqa: BLE001 (lanes outlive any delivery; the journal has the error)
            self._journal.failed(delivery)
        finally:
            self._slots.free(place)
