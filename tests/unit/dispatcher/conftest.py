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
from dispatcher.queues.consumers import Deliver
from tests.fakes.dispatcher import (
    FakeDeliveryQueue,
    FakeEvents,
    FakeNotices,
    FakeRows,
    FakeSender,
    FakeTelemetry,
    FakeWebhooks,
    Time,
    retry,
)
from webhook_store.deliveries.models import NewDelivery

DELAYS = (timedelta(minutes=1), timedelta(minutes=5))
POST_TIMEOUT = timedelta(seconds=10)


@dataclass
class Dispatching:
    """Use cases of delivery over fakes."""

    limits: ConcurrencyLimits = field(default_factory=ConcurrencyLimits)
    time: Time = field(default_factory=Time)
    webhooks: FakeWebhooks = field(default_factory=FakeWebhooks)
    events: FakeEvents = field(default_factory=FakeEvents)
    sender: FakeSender = field(default_factory=FakeSender)
    delivery_queue: FakeDeliveryQueue = field(default_factory=FakeDeliveryQueue)
    notices: FakeNotices = field(default_factory=FakeNotices)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)

    def __post_init__(self) -> None:
        self.rows = FakeRows(self.time)
        self.attempt = Attempt(
            webhooks=self.webhooks,
            events=self.events,
            rows=self.rows,
            sender=self.sender,
            delivery_queue=self.delivery_queue,
            notices=self.notices,
            telemetry=self.telemetry,
            delays=DELAYS,
            post_timeout=POST_TIMEOUT,
            retry=retry,
            now=self.time.now,
        )
        slots = Slots(self.limits, post_timeout=POST_TIMEOUT)
        self.throttled = ThrottledWebhooks(
            webhooks=self.webhooks,
            rows=self.rows,
            attempt=self.attempt,
            slots=slots,
            telemetry=self.telemetry,
            retry=retry,
        )
        self.deliver = Deliver(self.throttled)

    async def wake(self, *tasks: DeliveryTask) -> None:
        """Handles a message; returns when its deliveries are claimed or deferred."""
        await self.deliver(DeliveryTasks(tasks=tasks).model_dump_json().encode())

    async def wake_and_finish(self, *tasks: DeliveryTask) -> None:
        """Handles a message, and returns when every attempt is recorded."""
        async with self.working():
            [error] = await asyncio.gather(self.wake(*tasks), return_exceptions=True)
            await self.throttled.drain(2)
        if error is not None:
            raise error

    async def keep(self, *new: NewDelivery) -> None:
        await self.rows.insert(new)

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
