"""A dispatcher over fakes, composed like the real one."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from common.contracts.deliveries import DeliveryTask, DeliveryTasks
from dispatcher.attempts import Attempt, ThrottledWebhooks
from dispatcher.outcomes import Post
from dispatcher.slots import ConcurrencyLimits, LimitKey, Slots
from tests.builders.deliveries import WEBHOOK, a_delivery_id, a_new_delivery, a_task
from tests.delivery.waiting import SOON
from tests.fakes.dispatcher import (
    FakeDeliveryQueue,
    FakeRow,
    FakeSender,
    FakeStore,
    FakeTelemetry,
    Time,
)
from webhook_store.deliveries import DeliveryState
from webhook_store.recording import AttemptResult

DELAYS = (timedelta(minutes=1), timedelta(minutes=5))
POST_TIMEOUT = timedelta(seconds=10)
#: Of the webhook of most deliveries here.
LIMIT_KEY = LimitKey(WEBHOOK, "hooks.example.com", "prøvefirma")


@dataclass
class Dispatching:
    """Use cases of delivery over fakes."""

    limits: ConcurrencyLimits = field(default_factory=ConcurrencyLimits)
    time: Time = field(default_factory=Time)
    sender: FakeSender = field(default_factory=FakeSender)
    delivery_queue: FakeDeliveryQueue = field(default_factory=FakeDeliveryQueue)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)

    def __post_init__(self) -> None:
        self.store = FakeStore(self.time)
        self.attempt = Attempt(
            store=self.store,
            sender=self.sender,
            delivery_queue=self.delivery_queue,
            telemetry=self.telemetry,
            delays=DELAYS,
            post_timeout=POST_TIMEOUT,
            now=self.time.now,
        )
        slots = Slots(self.limits, post_timeout=POST_TIMEOUT)
        self.throttled = ThrottledWebhooks(self.attempt, slots)

    @property
    def posts(self) -> Sequence[Post]:
        return self.sender.posts

    @property
    def done(self) -> int:
        """The number of deliveries that succeeded."""
        return sum(row.state is DeliveryState.SUCCEEDED for row in self.store.rows.values())

    def row(self, number: int = 1) -> FakeRow:
        return self.store.rows[a_delivery_id(number)]

    def attempted(self, number: int = 0) -> AttemptResult:
        result = self.store.results[number]
        assert isinstance(result, AttemptResult)
        return result

    def keep(self, *numbers: int, **fields: Any) -> None:
        """Stores deliveries that wait."""
        self.store.keep(*(a_new_delivery(number, **fields) for number in numbers))

    async def wake(self, *tasks: DeliveryTask | int) -> None:
        """Handles a message; returns when its deliveries are claimed or deferred."""
        of = [a_task(task) if isinstance(task, int) else task for task in tasks or (1,)]
        await self.throttled.handle(DeliveryTasks(tasks=tuple(of)).model_dump_json().encode())

    async def wake_and_finish(self, *tasks: DeliveryTask | int) -> None:
        """Handles a message, and returns when every attempt is recorded."""
        async with self.throttled.running():
            [error] = await asyncio.gather(self.wake(*tasks), return_exceptions=True)
            await self.throttled.drain(SOON)
        if error is not None:
            raise error

    def crowd(self, *tasks: DeliveryTask | int) -> None:
        """Adds deliveries over the limit."""
        for task in tasks:
            self.throttled.add(LIMIT_KEY, a_task(task) if isinstance(task, int) else task)

    def working(self) -> AbstractAsyncContextManager[None]:
        """Runs the backlogs during the body."""
        return self.throttled.running()

    async def until_done(self, count: int) -> None:
        await until(lambda: self.done == count)

    async def until_in_flight(self, count: int) -> None:
        await until(lambda: self.sender.in_flight == count)


async def until(condition: Callable[[], bool]) -> None:
    """Lets the other tasks run until the condition holds."""
    async with asyncio.timeout(SOON):
        while not condition():  # noqa: ASYNC110 (nothing here has an event to wait for)
            await asyncio.sleep(0)
