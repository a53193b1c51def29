"""Adapters of the ports over the webhook store; `batchers`, to be run, batch concurrent calls."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import TypeVar

import structlog

from common.contracts.company import CompanyKey
from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType
from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId
from common.runtime import tracing
from common.runtime.backoff import delays
from dispatcher.adapters.batcher import Batcher
from webhook_store.deliveries import Deliveries
from webhook_store.delivery_models import (
    Claimed,
    EventBody,
    NewDelivery,
    Result,
    StoredEvent,
    Written,
)
from webhook_store.events import Events
from webhook_store.matching import Subject
from webhook_store.models import Match, Sendable
from webhook_store.receipts import Receipts
from webhook_store.recording import Recorder
from webhook_store.webhooks import Webhooks

T = TypeVar("T")

#: Maximum questions in one batch; further ones join the next.
MAX_BATCH_SIZE = 200
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


class StoredMatches:
    """`Matches` over MongoDB."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks
        self._matching = Batcher(webhooks.matching, max_batch_size=MAX_BATCH_SIZE)
        self.batchers = (self._matching,)

    async def matching(self, subject: Subject) -> Sequence[Match]:
        return await self._matching(subject)

    async def of_owner(self, owner: str, kind: EventType, *, other_than: str) -> Sequence[Match]:
        return await self._webhooks.of_owner(owner, kind, other_than=other_than)

    async def match_of(self, webhook_id: WebhookId) -> Match | None:
        return await self._webhooks.match_of(webhook_id)


class StoredWebhooks:
    """`Webhooks` over MongoDB."""

    def __init__(self, webhooks: Webhooks, dependencies: Dependencies) -> None:
        self._webhooks = webhooks
        self._dependencies = dependencies
        self._sendable = Batcher(self._sendable_all, max_batch_size=MAX_BATCH_SIZE)
        self.batchers = (self._sendable,)

    def sendable(self, webhook_id: WebhookId) -> Awaitable[Sendable | None]:
        return self._sendable(webhook_id)

    async def _sendable_all(self, ids: Sequence[WebhookId]) -> Sequence[Sendable | None]:
        found = await self._webhooks.sendable(set(ids), at=self._dependencies.now())
        return [found.get(webhook_id) for webhook_id in ids]


class StoredEvents:
    """`Events` over MongoDB."""

    def __init__(self, events: Events, dependencies: Dependencies) -> None:
        self._events = events
        self._dependencies = dependencies
        self._new = Batcher(self._store_all, max_batch_size=MAX_BATCH_SIZE)
        self._removed = Batcher(self._removed_all, max_batch_size=MAX_BATCH_SIZE)
        self._bodies = Batcher(self._bodies_all, max_batch_size=MAX_BATCH_SIZE)
        self.batchers = (self._new, self._removed, self._bodies)

    async def store(self, event: StoredEvent) -> None:
        await self._new(replace(event, trace=tracing.CURRENT.get()))

    async def is_removed(self, company: CompanyKey) -> bool:
        return await self._removed(company)

    async def of_company(self, company: CompanyKey) -> Sequence[str]:
        return await self._events.of_company(company)

    async def forget(self, event_ids: Collection[str]) -> None:
        await self._events.forget(event_ids)

    async def body(self, event_id: str) -> EventBody | None:
        return await self._dependencies.retry_while_unavailable(
            lambda: self._bodies(event_id), what="body"
        )

    async def _store_all(self, events: Sequence[StoredEvent]) -> Sequence[None]:
        await self._events.store(events, at=self._dependencies.now())
        return [None] * len(events)

    async def _removed_all(self, companies: Sequence[CompanyKey]) -> Sequence[bool]:
        removed = await self._events.removed(set(companies))
        return [company in removed for company in companies]

    async def _bodies_all(self, ids: Sequence[str]) -> Sequence[EventBody | None]:
        found = await self._events.bodies(set(ids))
        return [found.get(event_id) for event_id in ids]


class StoredReceipts:
    """`Receipts` over MongoDB."""

    def __init__(self, receipts: Receipts, dependencies: Dependencies) -> None:
        self._receipts = receipts
        self._dependencies = dependencies
        self._looked_up = Batcher(self._has_all, max_batch_size=MAX_BATCH_SIZE)
        self._new = Batcher(self._add_all, max_batch_size=MAX_BATCH_SIZE)
        self.batchers = (self._looked_up, self._new)

    async def has(self, event_id: str) -> bool:
        return await self._looked_up(event_id)

    async def add(self, event_id: str) -> None:
        await self._new(event_id)

    async def _has_all(self, ids: Sequence[str]) -> Sequence[bool]:
        received = await self._receipts.of(ids)
        return [event_id in received for event_id in ids]

    async def _add_all(self, ids: Sequence[str]) -> Sequence[None]:
        await self._receipts.add(ids, at=self._dependencies.now())
        return [None] * len(ids)


class StoredRows:
    """`Rows` over MongoDB."""

    def __init__(self, rows: Deliveries, recorder: Recorder, dependencies: Dependencies) -> None:
        self._rows = rows
        self._recorder = recorder
        self._dependencies = dependencies
        self._new = Batcher(self._insert_all, max_batch_size=MAX_CHUNKS)
        self._claims = Batcher(self._claim_all, max_batch_size=MAX_BATCH_SIZE)
        self._results = Batcher(self._record_all, max_batch_size=MAX_BATCH_SIZE)
        self.batchers = (self._new, self._claims, self._results)

    async def insert(self, new: Sequence[NewDelivery]) -> None:
        await self._new(new)

    def claim(self, task: DeliveryTask) -> Awaitable[Claimed | None]:
        return self._claims(task)

    async def due(self, webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        return await self._dependencies.retry_while_unavailable(
            lambda: self._rows.due(webhook_id, limit=limit, at=self._dependencies.now()), what="due"
        )

    async def record(self, result: Result) -> Written:
        return await self._dependencies.retry_while_unavailable(
            lambda: self._results(result), what="record"
        )

    async def purge(self, event_ids: Collection[str]) -> None:
        await self._rows.purge(event_ids, at=self._dependencies.now())

    async def _insert_all(self, chunks: Sequence[Sequence[NewDelivery]]) -> Sequence[None]:
        await self._rows.insert([one for new in chunks for one in new], at=self._dependencies.now())
        return [None] * len(chunks)

    async def _claim_all(self, tasks: Sequence[DeliveryTask]) -> Sequence[Claimed | None]:
        claimed = await self._rows.claim(
            tasks, token=self._dependencies.new_id(), at=self._dependencies.now()
        )
        found = {one.id: one for one in claimed}
        # Of two messages for one delivery in a batch, only the first gets the claim.
        return [found.pop(task.delivery_id, None) for task in tasks]

    async def _record_all(self, results: Sequence[Result]) -> Sequence[Written]:
        return await self._recorder.record(results, at=self._dependencies.now())
