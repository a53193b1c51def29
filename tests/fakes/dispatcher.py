"""The dispatcher's clock, queue, sender and telemetry for tests, and a store with faults."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from common.contracts.failures import Unavailable
from common.contracts.topology import DeliveryTask
from common.contracts.webhooks import DeliveryId, WebhookId
from dispatcher.outcomes import Decision, Outcome, Post, Response
from dispatcher.store import Store
from dispatcher.telemetry import DeferReason, Telemetry
from tests.builders.webhooks import NOON
from webhook_store.deliveries import ClaimedDelivery
from webhook_store.events import EventBody
from webhook_store.recording import AttemptResult, Cancellation, Result, WriteEffect
from webhook_store.sending import Sendable


@dataclass
class Time:
    """Clock that moves only on request."""

    at: datetime = NOON

    def now(self) -> datetime:
        return self.at

    def pass_by(self, span: timedelta) -> None:
        self.at += span


@dataclass
class Switch:
    """Dependency that can be made unavailable."""

    away: bool = False

    def check(self) -> None:
        if self.away:
            raise Unavailable("away")


class FaultyStore(Store):
    """The store over MongoDB, which tests make slow, unavailable or faulty."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.mongo = Switch()
        #: Bodies are read only while this is set, and results written only while the other is.
        self.reading, self.writing = asyncio.Event(), asyncio.Event()
        self.reading.set()
        self.writing.set()
        #: Deliveries whose claim, and webhooks whose `due`, raises an unexpected error.
        self.crashing: set[str] = set()
        #: Claims that an unavailable database refused.
        self.refused = 0

    async def sendable(self, webhook_id: WebhookId) -> Sendable | None:
        self.mongo.check()
        return await super().sendable(webhook_id)

    async def body(self, event_id: str) -> EventBody | None:
        await self.reading.wait()
        return await super().body(event_id)

    async def claim(self, task: DeliveryTask) -> ClaimedDelivery | None:
        self.refused += self.mongo.away
        self.mongo.check()
        if task.delivery_id in self.crashing:
            raise ValueError("crashed")
        return await super().claim(task)

    async def due(self, webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        if webhook_id in self.crashing:
            raise ValueError("crashed")
        return await super().due(webhook_id, limit=limit)

    async def record(self, result: Result) -> WriteEffect:
        await self.writing.wait()
        return await super().record(result)

    async def note_failing(self, attempted: AttemptResult) -> None:
        self.mongo.check()
        await super().note_failing(attempted)


@dataclass
class FakeDeliveryQueue:
    """`DeliveryQueue` that records its calls."""

    enqueued: list[tuple[DeliveryTask, bool]] = field(default_factory=list)
    scheduled: list[tuple[DeliveryTask, timedelta]] = field(default_factory=list)
    depth: int = 0
    broker: Switch = field(default_factory=Switch)

    async def enqueue(self, tasks: Sequence[DeliveryTask], *, retries: bool) -> None:
        self.broker.check()
        self.enqueued += [(task, retries) for task in tasks]

    async def schedule(self, task: DeliveryTask, *, after: timedelta) -> None:
        self.broker.check()
        self.scheduled.append((task, after))

    async def waiting(self) -> int:
        self.broker.check()
        return self.depth


@dataclass
class FakeSender:
    """`Sender` that returns 204 or configured outcomes, and can hang."""

    outcomes: deque[Outcome | Unavailable] = field(default_factory=deque)
    by_url: Mapping[str, Outcome] = field(default_factory=dict)
    posts: list[Post] = field(default_factory=list)
    #: Posts stay in flight until this is set; posts to `hanging` never end.
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    hanging: str | None = None
    in_flight: int = 0
    most_in_flight: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    async def send(self, post: Post) -> Outcome:
        self.posts.append(post)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self.gate.wait()
            if post.url == self.hanging:
                await asyncio.Event().wait()
        finally:
            self.in_flight -= 1
        outcome = self.outcomes.popleft() if self.outcomes else None
        if isinstance(outcome, Unavailable):
            raise outcome
        return outcome or self.by_url.get(post.url) or Response(204)


@dataclass
class FakeTelemetry(Telemetry):
    """Telemetry that records its calls."""

    results: list[AttemptResult] = field(default_factory=list)
    written: list[WriteEffect] = field(default_factory=list)
    cancellations: list[Cancellation] = field(default_factory=list)
    deferrals: list[tuple[DeliveryId, DeferReason]] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    unpublished: list[DeliveryTask] = field(default_factory=list)
    failures: list[tuple[DeliveryId, WebhookId]] = field(default_factory=list)
    failed_backlogs: list[WebhookId] = field(default_factory=list)

    def attempted(
        self,
        attempted: AttemptResult,
        host: str,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        written: WriteEffect,
    ) -> None:
        self.results.append(attempted)
        self.written.append(written)

    def cancelled(self, cancelled: Cancellation) -> None:
        self.cancellations.append(cancelled)

    def deferred(self, delivery_id: DeliveryId, reason: DeferReason, detail: str = "") -> None:
        self.deferrals.append((delivery_id, reason))
        self.details.append(detail)

    def not_published(self, task: DeliveryTask) -> None:
        self.unpublished.append(task)

    def not_noted(self, webhook_id: WebhookId, detail: str) -> None:
        self.details.append(f"{webhook_id} {detail}")

    def failed(self, delivery_id: DeliveryId, webhook_id: WebhookId) -> None:
        self.failures.append((delivery_id, webhook_id))

    def backlog_failed(self, webhook_id: WebhookId) -> None:
        self.failed_backlogs.append(webhook_id)
