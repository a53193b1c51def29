"""A dispatcher over MongoDB, composed like the real one, whose clock stands still.

Its sender posts nowhere and its queue records.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

from common.contracts.events import EventType, RegistryEvent, encode_event
from common.contracts.topology import DeliveryTask, DeliveryTasks
from common.contracts.webhooks import WebhookId
from common.mongo import Database
from common.runtime.tasks import running
from dispatcher.attempts import Attempt, Attempts
from dispatcher.fan_out import FanOut, FirstAttempts, NewAttempts
from dispatcher.outcomes import Post
from dispatcher.slots import ConcurrencyLimits, LimitKey, Slots
from tests.builders.deliveries import WEBHOOK, a_delivery_id, a_new_delivery, a_store, a_task
from tests.builders.webhooks import OWNER, a_registered, secret_keys
from tests.delivery.waiting import SOON
from tests.fakes.dispatcher import FakeDeliveryQueue, FakeSender, FakeTelemetry, FaultyStore, Time
from webhook_store.deliveries import DeliveryState
from webhook_store.events import StoredEvent
from webhook_store.webhooks import Registrations

DELAYS = tuple(timedelta(minutes=each) for each in (1, 5, 30))
POST_TIMEOUT = timedelta(seconds=10)
#: Of the webhook of most deliveries.
LIMIT_KEY = LimitKey(WEBHOOK, "hooks.example.com", OWNER)
#: Of which no attempt begins without a message.
NO_SLOTS = ConcurrencyLimits(posts=0)
#: Of which a webhook has one post at a time.
ONE = ConcurrencyLimits(webhook=1)
BODY = b'{"id":"event"}'


@dataclass
class Dispatching:
    """The use cases of delivery."""

    database: Database
    limits: ConcurrencyLimits = field(default_factory=ConcurrencyLimits)
    lease: timedelta = timedelta(seconds=30)
    time: Time = field(default_factory=Time)
    sender: FakeSender = field(default_factory=FakeSender)
    delivery_queue: FakeDeliveryQueue = field(default_factory=FakeDeliveryQueue)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)

    def __post_init__(self) -> None:
        self.store = a_store(self.database, FaultyStore, now=self.time.now, lease=self.lease)
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
        self.attempts = Attempts(self.attempt, slots)
        first_attempts = FirstAttempts(
            store=self.store,
            slots=slots,
            attempts=self.attempts,
            delivery_queue=self.delivery_queue,
            new=NewAttempts(1000),
        )
        self.fan_out = FanOut(self.store, first_attempts)

    @property
    def posts(self) -> Sequence[Post]:
        return self.sender.posts

    @property
    def done(self) -> int:
        """The number of deliveries that succeeded."""
        return sum(one.state is DeliveryState.SUCCEEDED for one in self.telemetry.results)

    @property
    def woken(self) -> Sequence[str]:
        return [task.delivery_id for task, _ in self.delivery_queue.enqueued]

    async def subscribe(self, *ids: WebhookId, key: str = "k1", **fields: Any) -> None:
        registrations = Registrations(self.database, secret_keys(key), Random(1))
        for webhook_id in ids:
            new = a_registered(id=webhook_id, **fields)
            await registrations.create(new, call_id=uuid4(), limit=50)

    async def keep(self, *numbers: int, **fields: Any) -> None:
        """Stores deliveries that wait, with their events."""
        new = [a_new_delivery(number, **fields) for number in numbers]
        kind = EventType.COMPANY_UPDATED
        events = [StoredEvent(one.event_id, kind, None, BODY) for one in new]
        await self.store.events.store(events, at=self.time.now())
        await self.store.insert(new)

    async def happens(self, event: RegistryEvent) -> None:
        await self.fan_out(encode_event(event))

    async def stored(self, collection: str) -> dict[str, dict[str, Any]]:
        return {one["_id"]: one async for one in self.database[collection].find()}

    async def row(self, number: int = 1) -> dict[str, Any]:
        return (await self.stored("deliveries"))[a_delivery_id(number)]

    async def change_row(self, number: int = 1, **fields: Any) -> None:
        row = {"_id": a_delivery_id(number)}
        await self.database["deliveries"].update_one(row, {"$set": fields})

    async def change_webhook(self, **fields: Any) -> None:
        await self.database["webhooks"].update_one({"_id": WEBHOOK}, {"$set": fields})

    async def delete_webhook(self) -> None:
        await self.database["webhooks"].delete_one({"_id": WEBHOOK})

    async def wake(self, *tasks: DeliveryTask | int) -> None:
        """Handles a message; returns when its deliveries are claimed or deferred."""
        of = [a_task(task) if isinstance(task, int) else task for task in tasks or (1,)]
        await self.attempts.handle(DeliveryTasks(tasks=tuple(of)).model_dump_json().encode())

    async def wake_and_finish(self, *tasks: DeliveryTask | int) -> None:
        """Handles a message, and returns when every attempt is recorded."""
        async with self.attempts.running():
            [error] = await asyncio.gather(self.wake(*tasks), return_exceptions=True)
            await self.attempts.drain(SOON)
        if error is not None:
            raise error

    def crowd(self, *tasks: DeliveryTask | int) -> None:
        """Adds deliveries over the limit."""
        for task in tasks:
            self.attempts.add(LIMIT_KEY, a_task(task) if isinstance(task, int) else task)

    async def until_done(self, count: int) -> None:
        await until(lambda: self.done == count)

    async def until_recorded(self, count: int) -> None:
        await until(lambda: len(self.telemetry.written) == count)

    async def until_in_flight(self, count: int) -> None:
        await until(lambda: self.sender.in_flight == count)

    async def until_overtaken(self) -> None:
        """Returns when a delivery that starts now is posted: any that started before is, too.

        The store answers in the order of its calls.
        """
        last, webhook_id = 999, WebhookId("wh_last")
        await self.subscribe(webhook_id, owner="last", host="last.example", url="https://last/")
        await self.keep(last, webhook_id=webhook_id)
        await self.wake(a_task(last, webhook_id=webhook_id))
        await until(lambda: any(post.url == "https://last/" for post in self.posts))


@asynccontextmanager
async def dispatching(database: Database, **fields: Any) -> AsyncIterator[Dispatching]:
    """A dispatcher with a webhook that every event matches."""
    made = Dispatching(database, **fields)
    async with running(*made.store.batchers):
        await made.subscribe(WEBHOOK)
        yield made


async def until(condition: Callable[[], bool]) -> None:
    """Lets the other tasks run until the condition holds."""
    async with asyncio.timeout(SOON):
        while not condition():  # noqa: ASYNC110 (nothing here has an event to wait for)
            await asyncio.sleep(0.001)
