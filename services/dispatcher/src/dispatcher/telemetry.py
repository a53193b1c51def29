"""Logs and metrics of the dispatcher: one wide log line per attempt."""

import time
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Final

import structlog
from prometheus_client import Counter, Gauge, Histogram

from common.contracts.topology import DeliveryTask
from common.contracts.webhooks import DeliveryId, DisabledReason, WebhookId
from dispatcher.outcomes import Cause, Decision
from webhook_store.deliveries import CancelReason, DeliveryState
from webhook_store.recording import AttemptResult, Cancellation, WriteEffect

ATTEMPTS = Counter(
    "webhook_attempts_total", "Attempts to deliver, by outcome and cause", ["outcome", "cause"]
)
_SUCCEEDED = ATTEMPTS.labels("succeeded", "none")
POST_SECONDS = Histogram(
    "webhook_attempt_duration_seconds",
    "Response time of receivers",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
RECEIPT_SECONDS = Histogram(
    "webhook_delivery_latency_seconds",
    "Time from an event to its receipt, for successful first attempts",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
FIRST_ATTEMPT_SECONDS = Histogram(
    "webhook_first_attempt_latency_seconds",
    "Time from an event to the end of its first attempt, whatever its outcome",
    buckets=(0.1, 0.5, 1, 5, 10, 30, 60, 300),
)
RECEIVERS = Gauge(
    "webhook_receivers",
    "Hosts posted to in the last 15 minutes, by their last outcome",
    ["outcome"],
)
DISABLED = Counter("webhooks_disabled_total", "Webhooks disabled by this process", ["reason"])
CANCELLED = Counter("webhook_deliveries_cancelled_total", "Cancelled deliveries", ["reason"])
DEFERRED = Counter(
    "webhook_deliveries_deferred_total", "Due deliveries that were deferred", ["reason"]
)
LATE_RETRIES = Counter(
    "webhook_retry_publish_failures_total",
    "Retries that were not published and are left to the requeue job",
)
LOST_CLAIMS = Counter("webhook_claims_lost_total", "Results recorded after their lease had expired")
FAILED = Counter(
    "webhook_attempts_crashed_total", "Attempts or backlogs that ended in an internal error"
)
WAITING = Gauge("webhook_deliveries_waiting", "Waiting deliveries, by delay", ["delay"])
OLDEST_DUE = Gauge(
    "webhook_oldest_due_delivery_age_seconds", "Time since the longest waiting delivery was due"
)
WEBHOOKS = Gauge("webhooks", "Webhooks by status", ["status"])
RECOVERIES = Gauge("webhook_recoveries_unfinished", "Recoveries that still queue deliveries")
QUEUED = Gauge("broker_queue_messages", "Messages ready in a queue", ["queue"])
THROTTLED = Gauge("webhooks_throttled", "Webhooks with due deliveries over their concurrency limit")
OVERDUE = Counter(
    "webhook_deliveries_overdue_total",
    "Overdue deliveries: requeued after a lost message, or in a backlog of this process",
    ["reason"],
)
DEAD_LETTERS = Gauge("webhook_dead_letters", "Messages in the dead-letter queue")

log = structlog.get_logger()


class DeferReason(StrEnum):
    """Reason to defer a due delivery. No attempt is charged."""

    #: No slot is free: the delivery joins its webhook's backlog.
    THROTTLED = "throttled"
    #: The response might arrive after the lease, which was lost: another process has the delivery.
    LEASE = "lease"
    #: No configured key opens the webhook's secret.
    DECRYPTION_FAILED = "decryption_failed"
    #: A dependency is unavailable.
    OUTAGE = "outage"


class Telemetry:
    """Logs and metrics of the use cases."""

    def __init__(self) -> None:
        self._receivers = RecentReceivers(time.monotonic)
        for succeeded, outcome in ((True, "succeeded"), (False, "failed")):
            RECEIVERS.labels(outcome).set_function(partial(self._receivers.count, succeeded))
        # Prometheus sees no increase in a counter's first sample.
        for cause in Cause:
            ATTEMPTS.labels("failed", cause)
        for metric, values in (
            (DISABLED, DisabledReason),
            (CANCELLED, CancelReason),
            (DEFERRED, DeferReason),
        ):
            for value in values:
                metric.labels(value)

    def attempted(
        self, attempted: AttemptResult, host: str, decision: Decision, written: WriteEffect
    ) -> None:
        """Counts an attempt by its outcome and cause, and logs it; its claim may be lost."""
        delivery = attempted.delivery
        succeeded = _count(attempted)
        self._receivers.note(host, succeeded)
        if written.disabled and attempted.disable is not None:
            DISABLED.labels(attempted.disable).inc()
        if not written.held:
            LOST_CLAIMS.inc()
        log.info(
            "delivery.attempted",
            delivery_id=delivery.id,
            webhook_id=delivery.webhook_id,
            event_id=delivery.event_id,
            event_type=delivery.event_type,
            host=host,
            attempt=attempted.number,
            status=attempted.response_code,
            error=attempted.error,
            duration_ms=int(attempted.duration.total_seconds() * 1000),
            decision=type(decision).__name__,
            next_attempt_at=attempted.next_attempt_at,
            by_hand=delivery.by_hand,
            held=written.held,
            disabled=written.disabled,
        )

    def cancelled(self, cancelled: Cancellation) -> None:
        """Counts a cancelled delivery by its reason and logs it."""
        CANCELLED.labels(cancelled.reason).inc()
        log.info(
            "delivery.cancelled",
            delivery_id=cancelled.delivery.id,
            webhook_id=cancelled.delivery.webhook_id,
            event_id=cancelled.delivery.event_id,
            reason=cancelled.reason,
        )

    def deferred(self, delivery_id: DeliveryId, reason: DeferReason, detail: str = "") -> None:
        """Counts a deferred delivery by its reason; logs at debug level unless it is an outage."""
        DEFERRED.labels(reason).inc()
        log_event = log.warning if reason is DeferReason.OUTAGE else log.debug
        log_event("delivery.deferred", delivery_id=delivery_id, reason=reason, detail=detail)

    def not_published(self, task: DeliveryTask) -> None:
        """Counts a retry that is left to the requeue job and logs a warning."""
        LATE_RETRIES.inc()
        log.warning("retry.not_published", delivery_id=task.delivery_id, attempt=task.attempt)

    def not_noted(self, webhook_id: WebhookId, detail: str) -> None:
        """Logs a warning with the reason; no metric counts it."""
        log.warning("notice.not_stored", webhook_id=webhook_id, reason=detail)

    def failed(self, delivery_id: DeliveryId, webhook_id: WebhookId) -> None:
        """Counts a crashed attempt and logs the current exception with its traceback."""
        FAILED.inc()
        log.exception("delivery.crashed", delivery_id=delivery_id, webhook_id=webhook_id)

    def backlog_failed(self, webhook_id: WebhookId) -> None:
        """Counts a crashed backlog like an attempt and logs the current exception."""
        FAILED.inc()
        log.exception("backlog.crashed", webhook_id=webhook_id)


class RecentReceivers:
    """Last outcome of each host: one dead receiver with many events is not many dead receivers."""

    _WINDOW: Final = 900.0
    _MAX_HOSTS: Final = 10_000

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        #: Oldest first.
        self._hosts: OrderedDict[str, tuple[float, bool]] = OrderedDict()

    def note(self, host: str, succeeded: bool) -> None:  # noqa: FBT001 (the outcome)
        """Stores a host's last outcome; above 10,000 hosts the oldest is dropped."""
        self._hosts[host] = (self._steady(), succeeded)
        self._hosts.move_to_end(host)
        if len(self._hosts) > self._MAX_HOSTS:
            self._hosts.popitem(last=False)

    def count(self, succeeded: bool) -> int:  # noqa: FBT001 (the outcome)
        """Returns how many hosts of the last 15 minutes have this last outcome."""
        since = self._steady() - self._WINDOW
        while self._hosts and next(iter(self._hosts.values()))[0] < since:
            self._hosts.popitem(last=False)
        return sum(outcome is succeeded for _, outcome in self._hosts.values())


def _count(attempted: AttemptResult) -> bool:
    succeeded = attempted.state is DeliveryState.SUCCEEDED
    if succeeded:
        _SUCCEEDED.inc()
    else:
        ATTEMPTS.labels("failed", attempted.error or "none").inc()
    POST_SECONDS.observe(attempted.duration.total_seconds())
    if attempted.number == 1:
        ended_at = attempted.at + attempted.duration
        latency = (ended_at - attempted.delivery.occurred_at).total_seconds()
        FIRST_ATTEMPT_SECONDS.observe(latency)
        if succeeded:
            RECEIPT_SECONDS.observe(latency)
    return succeeded
