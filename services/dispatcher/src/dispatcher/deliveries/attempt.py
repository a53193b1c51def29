"""One attempt to deliver: post, record, schedule the retry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from common.contracts.deliveries import DeliveryTask
from common.contracts.failures import Unavailable
from common.contracts.webhooks import DisabledReason
from dispatcher.deliveries.retry import Decision, Done, GiveUp, RetryAfter, decide, may_be_attempted
from dispatcher.deliveries.telemetry import DeferReason, Telemetry
from dispatcher.queues import DeliveryQueue
from dispatcher.sending.outcome import Cause, Outcome, Post, Sender, cause_of, status_of
from dispatcher.sending.signature import signature_headers
from dispatcher.store import Store
from webhook_store.deliveries.models import Attempted, Cancelled, CancelReason, Claimed, EventBody
from webhook_store.webhooks.headers import constant_headers
from webhook_store.webhooks.models import Sendable, SigningSecrets

#: Failed retries from which on an owner is notified that a delivery fails: its third attempt.
FAILING_RETRIES = 2

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Posted:
    """A completed post that is not recorded yet."""

    webhook: Sendable
    delivery: Claimed
    outcome: Outcome
    at: datetime
    ended_at: datetime

    @property
    def timed_out(self) -> bool:
        """Returns True if the post timed out, while connecting or altogether."""
        return cause_of(self.outcome) is Cause.TIMEOUT


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
    now: Clock

    async def post(self, webhook: Sendable | None, delivery: Claimed) -> Posted | None:
        """Posts a claimed delivery, or cancels or defers it and returns None.

        The caller must record a completed post.
        """
        body = None
        if webhook is not None and may_be_attempted(webhook, delivery):
            body = await self.store.body(delivery.event_id)
        return await self.post_body(webhook, delivery, body)

    async def post_body(
        self, webhook: Sendable | None, delivery: Claimed, body: EventBody | None
    ) -> Posted | None:
        """Like `post`, with the body as it was read after the claim; None when purged."""
        if webhook is None:
            await self._cancel(delivery, CancelReason.WEBHOOK_DELETED)
            return None
        if not may_be_attempted(webhook, delivery):
            await self._cancel(delivery, CancelReason.WEBHOOK_DISABLED)
            return None
        if body is None:
            await self._cancel(delivery, CancelReason.COMPANY_REMOVED)
            return None
        if webhook.secrets is None:
            self.telemetry.deferred(delivery.id, DeferReason.DECRYPTION_FAILED)
            return None
        if not self._outlasts_a_post(delivery):
            return await self._post_later(delivery)
        return await self._post(webhook, webhook.secrets, delivery, body)

    def _outlasts_a_post(self, delivery: Claimed) -> bool:
        return self.now() + self.post_timeout <= delivery.lease_until

    async def _post_later(self, delivery: Claimed) -> Posted | None:
        """Posts a delivery whose lease ran while its event was read, as during an outage.

        Otherwise the response might arrive after another process has claimed the row. The webhook
        is read again, since it may have changed since the claim.
        """
        webhook = await self.store.retry(
            lambda: self.store.sendable(delivery.webhook_id), what="sendable"
        )
        renewed = await self.store.renew(delivery)
        if renewed is None or not self._outlasts_a_post(renewed):
            self.telemetry.deferred(delivery.id, DeferReason.LEASE)
            return None
        return await self.post(webhook, renewed)

    async def _post(
        self, webhook: Sendable, secrets: SigningSecrets, delivery: Claimed, body: EventBody
    ) -> Posted | None:
        at = self.now()
        try:
            outcome = await self.sender.send(
                Post(
                    webhook.url,
                    _headers(webhook, secrets, delivery, body.bytes, at),
                    body.bytes,
                    body.trace,
                )
            )
        except Unavailable as outage:
            self.telemetry.deferred(delivery.id, DeferReason.OUTAGE, str(outage))
            return None
        return Posted(webhook, delivery, outcome, at=at, ended_at=self.now())

    async def record(self, posted: Posted) -> None:
        """Records a post, waiting out a database outage, and schedules its retry."""
        delivery = posted.delivery
        decision = decide(
            posted.outcome, retries=delivery.retries, by_hand=delivery.by_hand, delays=self.delays
        )
        attempted = Attempted(
            delivery=delivery,
            at=posted.at,
            # The database's clock may step back when it is read again during a short post.
            duration=max(posted.ended_at - posted.at, timedelta()),
            response_code=status_of(posted.outcome),
            error=cause_of(posted.outcome),
            next_attempt_at=_next_attempt_at(decision, posted.ended_at),
            disable=_disables(decision),
        )
        written = await self.store.record(attempted)
        self.telemetry.attempted(attempted, posted.webhook.host, decision, written)
        if written.held and isinstance(decision, RetryAfter):
            await self._retry(_retry_of(attempted), decision.delay)
            if delivery.retries >= FAILING_RETRIES:
                await self._note_failing(attempted)

    async def _retry(self, task: DeliveryTask, after: timedelta) -> None:
        try:
            await self.delivery_queue.schedule(task, after=after)
        except Unavailable:
            self.telemetry.not_published(task)

    async def _note_failing(self, attempted: Attempted) -> None:
        try:
            await self.store.note_failing(attempted)
        except Unavailable as outage:
            self.telemetry.not_noted(attempted.delivery.webhook_id, str(outage))

    async def _cancel(self, delivery: Claimed, reason: CancelReason) -> None:
        cancelled = Cancelled(delivery, reason)
        await self.store.record(cancelled)
        self.telemetry.cancelled(cancelled)


def _headers(
    webhook: Sendable, secrets: SigningSecrets, delivery: Claimed, body: bytes, at: datetime
) -> Mapping[str, str]:
    return {
        **{name: value.get_secret_value() for name, value in webhook.headers.items()},
        **constant_headers(delivery.event_type),
        **signature_headers(secrets, delivery_id=delivery.id, body=body, at=at),
    }


def _next_attempt_at(decision: Decision, ended_at: datetime) -> datetime | None:
    return ended_at + decision.delay if isinstance(decision, RetryAfter) else None


def _disables(decision: Decision) -> DisabledReason | None:
    match decision:
        case GiveUp(reason):
            return reason
        case Done() | RetryAfter():
            return None
        case _:
            assert_never(decision)


def _retry_of(attempted: Attempted) -> DeliveryTask:
    return DeliveryTask(
        delivery_id=attempted.delivery.id,
        webhook_id=attempted.delivery.webhook_id,
        attempt=attempted.number + 1,
    )
