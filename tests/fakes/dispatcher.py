"""Fakes of the dispatcher's store, queue, sender and telemetry."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from common.contracts.deliveries import DeliveryTask
from common.contracts.failures import Unavailable
from common.contracts.webhooks import DeliveryId, WebhookId
from dispatcher.outcomes import Decision, Outcome, Post, Response
from dispatcher.store import Store
from dispatcher.telemetry import DeferReason, Telemetry
from tests.builders.deliveries import a_sendable
from tests.builders.webhooks import NOON
from webhook_store.deliveries import CancelReason, ClaimedDelivery, DeliveryState, NewDelivery
from webhook_store.events import EventBody
from webhook_store.recording import AttemptResult, Cancellation, Result, WriteEffect
from webhook_store.sending import Sendable

T = TypeVar("T")

#: The lease of an unclaimed row.
NO_LEASE = NOON - timedelta(days=1)


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


@dataclass
class FakeRow:
    """Stored delivery."""

    new: NewDelivery
    due_at: datetime
    state: DeliveryState = DeliveryState.WAITING
    reason: CancelReason | None = None
    attempts: int = 0
    retries: int = 0
    claim: str | None = None
    settled_by: str | None = None
    lease_until: datetime = NO_LEASE


@dataclass
class FakeStore(Store):
    """The store as posting uses it, in memory; every webhook exists and is enabled.

    `TestFakeStore` tests that it keeps the store's promises.
    """

    time: Time = field(default_factory=Time)
    lease: timedelta = timedelta(seconds=30)
    rows: dict[DeliveryId, FakeRow] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    #: Webhooks in another state than an enabled one's; None is deleted.
    others: dict[WebhookId, Sendable | None] = field(default_factory=dict)
    #: The body of every event.
    stored_body: bytes | None = b'{"id":"event"}'
    noted: list[AttemptResult] = field(default_factory=list)
    mongo: Switch = field(default_factory=Switch)
    #: Bodies are read only while this is set, and results written only while the other is.
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    writing: asyncio.Event = field(default_factory=asyncio.Event)
    #: Deliveries whose claim raises an unexpected error.
    crashing: set[DeliveryId] = field(default_factory=set)
    #: Webhooks whose `due` raises an unexpected error.
    crashing_backlogs: set[WebhookId] = field(default_factory=set)
    #: Claims that an unavailable database refused.
    refused: int = 0
    _number: int = 0

    def __post_init__(self) -> None:
        self.reading.set()
        self.writing.set()

    def keep(self, *new: NewDelivery) -> None:
        """Stores deliveries."""
        for one in new:
            row = FakeRow(one, self.time.now())
            if one.cancelled is not None:
                row.state, row.reason = DeliveryState.CANCELLED, one.cancelled
            self.rows.setdefault(one.id, row)

    async def retry(self, action: Callable[[], Awaitable[T]], *, what: str) -> T:  # noqa: ARG002
        while True:
            try:
                return await action()
            except Unavailable:
                await asyncio.sleep(0)

    async def sendable(self, webhook_id: WebhookId) -> Sendable | None:
        self.mongo.check()
        return self.others.get(webhook_id, a_sendable(webhook_id))

    async def body(self, event_id: str) -> EventBody | None:  # noqa: ARG002
        await self.reading.wait()
        return None if self.stored_body is None else EventBody(self.stored_body)

    async def claim(self, task: DeliveryTask) -> ClaimedDelivery | None:
        self.refused += self.mongo.away
        self.mongo.check()
        if task.delivery_id in self.crashing:
            raise ValueError("crashed")
        row = self.rows.get(task.delivery_id)
        if row is None or row.attempts != task.attempt - 1 or not self._is_free(row):
            return None
        return self._claimed(row)

    async def renew(self, claimed: ClaimedDelivery) -> ClaimedDelivery | None:
        row = self.rows[claimed.id]
        return self._claimed(row) if row.claim == claimed.claim else None

    async def due(self, webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        if webhook_id in self.crashing_backlogs:
            raise ValueError("crashed")
        due = [
            row
            for row in self.rows.values()
            if row.new.webhook_id == webhook_id
            and row.due_at <= self.time.now()
            and self._is_free(row)
        ]
        due.sort(key=lambda row: (row.retries, row.due_at))
        return [_task(row) for row in due[:limit]]

    async def record(self, result: Result) -> WriteEffect:
        await self.writing.wait()
        row = self.rows[result.delivery.id]
        if row.settled_by == result.delivery.claim:
            return WriteEffect(held=True)
        if row.claim != result.delivery.claim:
            return WriteEffect(held=False)
        row.claim, row.settled_by = None, result.delivery.claim
        row.lease_until = NO_LEASE
        self.results.append(result)
        match result:
            case Cancellation(_, reason):
                row.state, row.reason = DeliveryState.CANCELLED, reason
            case AttemptResult(next_attempt_at=datetime() as due_at):
                row.attempts, row.retries = row.attempts + 1, row.retries + 1
                row.due_at = due_at
            case AttemptResult():
                row.attempts, row.state = row.attempts + 1, result.state
        return WriteEffect(held=True)

    async def note_failing(self, attempted: AttemptResult) -> None:
        self.mongo.check()
        self.noted.append(attempted)

    def _is_free(self, row: FakeRow) -> bool:
        return row.state is DeliveryState.WAITING and row.lease_until <= self.time.now()

    def _claimed(self, row: FakeRow) -> ClaimedDelivery:
        self._number += 1
        row.claim = f"claim-{self._number}"
        row.lease_until = self.time.now() + self.lease
        return ClaimedDelivery(
            id=row.new.id,
            webhook_id=row.new.webhook_id,
            generation=row.new.generation,
            event_id=row.new.event_id,
            event_type=row.new.event_type,
            occurred_at=row.new.occurred_at,
            attempts=row.attempts,
            retries=row.retries,
            by_hand=False,
            claim=row.claim,
            lease_until=row.lease_until,
        )


def _task(row: FakeRow) -> DeliveryTask:
    return DeliveryTask(
        delivery_id=row.new.id, webhook_id=row.new.webhook_id, attempt=row.attempts + 1
    )


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

    written: list[WriteEffect] = field(default_factory=list)
    cancellations: list[Cancellation] = field(default_factory=list)
    deferrals: list[tuple[DeliveryId, DeferReason]] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    unpublished: list[DeliveryTask] = field(default_factory=list)
    failures: list[tuple[DeliveryId, WebhookId]] = field(default_factory=list)
    failed_backlogs: list[WebhookId] = field(default_factory=list)

    def attempted(
        self,
        attempted: AttemptResult,  # noqa: ARG002
        host: str,  # noqa: ARG002
        decision: Decision,  # noqa: ARG002
        written: WriteEffect,
    ) -> None:
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
