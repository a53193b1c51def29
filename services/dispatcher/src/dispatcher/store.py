"""Adapters of the ports over the webhook store; `batchers`, to be run, batch concurrent calls."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import TypeVar

import structlog

from common.contracts.company import CompanyKey
from common.contracts.deliveries import DeliveryTask
from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId
from common.runtime import tracing
from common.runtime.backoff import delays
from dispatcher.batcher import Batcher
from webhook_store.deliveries.events import Events, Receipts
from webhook_store.deliveries.models import (
    Claimed,
    EventBody,
    NewDelivery,
    Result,
    StoredEvent,
    Written,
)
from webhook_store.deliveries.recording import Recorder
from webhook_store.deliveries.rows import Deliveries
from webhook_store.webhooks.models import Sendable
from webhook_store.webhooks.sending import Webhooks

T = TypeVar("T")

#: Maximum chunks of up to 200 rows in one batch: the write must finish within its timeout.
MAX_CHUNKS = 32
#: Maximum seconds between two tries during an outage. After it, a result must be recorded before
#: the requeue job requeues its row.
MAX_WAIT = 1.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Clock, ids and randomness of the adapters."""

    now: Callable[[], datetime]
    new_id: Callable[[], str]
    random: Random

    async def retry_while_unavailable(self, action: Callable[[], Awaitable[T]], *, what: str) -> T:
        """Returns the action's result; retries while the database is unavailable."""
        said = False
        waits = delays(self.random, max_delay=MAX_WAIT)
        while True:
            try:
                return await action()
            except Unavailable as outage:
                if not said:
                    said = True
                    log.warning("store.waiting", what=what, reason=str(outage))
                await asyncio.sleep(next(waits))


class StoredWebhooks:
    """`Webhooks` over MongoDB."""

    def __init__(self, webhooks: Webhooks, dependencies: Dependencies) -> None:
        self._stored = webhooks
        self._now = dependencies.now
        self.of_owner = webhooks.of_owner
        self.match_of = webhooks.match_of
        self.matching = Batcher(webhooks.matching)
        self.sendable = Batcher(self._sendable)
        self.batchers = (self.matching, self.sendable)

    async def _sendable(self, ids: Sequence[WebhookId]) -> Sequence[Sendable | None]:
        found = await self._stored.sendable(set(ids), at=self._now())
        return [found.get(webhook_id) for webhook_id in ids]


class StoredEvents:
    """`Events` over MongoDB."""

    def __init__(self, events: Events, dependencies: Dependencies) -> None:
        self._stored = events
        self._dependencies = dependencies
        self.of_company = events.of_company
        self.forget = events.forget
        self.is_removed = Batcher(self._are_removed)
        self._new = Batcher(self._store)
        self._bodies = Batcher(self._bodies_of)
        self.batchers = (self._new, self.is_removed, self._bodies)

    async def store(self, event: StoredEvent) -> None:
        """Stores an event with the current trace, in one write with those of concurrent calls."""
        await self._new(replace(event, trace=tracing.CURRENT.get()))

    async def body(self, event_id: str) -> EventBody | None:
        """Returns the body to post; None when purged. Retries during a database outage."""
        return await self._dependencies.retry_while_unavailable(
            lambda: self._bodies(event_id), what="body"
        )

    async def _store(self, events: Sequence[StoredEvent]) -> Sequence[None]:
        await self._stored.store(events, at=self._dependencies.now())
        return [None] * len(events)

    async def _are_removed(self, companies: Sequence[CompanyKey]) -> Sequence[bool]:
        removed = await self._stored.removed(set(companies))
        return [company in removed for company in companies]

    async def _bodies_of(self, ids: Sequence[str]) -> Sequence[EventBody | None]:
        found = await self._stored.bodies(set(ids))
        return [found.get(event_id) for event_id in ids]


class StoredReceipts:
    """`Receipts` over MongoDB."""

    def __init__(self, receipts: Receipts, dependencies: Dependencies) -> None:
        self._stored = receipts
        self._now = dependencies.now
        self.has = Batcher(self._have)
        self.add = Batcher(self._add)
        self.batchers = (self.has, self.add)

    async def _have(self, ids: Sequence[str]) -> Sequence[bool]:
        received = await self._stored.of(ids)
        return [event_id in received for event_id in ids]

    async def _add(self, ids: Sequence[str]) -> Sequence[None]:
        await self._stored.add(ids, at=self._now())
        return [None] * len(ids)


class StoredRows:
    """`Rows` over MongoDB."""

    def __init__(self, rows: Deliveries, recorder: Recorder, dependencies: Dependencies) -> None:
        self._stored = rows
        self._recorder = recorder
        self._dependencies = dependencies
        #: Tokens of claims without an answer, with the ends of their leases. The database may have
        #: made them, or make them when it continues: only this process can tell that they are free.
        self._unanswered: deque[tuple[datetime, str]] = deque()
        self.insert = Batcher(self._insert, max_batch_size=MAX_CHUNKS)
        self.claim = Batcher(self._claim)
        self._renewals = Batcher(self._renew)
        self._results = Batcher(self._record)
        self.batchers = (self.insert, self.claim, self._renewals, self._results)

    async def due(self, webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        """Returns a webhook's due, unclaimed attempts; retries during a database outage."""
        return await self._dependencies.retry_while_unavailable(
            lambda: self._stored.due(webhook_id, limit=limit, at=self._dependencies.now()),
            what="due",
        )

    async def renew(self, claimed: Claimed) -> Claimed | None:
        """Returns the delivery under a new claim and lease; None when its claim was lost.

        Retries during a database outage.
        """
        return await self._dependencies.retry_while_unavailable(
            lambda: self._renewals(claimed), what="renew"
        )

    async def record(self, result: Result) -> Written:
        """Writes a result and returns its effect; retries during a database outage."""
        return await self._dependencies.retry_while_unavailable(
            lambda: self._results(result), what="record"
        )

    async def purge(self, event_ids: Collection[str]) -> None:
        """Cancels the waiting deliveries of purged events; raises `Unavailable`."""
        await self._stored.purge(event_ids, at=self._dependencies.now())

    async def _insert(self, chunks: Sequence[Sequence[NewDelivery]]) -> Sequence[None]:
        new = [one for chunk in chunks for one in chunk]
        await self._stored.insert(new, at=self._dependencies.now())
        return [None] * len(chunks)

    async def _renew(self, claimed: Sequence[Claimed]) -> Sequence[Claimed | None]:
        tasks = [
            DeliveryTask(delivery_id=one.id, webhook_id=one.webhook_id, attempt=one.attempts + 1)
            for one in claimed
        ]
        return await self._claim(tasks, ours={one.claim for one in claimed})

    async def _claim(
        self, tasks: Sequence[DeliveryTask], *, ours: Collection[str] = ()
    ) -> Sequence[Claimed | None]:
        token, at = self._dependencies.new_id(), self._dependencies.now()
        while self._unanswered and self._unanswered[0][0] <= at:
            self._unanswered.popleft()
        held = [*ours, *(unanswered for _, unanswered in self._unanswered)]
        try:
            claimed = await self._stored.claim(tasks, token=token, at=at, held=held)
        except Unavailable:
            self._unanswered.append((at + self._stored.lease, token))
            raise
        found = {one.id: one for one in claimed}
        # Of two messages for one delivery in a batch, only the first gets the claim.
        return [found.pop(task.delivery_id, None) for task in tasks]

    async def _record(self, results: Sequence[Result]) -> Sequence[Written]:
        return await self._recorder.record(results, at=self._dependencies.now())
