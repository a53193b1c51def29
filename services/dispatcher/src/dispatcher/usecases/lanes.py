"""Webhooks with more due deliveries than slots: each has a lane that works them off in turn.

What is over a cap is acked and stays in its row, so a slow receiver holds no messages. Its lane
takes the webhook's next due rows as slots become free, first attempts before retries: those that
it was told of, and when these were too many to remember, whichever are next in the store.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from common.contracts.deliveries import DeliveryTask
from common.contracts.outage import Outage
from common.contracts.webhooks import WebhookId
from dispatcher.domain.caps import Place
from dispatcher.domain.portion import FIRST, next_portion
from dispatcher.ports import Journal, Left, Rows, Webhooks
from dispatcher.usecases.attempt import Attempt, Clock
from dispatcher.usecases.slots import Slots
from webhook_store.delivery_models import Claimed

#: Wake-ups that a lane remembers; of what is beyond it knows only that there is more.
REMEMBERED = 64


@dataclass(slots=True)
class _Lane:
    """What a webhook has due besides the deliveries that already have their slots."""

    place: Place
    first_attempts: deque[DeliveryTask] = field(default_factory=deque)
    retries: deque[DeliveryTask] = field(default_factory=deque)
    #: Whether there may be more in the store than is remembered here.
    more: bool = False
    portion: int = FIRST

    def remember(self, task: DeliveryTask) -> None:
        if len(self.first_attempts) + len(self.retries) >= REMEMBERED:
            self.more = True
        elif task.attempt == 1:
            self.first_attempts.append(task)
        else:
            self.retries.append(task)


class Lanes:
    """The lanes of one process; they work while `running` is entered."""

    def __init__(  # noqa: PLR0913 (each is a collaborator)
        self,
        *,
        webhooks: Webhooks,
        rows: Rows,
        attempt: Attempt,
        slots: Slots,
        journal: Journal,
        now: Clock,
    ) -> None:
        self._webhooks = webhooks
        self._rows = rows
        self._attempt = attempt
        self._slots = slots
        self._journal = journal
        self._now = now
        self._group: asyncio.TaskGroup | None = None
        self._lanes: dict[WebhookId, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._attempts: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """Webhooks with due deliveries that wait for a slot."""
        return len(self._lanes)

    def has(self, webhook_id: WebhookId) -> bool:
        """Whether the webhook is one of them."""
        return webhook_id in self._lanes

    def add(self, place: Place, task: DeliveryTask) -> None:
        """Takes over a due delivery for which there is no slot now."""
        lane = self._lane(place)
        if lane is not None:
            lane.remember(task)

    def look(self, place: Place) -> None:
        """Has the store looked into: there are due deliveries for which no wake-up comes."""
        lane = self._lane(place)
        if lane is not None:
            lane.more = True

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
        for lane in self._tasks:
            lane.cancel()
        if self._attempts:
            await asyncio.wait(self._attempts, timeout=limit)
        for attempt in self._attempts:
            attempt.cancel()

    def _lane(self, place: Place) -> _Lane | None:
        """The webhook's, which begins its work after this turn of the loop; None while stopping."""
        lane = self._lanes.get(place.webhook_id)
        if lane is not None:
            lane.place = place
        elif self._group is not None:
            lane = self._lanes[place.webhook_id] = _Lane(place)
            working = self._group.create_task(self._work_off(lane))
            self._tasks.add(working)
            working.add_done_callback(self._tasks.discard)
        return lane

    async def _work_off(self, lane: _Lane) -> None:
        try:
            while self._group is not None and (lane.first_attempts or lane.more or lane.retries):
                if lane.first_attempts:
                    await self._take(lane, lane.first_attempts.popleft())
                elif lane.more:
                    await self._take_from_store(lane)
                else:
                    await self._take(lane, lane.retries.popleft())
        except Exception:  # noqa: BLE001 (other lanes go on; the sweeper finds what waits here)
            self._journal.lane_failed(lane.place.webhook_id)
        finally:
            del self._lanes[lane.place.webhook_id]

    async def _take(self, lane: _Lane, task: DeliveryTask) -> None:
        place = lane.place
        await self._slots.wait(place)
        self._start(self._claim_and_attempt(place, task))

    async def _take_from_store(self, lane: _Lane) -> None:
        place, began = lane.place, self._now()
        await self._slots.wait(place)
        lane.more = False
        claimed: Sequence[Claimed] = ()
        try:
            claimed = await self._rows.claim_next(place.webhook_id, limit=lane.portion)
        finally:
            if not claimed:
                self._slots.free(place)
        if not claimed:
            return
        lane.more = True
        first, *others = claimed
        self._start(self._attempt_claimed(place, first))
        for delivery in others:
            await self._slots.wait(place)
            self._start(self._attempt_claimed(place, delivery))
        if len(claimed) == lane.portion:
            lane.portion = next_portion(lane.portion, self._now() - began)

    def _start(self, attempt: Coroutine[Any, Any, None]) -> None:
        if self._group is None:  # stopping; the row is woken again when its lease is over
            attempt.close()
            return
        task = self._group.create_task(attempt)
        self._attempts.add(task)
        task.add_done_callback(self._attempts.discard)

    async def _claim_and_attempt(self, place: Place, task: DeliveryTask) -> None:
        delivery = None
        try:
            delivery = await self._rows.claim(task)
        except Outage as outage:
            self._journal.left(task.delivery_id, Left.OUTAGE, str(outage))
        except Exception:  # noqa: BLE001 (lanes outlive any delivery; the journal has the error)
            self._journal.failed(task.delivery_id, task.webhook_id)
        if delivery is None:
            self._slots.free(place)
        else:
            await self._attempt_claimed(place, delivery)

    async def _attempt_claimed(self, place: Place, delivery: Claimed) -> None:
        try:
            await self._attempt(await self._webhooks.sendable(place.webhook_id), delivery)
        except Outage as outage:
            self._journal.left(delivery.id, Left.OUTAGE, str(outage))
        except Exception:  # noqa: BLE001 (lanes outlive any delivery; the journal has the error)
            self._journal.failed(delivery.id, delivery.webhook_id)
        finally:
            self._slots.free(place)
