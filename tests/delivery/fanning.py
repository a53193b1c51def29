"""Fan-out over MongoDB: its queue records, and its sender posts nowhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

from common.contracts.events import RegistryEvent, encode_event
from common.contracts.webhooks import WebhookId
from common.mongo import Database
from dispatcher.attempts import Attempt, ThrottledWebhooks
from dispatcher.fan_out import FanOut, FirstAttempts, NewAttempts
from dispatcher.slots import ConcurrencyLimits, Slots
from dispatcher.store import Store
from tests.builders.webhooks import NOON, a_registered, secret_keys
from tests.fakes.dispatcher import FakeDeliveryQueue, FakeSender, FakeTelemetry
from webhook_store.webhooks import Registrations

#: Of which no first attempt begins without a message.
NO_SLOTS = ConcurrencyLimits(posts=0)
_POST_TIMEOUT = timedelta(seconds=10)


@dataclass
class Fanning:
    """The use case over MongoDB, a queue that records, and posts that succeed."""

    database: Database
    store: Store
    delivery_queue: FakeDeliveryQueue = field(default_factory=FakeDeliveryQueue)
    limits: ConcurrencyLimits = NO_SLOTS
    sender: FakeSender = field(default_factory=FakeSender)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)

    def __post_init__(self) -> None:
        attempt = Attempt(
            store=self.store,
            sender=self.sender,
            delivery_queue=self.delivery_queue,
            telemetry=self.telemetry,
            delays=(timedelta(minutes=1),),
            post_timeout=_POST_TIMEOUT,
            now=_noon,
        )
        slots = Slots(self.limits, post_timeout=_POST_TIMEOUT)
        self.throttled = ThrottledWebhooks(attempt, slots)
        first_attempts = FirstAttempts(
            store=self.store,
            slots=slots,
            throttled=self.throttled,
            delivery_queue=self.delivery_queue,
            new=NewAttempts(1000),
        )
        self.fan_out = FanOut(self.store, first_attempts)

    async def subscribe(self, *ids: WebhookId, **fields: Any) -> None:
        registrations = Registrations(self.database, secret_keys(), Random(1))
        for webhook_id in ids:
            new = a_registered(id=webhook_id, **fields)
            await registrations.create(new, call_id=uuid4(), limit=50)

    async def happens(self, event: RegistryEvent) -> None:
        await self.fan_out(encode_event(event))

    async def stored(self, collection: str) -> dict[str, dict[str, Any]]:
        return {one["_id"]: one async for one in self.database[collection].find()}

    async def recorded(self) -> int:
        """The number of attempts whose records are written."""
        return len(self.telemetry.written)

    @property
    def woken(self) -> Sequence[str]:
        return [task.delivery_id for task, _ in self.delivery_queue.enqueued]


def _noon() -> datetime:
    return NOON
