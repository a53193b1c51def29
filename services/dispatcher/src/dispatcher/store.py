"""The webhook store as the dispatcher uses it.

Concurrent calls share a round trip, and what must not fail waits out an outage of the database.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import TypeVar

import structlog

from common.contracts.company import CompanyKey
from common.contracts.failures import Unavailable
from common.contracts.topology import DeliveryTask
from common.contracts.webhooks import WebhookId
from common.mongo import Database
from common.runtime import tracing
from common.runtime.tasks import Batcher, delays
from webhook_store.deliveries import ClaimedDelivery, Deliveries, DeliveryTimes, NewDelivery
from webhook_store.events import EventBody, Events, Receipts, StoredEvent
from webhook_store.recording import AttemptResult, Notices, Recorder, Result, WriteEffect
from webhook_store.secrets import SecretKeys
from webhook_store.sending import Sendable, Webhooks

T = TypeVar("T")

#: Maximum chunks of up to 200 rows, or webhooks, in one batch: it must finish within its timeout.
MAX_CHUNKS = 32
#: Events deleted per batch.
_EXPIRED_AT_ONCE = 1000
#: Maximum seconds between two tries during an outage. After it, a result must be recorded before
#: the requeue job requeues its row.
MAX_WAIT = 1.0

log = structlog.get_logger()


class Store:
    """Webhooks, events and deliveries; works while its `batchers` run.

    `index_webhooks`, `body`, `due`, `renew` and `record` wait out an outage; every other method may
    raise `Unavailable`.
    """

    def __init__(  # noqa: PLR0913 (the database, and what its calls need)
        self,
        database: Database,
        keys: SecretKeys,
        times: DeliveryTimes,
        *,
        now: Callable[[], datetime],
        new_id: Callable[[], str],
        random: Random,
    ) -> None:
        self.webhooks = Webhooks(database, keys)
        self.events = Events(database, times)
        self.deliveries = Deliveries(database, times)
        self.notices = Notices(database)
        self._receipts = Receipts(database, retention=times.retention)
        self._recorder = Recorder(database, self.webhooks, times)
        self._now = now
        self._new_id = new_id
        self._random = random
        #: Tokens of claims without an answer, with the ends of their leases. The database may have
        #: made them, or make them when it continues: only this process can tell that they are free.
        self._unanswered: deque[tuple[datetime, str]] = deque()

        #: Returns the webhooks that subscribe to an event, including disabled ones.
        self.matching = Batcher(self.webhooks.matching)
        self._sendables = Batcher(self._sendable, max_batch_size=MAX_CHUNKS)
        self._new_events = Batcher(self._store_events)
        #: Checks whether the register ordered a company's removal.
        self.is_removed = Batcher(self._are_removed)
        self._bodies = Batcher(self._bodies_of)
        #: Checks whether an event was fanned out before.
        self.has_receipt = Batcher(self._have_receipts)
        #: Records that all deliveries of an event are stored.
        self.add_receipt = Batcher(self._add_receipts)
        #: Stores deliveries; existing ones are left unchanged. Returns those that begin, claimed.
        self.insert = Batcher(self._insert, max_batch_size=MAX_CHUNKS)
        self._claims = Batcher(self._claim)
        self._new_claims = Batcher(self._renew)
        self._results = Batcher(self._record)
        self.batchers = [one for one in vars(self).values() if isinstance(one, Batcher)]

    async def retry(self, action: Callable[[], Awaitable[T]], *, what: str) -> T:
        """Returns the action's result; retries while the database is unavailable.

        `what` names the action in the log.
        """
        said = False
        waits = delays(self._random, max_delay=MAX_WAIT)
        while True:
            try:
                return await action()
            except Unavailable as outage:
                if not said:
                    said = True
                    log.warning("store.waiting", what=what, reason=str(outage))
                await asyncio.sleep(next(waits))

    async def index_webhooks(self) -> None:
        """Builds the index of webhooks, so that the first event does not wait for it."""
        await self.retry(self.webhooks.index, what="index")

    async def sendable(self, webhook_id: WebhookId) -> Sendable | None:
        """Returns a webhook's present state; None when it is deleted."""
        [webhook] = await self.sendables([webhook_id])
        return webhook

    async def sendables(self, ids: Sequence[WebhookId]) -> Sequence[Sendable | None]:
        """Returns the present states of webhooks, in order."""
        found = await self._sendables(ids)
        return [found.get(one) for one in ids]

    async def store_event(self, event: StoredEvent) -> None:
        """Stores an event with the current trace; an existing one is left unchanged."""
        await self._new_events(replace(event, trace=tracing.CURRENT.get()))

    async def body(self, event_id: str) -> EventBody | None:
        """Returns the body to post; None when purged."""
        return await self.retry(lambda: self._bodies(event_id), what="body")

    async def claim(self, task: DeliveryTask) -> ClaimedDelivery | None:
        """Claims a delivery for the attempt; None when it is no longer available."""
        return await self._claims(task)

    async def renew(self, claimed: ClaimedDelivery) -> ClaimedDelivery | None:
        """Claims a delivery again under a new lease; None when its claim was lost."""
        return await self.retry(lambda: self._new_claims(claimed), what="renew")

    async def due(self, webhook_id: WebhookId, *, limit: int) -> Sequence[DeliveryTask]:
        """Returns a webhook's due, unclaimed attempts, retries last."""
        return await self.retry(
            lambda: self.deliveries.due(webhook_id, limit=limit, at=self._now()), what="due"
        )

    async def record(self, result: Result) -> WriteEffect:
        """Writes a result, releases its claim and returns its effect."""
        return await self.retry(lambda: self._results(result), what="record")

    async def note_failing(self, attempted: AttemptResult) -> None:
        """Notes for the owner that a delivery fails, once a day for each webhook."""
        await self.notices.failing(attempted)

    async def purge(self, event_ids: Collection[str]) -> None:
        """Deletes events and cancels their waiting deliveries."""
        # Rows first: they are found through their events.
        await self.deliveries.purge(event_ids, at=self._now())
        await self.events.forget(event_ids)

    async def expire_events(self) -> None:
        """Deletes expired events that no delivery needs."""
        while await self.events.expire(at=self._now(), limit=_EXPIRED_AT_ONCE):
            pass

    async def _sendable(
        self, ids: Sequence[Sequence[WebhookId]]
    ) -> Sequence[Mapping[WebhookId, Sendable]]:
        found = await self.webhooks.sendable({one for each in ids for one in each}, at=self._now())
        return [found] * len(ids)

    async def _store_events(self, events: Sequence[StoredEvent]) -> Sequence[None]:
        await self.events.store(events, at=self._now())
        return [None] * len(events)

    async def _are_removed(self, companies: Sequence[CompanyKey]) -> Sequence[bool]:
        removed = await self.events.removed(set(companies))
        return [company in removed for company in companies]

    async def _bodies_of(self, ids: Sequence[str]) -> Sequence[EventBody | None]:
        found = await self.events.bodies(set(ids))
        return [found.get(event_id) for event_id in ids]

    async def _have_receipts(self, ids: Sequence[str]) -> Sequence[bool]:
        received = await self._receipts.of(ids)
        return [event_id in received for event_id in ids]

    async def _add_receipts(self, ids: Sequence[str]) -> Sequence[None]:
        await self._receipts.add(ids, at=self._now())
        return [None] * len(ids)

    async def _insert(
        self, chunks: Sequence[Sequence[NewDelivery]]
    ) -> Sequence[Sequence[ClaimedDelivery]]:
        new, at = [one for chunk in chunks for one in chunk], self._now()
        token = self._new_id() if any(one.begins for one in new) else ""
        try:
            claimed = await self.deliveries.insert(new, token=token, at=at)
        except Exception:
            # Some rows may be stored as claimed.
            self._unanswered.append((at + self.deliveries.lease, token))
            raise
        found = {one.id: one for one in claimed}
        # Of two equal rows in a batch, the first is stored.
        return [[found.pop(one.id) for one in chunk if one.id in found] for chunk in chunks]

    async def _renew(self, claimed: Sequence[ClaimedDelivery]) -> Sequence[ClaimedDelivery | None]:
        tasks = [
            DeliveryTask(delivery_id=one.id, webhook_id=one.webhook_id, attempt=one.attempts + 1)
            for one in claimed
        ]
        return await self._claim(tasks, ours={one.claim for one in claimed})

    async def _claim(
        self, tasks: Sequence[DeliveryTask], *, ours: Collection[str] = ()
    ) -> Sequence[ClaimedDelivery | None]:
        token, at = self._new_id(), self._now()
        while self._unanswered and self._unanswered[0][0] <= at:
            self._unanswered.popleft()
        held = [*ours, *(unanswered for _, unanswered in self._unanswered)]
        try:
            claimed = await self.deliveries.claim(tasks, token=token, at=at, held=held)
        except Unavailable:
            self._unanswered.append((at + self.deliveries.lease, token))
            raise
        found = {one.id: one for one in claimed}
        # Of two messages for one delivery in a batch, only the first gets the claim.
        return [found.pop(task.delivery_id, None) for task in tasks]

    async def _record(self, results: Sequence[Result]) -> Sequence[WriteEffect]:
        return await self._recorder.record(results, at=self._now())
