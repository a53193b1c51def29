"""A dispatcher over fakes, composed like the real one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from common.contracts.deliveries import DeliveryTask, DeliveryTasks
from dispatcher.deliveries.attempt import Attempt
from dispatcher.deliveries.backlogs import ThrottledWebhooks
from dispatcher.deliveries.slots import ConcurrencyLimits, Slots
from tests.fakes.dispatcher import (
    FakeDeliveryQueue,
    FakeSender,
    FakeStore,
    FakeTelemetry,
    Time,
)

DELAYS = (timedelta(minutes=1), timedelta(minutes=5))
POST_TIMEOUT = timedelta(seconds=10)


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

    async def wake(self, *tasks: DeliveryTask) -> None:
        """Handles a message; returns when its deliveries are claimed or deferred."""
        await self.throttled.handle(DeliveryTasks(tasks=tasks).model_dump_json().encode())

    async def wake_and_finish(self, *tasks: DeliveryTask) -> None:
        """Handles a message, and returns when every attempt is recorded."""
        async with self.working():
            [error] = await asyncio.gather(self.wake(*tasks), return_exceptions=True)
            await self.throttled.drain(2)
        if error is not None:
            raise error

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Runs the backlogs during the body."""
        async with self.throttled.running():
            yield


async def until(condition: Callable[[], bool]) -> None:
    """Lets the other tasks run until the condition holds."""
    async with asyncio.timeout(2):
        while not condition():  # noqa: ASYNC110 (nothing here has an event to wait for)
            await asyncio.sleep(0)
