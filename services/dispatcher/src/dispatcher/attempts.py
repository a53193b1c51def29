"""Attempts to deliver: a slot, a claim, one signed post, and the record of its outcome.

A delivery whose slot is free is attempted at once. Others stay in their rows and their messages are
acked, so a slow receiver holds no messages: a backlog for each webhook claims its due rows one by
one as slots become free, first attempts before retries. It buffers a bounded number of deliveries
and reads further ones from the store.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from common.contracts.failures import Unavailable
from common.contracts.topology import DeliveryTask, DeliveryTasks
from common.contracts.webhooks import WebhookId
from dispatcher.outcomes import (
    Cause,
    GiveUp,
    Outcome,
    Post,
    RetryAfter,
    Sender,
    cause_of,
    decide,
    status_of,
)
from dispatcher.queues import DeliveryQueue
from dispatcher.signature import signature_headers
from dispatcher.slots import LimitKey, Slots
from dispatcher.store import Store
from dispatcher.telemetry import DeferReason, Telemetry
from webhook_store.deliveries import CancelReason, ClaimedDelivery
from webhook_store.events import EventBody
from webhook_store.headers import constant_headers
from webhook_store.recording import AttemptResult, Cancellation
from webhook_store.sending import Sendable

#: Failed retries from which on an owner is notified that a delivery fails: its third attempt.
FAILING_RETRIES = 2
#: Maximum deliveries that a backlog buffers; further ones are read from the store.
MAX_BUFFERED = 64
#: Maximum posts being recorded after their slots were released. At this number the database is
#: slow, and further posts keep their slots until it catches up.
MAX_RECORDING = 200

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class PostResult:
    """A completed post that is not recorded yet."""

    webhook: Sendable
    delivery: ClaimedDelivery
    outcome: Outcome
    at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Attempt:
    """Posts claimed deliveries and records the results, in two steps.

    Between `post` and `record` the caller releases the slot, so that no write holds one.
    """

    store: Store
    sender: Sender
    delivery_queue: DeliveryQueue
    telemetry: Telemetry
    delays: Sequence[timedelta]
    #: Maximum duration of a post.
    post_timeout: timedelta
    now: Callable[[], datetime]

    async def post(self, webhook: Sendable | None, delivery: ClaimedDelivery) -> PostResult | None:
        """Posts a claimed delivery, or cancels or defers it and returns None.

        The caller must record a completed post.
        """
        body = None
        if webhook is not None and _may_be_attempted(webhook, delivery):
            body = await self.store.body(delivery.event_id)
        return await self.post_body(webhook, delivery, body)

    async def post_body(
        self, webhook: Sendable | None, delivery: ClaimedDelivery, body: EventBody | None
    ) -> PostResult | None:
        """Like `post`, with the body as it was read after the claim; None when purged."""
        if webhook is None:
            await self._cancel(delivery, CancelReason.WEBHOOK_DELETED)
            return None
        if not _may_be_attempted(webhook, delivery):
            await self._cancel(delivery, CancelReason.WEBHOOK_DISABLED)
            return None
        if body is None:
            await self._cancel(delivery, CancelReason.COMPANY_REMOVED)
            return None
        if webhook.secrets is None:
            self.telemetry.deferred(delivery.id, DeferReason.DECRYPTION_FAILED)
            return None
        at = self.now()
        if at + self.post_timeout > delivery.lease_until:
            return await self._post_later(delivery)
        headers = {
            **{name: value.get_secret_value() for name, value in webhook.headers.items()},
            **constant_headers(delivery.event_type),
            **signature_headers(webhook.secrets, delivery_id=delivery.id, body=body.bytes, at=at),
        }
        try:
            outcome = await self.sender.send(Post(webhook.url, headers, body.bytes, body.trace))
        except Unavailable as outage:
            self.telemetry.deferred(delivery.id, DeferReason.OUTAGE, str(outage))
            return None
        return PostResult(webhook, delivery, outcome, at=at, ended_at=self.now())

    async def record(self, result: PostResult) -> None:
        """Records a post, waiting out a database outage, and schedules its retry."""
        delivery, cause = result.delivery, cause_of(result.outcome)
        decision = decide(
            result.outcome, retries=delivery.retries, by_hand=delivery.by_hand, delays=self.delays
        )
        retry = decision if isinstance(decision, RetryAfter) else None
        rest = sum(self.delays[delivery.retries :], timedelta())
        attempted = AttemptResult(
            delivery=delivery,
            at=result.at,
            # The database's clock may step back when it is read again during a short post.
            duration=max(result.ended_at - result.at, timedelta()),
            response_code=status_of(result.outcome),
            error=cause,
            next_attempt_at=None if retry is None else result.ended_at + retry.delay,
            disable=decision.disable if isinstance(decision, GiveUp) else None,
            disables_at=None if retry is None else result.ended_at + rest,
        )
        written = await self.store.record(attempted)
        self.telemetry.attempted(attempted, result.webhook.host, decision, written)
        if written.held and retry is not None:
            await self._schedule(attempted, retry.delay)

    async def _schedule(self, failed: AttemptResult, delay: timedelta) -> None:
        delivery = failed.delivery
        task = DeliveryTask(
            delivery_id=delivery.id, webhook_id=delivery.webhook_id, attempt=failed.number + 1
        )
        try:
            await self.delivery_queue.schedule(task, after=delay)
        except Unavailable:
            self.telemetry.not_published(task)
        if delivery.retries < FAILING_RETRIES:
            return
        try:
            await self.store.note_failing(failed)
        except Unavailable as outage:
            self.telemetry.not_noted(delivery.webhook_id, str(outage))

    async def _post_later(self, delivery: ClaimedDelivery) -> PostResult | None:
        # Its lease ran while its event was read, as during an outage: the response might arrive
        # after another process has claimed the row. The webhook may have changed since the claim.
        webhook = await self.store.retry(
            lambda: self.store.sendable(delivery.webhook_id), what="sendable"
        )
        renewed = await self.store.renew(delivery)
        if renewed is None or self.now() + self.post_timeout > renewed.lease_until:
            self.telemetry.deferred(delivery.id, DeferReason.LEASE)
            return None
        return await self.post(webhook, renewed)

    async def _cancel(self, delivery: ClaimedDelivery, reason: CancelReason) -> None:
        cancellation = Cancellation(delivery, reason)
        await self.store.record(cancellation)
        self.telemetry.cancelled(cancellation)


def _may_be_attempted(webhook: Sendable, delivery: ClaimedDelivery) -> bool:
    # Deliveries that waited when the webhook was disabled belong to an earlier generation:
    # enabling does not resume them, but they can be recovered.
    return webhook.enabled and webhook.generation == delivery.generation


class _Stopping(Exception):
    """The process stops while it waits for the database."""


@dataclass(slots=True)
class _Backlog:
    """Due deliveries of a webhook that have no slot yet."""

    limit_key: LimitKey
    first_attempts: deque[DeliveryTask] = field(default_factory=deque)
    retries: deque[DeliveryTask] = field(default_factory=deque)
    #: True if the store may have first attempts that are not buffered.
    more: bool = False
    #: True if the last read reached its limit, so that the store may have later rows.
    rest: bool = False

    def __bool__(self) -> bool:
        return bool(self.first_attempts or self.more or self.retries or self.rest)

    def buffer(self, task: DeliveryTask) -> None:
        if len(self.first_attempts) + len(self.retries) >= MAX_BUFFERED:
            self.more = True
        elif task.attempt == 1:
            self.first_attempts.append(task)
        else:
            self.retries.append(task)


class Attempts:
    """The attempts of one process, in flight and in backlogs; they run while `running` is entered.

    A row whose attempt does not start, because the process stops, is requeued by the requeue job.
    """

    def __init__(self, attempt: Attempt, slots: Slots) -> None:
        self._attempt = attempt
        self._store = attempt.store
        self._telemetry = attempt.telemetry
        self._slots = slots
        self._group: asyncio.TaskGroup | None = None
        self._backlogs: dict[WebhookId, _Backlog] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._in_flight: set[asyncio.Task[None]] = set()
        self._recording = asyncio.Semaphore(MAX_RECORDING)

    @property
    def throttled(self) -> int:
        """Returns the number of webhooks with due deliveries that wait for a slot."""
        return len(self._backlogs)

    async def handle(self, body: bytes) -> None:
        """Claims or defers every delivery of a message; raises `Unavailable` to be retried.

        Idempotent: a late or repeated message finds nothing to claim.
        """
        message = DeliveryTasks.model_validate_json(body)
        # Not a TaskGroup: one failure must not cancel the other claims.
        ended = await asyncio.gather(
            *(self.deliver(task, more=message.more) for task in message.tasks),
            return_exceptions=True,
        )
        errors = [error for error in ended if error is not None]
        # Internal errors come first: a message that always fails must be dead-lettered.
        for error in sorted(errors, key=lambda error: isinstance(error, Unavailable)):
            raise error

    async def deliver(self, task: DeliveryTask, *, more: bool) -> None:
        """Claims and starts a due delivery, or adds it to a backlog if no slot is free.

        `more` marks that its webhook has others due without a message. May raise `Unavailable`.
        """
        webhook = await self._store.sendable(task.webhook_id)
        if webhook is None:
            cancelled = await self._store.claim(task)
            if cancelled is not None:
                await self._attempt.post(None, cancelled)
            return
        limit_key = LimitKey(webhook.webhook_id, webhook.host, webhook.owner)
        if more:
            self.scan(limit_key)
        if not self._slots.acquire(limit_key):
            self._telemetry.deferred(task.delivery_id, DeferReason.THROTTLED)
            self.add(limit_key, task)
            return
        delivery = None
        try:
            delivery = await self._store.claim(task)
        finally:
            if delivery is None:
                self._slots.release(limit_key)
        if delivery is not None:
            post = partial(self._attempt.post, webhook, delivery)
            self._start(self._run(limit_key, delivery, post))

    def begin(
        self,
        limit_key: LimitKey,
        webhook: Sendable,
        delivery: ClaimedDelivery,
        body: EventBody | None,
    ) -> asyncio.Task[None] | None:
        """Starts the attempt of a claimed delivery that has a slot; None while stopping."""
        post = partial(self._attempt.post_body, webhook, delivery, body)
        return self._start(self._run(limit_key, delivery, post))

    def rescan(self, webhook_id: WebhookId) -> bool:
        """Makes the webhook's backlog read the store again; False when it has none."""
        backlog = self._backlogs.get(webhook_id)
        if backlog is not None:
            backlog.more = True
        return backlog is not None

    def add(self, limit_key: LimitKey, task: DeliveryTask) -> None:
        """Adds a due delivery for which no slot is free."""
        backlog = self._backlog(limit_key)
        if backlog is not None:
            backlog.buffer(task)

    def scan(self, limit_key: LimitKey) -> None:
        """Schedules a read of the store for due deliveries that have no message."""
        backlog = self._backlog(limit_key)
        if backlog is not None:
            backlog.more = True

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the attempts during the body; call `drain` before leaving, or posts are cut."""
        async with asyncio.TaskGroup() as self._group:
            try:
                yield
            finally:
                await self.drain(0)

    async def drain(self, timeout: float) -> None:
        """Stops starting posts and waits up to `timeout` seconds for those in flight."""
        self._group = None
        for worker in self._workers:
            worker.cancel()
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=timeout)
        for attempt in self._in_flight:
            attempt.cancel()

    def _start(self, attempt: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        if self._group is None:
            attempt.close()
            return None
        task = self._group.create_task(attempt)
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)
        return task

    async def _run(
        self,
        limit_key: LimitKey,
        delivery: ClaimedDelivery,
        post: Callable[[], Awaitable[PostResult | None]],
    ) -> None:
        try:
            result = await self._post_in_slot(limit_key, post)
            if result is not None:
                try:
                    await self._attempt.record(result)
                finally:
                    self._recording.release()
        except Unavailable as outage:
            self._telemetry.deferred(delivery.id, DeferReason.OUTAGE, str(outage))
        except Exception:  # noqa: BLE001 (telemetry logs it; the backlog must continue)
            self._telemetry.failed(delivery.id, delivery.webhook_id)

    async def _post_in_slot(
        self, limit_key: LimitKey, post: Callable[[], Awaitable[PostResult | None]]
    ) -> PostResult | None:
        result = None
        try:
            result = await post()
            if result is not None:
                # Slots held during the write would limit posts to the database's write rate.
                await self._recording.acquire()
        finally:
            if result is not None and cause_of(result.outcome) is Cause.TIMEOUT:
                self._slots.release_after_timeout(limit_key)
            else:
                self._slots.release(limit_key)
        return result

    def _backlog(self, limit_key: LimitKey) -> _Backlog | None:
        backlog = self._backlogs.get(limit_key.webhook_id)
        if backlog is not None:
            backlog.limit_key = limit_key
        elif self._group is not None:
            backlog = self._backlogs[limit_key.webhook_id] = _Backlog(limit_key)
            worker = self._group.create_task(self._work_off(backlog))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        return backlog

    async def _work_off(self, backlog: _Backlog) -> None:
        try:
            while self._group is not None and backlog:
                if backlog.first_attempts:
                    await self._attempt_next(backlog, backlog.first_attempts.popleft())
                elif backlog.retries and not backlog.more:
                    await self._attempt_next(backlog, backlog.retries.popleft())
                else:
                    await self._read_due(backlog)
        except Exception:  # noqa: BLE001 (other backlogs continue; the requeue job requeues these rows)
            self._telemetry.backlog_failed(backlog.limit_key.webhook_id)
        finally:
            del self._backlogs[backlog.limit_key.webhook_id]

    async def _attempt_next(self, backlog: _Backlog, task: DeliveryTask) -> None:
        limit_key = backlog.limit_key
        await self._slots.wait(limit_key)
        self._start(self._claim_and_run(limit_key, task))

    async def _read_due(self, backlog: _Backlog) -> None:
        # Buffered deliveries are in the store as well. Nothing is claimed before it has a slot:
        # otherwise its lease could expire while it waits.
        backlog.more = False
        # Before the read, which may not see what is buffered meanwhile; a delivery that it returns
        # as well is claimed once.
        backlog.first_attempts.clear()
        backlog.retries.clear()
        due = await self._store.due(backlog.limit_key.webhook_id, limit=MAX_BUFFERED)
        for task in due:
            backlog.buffer(task)
        backlog.rest = len(due) == MAX_BUFFERED

    async def _claim_and_run(self, limit_key: LimitKey, task: DeliveryTask) -> None:
        webhook, delivery = None, None
        try:
            # Each by itself: a claim that was made is not made again.
            webhook, delivery = await asyncio.gather(
                self._unless_stopping(self._store.sendable, task.webhook_id),
                self._unless_stopping(self._store.claim, task),
            )
        except _Stopping:
            pass
        except Exception:  # noqa: BLE001 (telemetry logs it; the backlog must continue)
            self._telemetry.failed(task.delivery_id, task.webhook_id)
        if delivery is None:
            self._slots.release(limit_key)
        else:
            await self._run(limit_key, delivery, partial(self._attempt.post, webhook, delivery))

    async def _unless_stopping(self, ask: Callable[[Q], Awaitable[A]], question: Q) -> A:
        async def try_once() -> A:
            if self._group is None:
                raise _Stopping
            return await ask(question)

        return await self._store.retry(try_once, what="claim")
