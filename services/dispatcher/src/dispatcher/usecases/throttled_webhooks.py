"""Posts in flight, and webhooks with more due deliveries than slots: each has a lane for them.

A delivery over a cap is acked and stays in its row, so a slow receiver holds no messages. The lane
claims the webhook's due rows one by one as slots become free, first attempts before retries: those
whose wake-ups it remembers, and when these were too many, the next in the store.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from common.contracts.deliveries import DeliveryTask
from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId
from dispatcher.domain.concurrency import LimitKey
from dispatcher.ports import DeferReason, Rows, Telemetry, Webhooks
from dispatcher.usecases.attempt import Attempt, Posted
from dispatcher.usecases.slots import Slots
from webhook_store.delivery_models import Claimed
from webhook_store.models import Sendable

#: Wake-ups that a lane remembers; of what is beyond it knows only that there is more.
REMEMBERED = 64
#: Posts that are being recorded and have given their slots back. While there are so many the
#: database is slow, and further posts keep their slots until it has caught up.
RECORDING = 200


@dataclass(slots=True)
class _Backlog:
    """What a webhook has due besides the deliveries that already have their slots."""

    limit_key: LimitKey
    first_attempts: deque[DeliveryTask] = field(default_factory=deque)
    retries: deque[DeliveryTask] = field(default_factory=deque)
    #: Whether the store may have first attempts that are not remembered here.
    more: bool = False
    #: Whether the store had more than was remembered of it, all of it to come later.
    rest: bool = False

    def __bool__(self) -> bool:
        return bool(self.first_attempts or self.more or self.retries or self.rest)

    def remember(self, task: DeliveryTask) -> None:
        if len(self.first_attempts) + len(self.retries) >= REMEMBERED:
            self.more = True
        elif task.attempt == 1:
            self.first_attempts.append(task)
        else:
            self.retries.append(task)


class ThrottledWebhooks:
    """The lanes of one process; they work while `running` is entered."""

    def __init__(
        self,
        *,
        webhooks: Webhooks,
        rows: Rows,
        attempt: Attempt,
        slots: Slots,
        telemetry: Telemetry,
    ) -> None:
        self._webhooks = webhooks
        self._rows = rows
        self._attempt = attempt
        self._slots = slots
        self._telemetry = telemetry
        self._group: asyncio.TaskGroup | None = None
        self._backlogs: dict[WebhookId, _Backlog] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._attempts: set[asyncio.Task[None]] = set()
        self._recording = asyncio.Semaphore(RECORDING)

    @property
    def count(self) -> int:
        """Webhooks with due deliveries that wait for a slot."""
        return len(self._backlogs)

    def rescan(self, webhook_id: WebhookId) -> bool:
        """Has the webhook's lane look into the store; False if the webhook has none."""
        backlog = self._backlogs.get(webhook_id)
        if backlog is not None:
            backlog.more = True
        return backlog is not None

    def add(self, limit_key: LimitKey, task: DeliveryTask) -> None:
        """Takes over a due delivery for which there is no slot now."""
        backlog = self._backlog(limit_key)
        if backlog is not None:
            backlog.remember(task)

    def scan(self, limit_key: LimitKey) -> None:
        """Has the store looked into: there are due deliveries for which no wake-up comes."""
        backlog = self._backlog(limit_key)
        if backlog is not None:
            backlog.more = True

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Works while the body runs; call `finish` before leaving, or posts are cut off."""
        async with asyncio.TaskGroup() as self._group:
            try:
                yield
            finally:
                await self.drain(0)

    async def drain(self, limit: float) -> None:
        """Takes no more, and lets posts in flight end, at most `limit` seconds."""
        self._group = None
        for backlog in self._tasks:
            backlog.cancel()
        if self._attempts:
            await asyncio.wait(self._attempts, timeout=limit)
        for attempt in self._attempts:
            attempt.cancel()

    def _backlog(self, limit_key: LimitKey) -> _Backlog | None:
        """The webhook's, which begins its work after this turn of the loop; None while stopping."""
        backlog = self._backlogs.get(limit_key.webhook_id)
        if backlog is not None:
            backlog.limit_key = limit_key
        elif self._group is not None:
            backlog = self._backlogs[limit_key.webhook_id] = _Backlog(limit_key)
            working = self._group.create_task(self._work_off(backlog))
            self._tasks.add(working)
            working.add_done_callback(self._tasks.discard)
        return backlog

    async def _work_off(self, backlog: _Backlog) -> None:
        try:
            while self._group is not None and backlog:
                if backlog.first_attempts:
                    await self._start_attempt(backlog, backlog.first_attempts.popleft())
                elif backlog.retries and not backlog.more:
                    await self._start_attempt(backlog, backlog.retries.popleft())
                else:
                    await self._read_store(backlog)
        except Exception:  # noqa: BLE001 (other lanes go on; the sweeper finds what waits here)
            self._telemetry.backlog_failed(backlog.limit_key.webhook_id)
        finally:
            del self._backlogs[backlog.limit_key.webhook_id]

    async def _start_attempt(self, backlog: _Backlog, task: DeliveryTask) -> None:
        limit_key = backlog.limit_key
        await self._slots.wait(limit_key)
        self._run(self._claim_and_attempt(limit_key, task))

    async def _read_store(self, backlog: _Backlog) -> None:
        # What is remembered is in the store as well. Nothing is claimed before it has its slot:
        # a lease that runs while its delivery waits would be over before the post.
        backlog.more = False
        due = await self._rows.due(backlog.limit_key.webhook_id, limit=REMEMBERED)
        backlog.first_attempts.clear()
        backlog.retries.clear()
        for task in due:
            backlog.remember(task)
        backlog.rest = len(due) == REMEMBERED

    def start(self, limit_key: LimitKey, webhook: Sendable, delivery: Claimed) -> None:
        """Attempts a claimed delivery in the slot that was taken for it, and gives that back."""
        self._run(self._attempt_in_slot(limit_key, webhook, delivery))

    def _run(self, attempt: Coroutine[Any, Any, None]) -> None:
        if self._group is None:  # stopping; the row is woken again when its lease is over
            attempt.close()
            return
        task = self._group.create_task(attempt)
        self._attempts.add(task)
        task.add_done_callback(self._attempts.discard)

    async def _claim_and_attempt(self, limit_key: LimitKey, task: DeliveryTask) -> None:
        webhook, delivery = None, None
        try:
            webhook, delivery = await asyncio.gather(
                self._webhooks.sendable(task.webhook_id), self._rows.claim(task)
            )
        except Unavailable as outage:
            self._telemetry.deferred(task.delivery_id, DeferReason.OUTAGE, str(outage))
        except Exception:  # noqa: BLE001 (lanes outlive any delivery; the telemetry has the error)
            self._telemetry.failed(task.delivery_id, task.webhook_id)
        if delivery is None:
            self._slots.release(limit_key)
        else:
            await self._attempt_in_slot(limit_key, webhook, delivery)

    async def _attempt_in_slot(
        self, limit_key: LimitKey, webhook: Sendable | None, delivery: Claimed
    ) -> None:
        try:
            posted = await self._post_in_slot(limit_key, webhook, delivery)
            if posted is not None:
                await self._record(posted)
        except Unavailable as outage:
            self._telemetry.deferred(delivery.id, DeferReason.OUTAGE, str(outage))
        except Exception:  # noqa: BLE001 (lanes outlive any delivery; the telemetry has the error)
            self._telemetry.failed(delivery.id, delivery.webhook_id)

    async def _post_in_slot(
        self, limit_key: LimitKey, webhook: Sendable | None, delivery: Claimed
    ) -> Posted | None:
        """Gives the slot back before the post is recorded, and holds a limit_key to record it.

        A slot kept until then would let a receiver have no more than the database can write.
        """
        posted = None
        try:
            posted = await self._attempt.post(webhook, delivery)
            if posted is not None:
                await self._recording.acquire()
        finally:
            if posted is not None and posted.timed_out:
                self._slots.release_after_timeout(limit_key)
            else:
                self._slots.release(limit_key)
        return posted

    async def _record(self, posted: Posted) -> None:
        try:
            await self._attempt.record(posted)
        finally:
            self._recording.release()
