"""Logs and metrics of the dispatcher: one wide log line per attempt."""

import structlog
from prometheus_client import Counter, Gauge, Histogram

from common.contracts.deliveries import DeliveryTask
from common.contracts.webhooks import DeliveryId, WebhookId
from dispatcher.ports import AttemptReport, DeferReason
from webhook_store.delivery_models import Attempted, Cancelled, DeliveryState

ATTEMPTS = Counter(
    "webhook_attempts_total", "Attempts to deliver, by outcome and cause", ["outcome", "cause"]
)
POST_SECONDS = Histogram(
    "webhook_post_seconds",
    "Response time of receivers",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
RECEIPT_SECONDS = Histogram(
    "webhook_receipt_seconds",
    "Time from an event to its receipt, for successful first attempts",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
DISABLED = Counter("webhooks_disabled_total", "Webhooks disabled by this process", ["reason"])
CANCELLED = Counter("webhook_deliveries_cancelled_total", "Cancelled deliveries", ["reason"])
DEFERRED = Counter("webhook_deliveries_left_total", "Due deliveries that were deferred", ["reason"])
LATE_RETRIES = Counter(
    "webhook_retries_not_published_total",
    "Retries that were not published and are left to the sweeper",
)
LOST_CLAIMS = Counter("webhook_claims_lost_total", "Results recorded after their lease had expired")
FAILED = Counter(
    "webhook_attempts_crashed_total", "Attempts or backlogs that ended in an internal error"
)
WAITING = Gauge("webhook_deliveries_waiting", "Waiting deliveries, by delay", ["delay"])
OVER_CAP = Gauge("webhook_lanes", "Webhooks with due deliveries over their concurrency limit")
SWEPT = Counter(
    "webhook_sweeper_found_total",
    "Overdue deliveries: requeued after a lost message, or in a backlog of this process",
    ["reason"],
)
DEAD_LETTERS = Gauge("webhook_dead_letters", "Messages in the dead-letter queue")

log = structlog.get_logger()


class LoggingTelemetry:
    """`Telemetry` over structlog and Prometheus."""

    def attempted(self, report: AttemptReport) -> None:
        attempted, written = report.attempted, report.written
        delivery = attempted.delivery
        _count(attempted)
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
            host=report.host,
            attempt=attempted.number,
            status=attempted.response_code,
            error=attempted.error,
            duration_ms=int(attempted.duration.total_seconds() * 1000),
            decision=type(report.decision).__name__,
            next_attempt_at=attempted.next_attempt_at,
            by_hand=delivery.by_hand,
            held=written.held,
            disabled=written.disabled,
        )

    def cancelled(self, cancelled: Cancelled) -> None:
        CANCELLED.labels(cancelled.reason).inc()
        log.info(
            "delivery.cancelled",
            delivery_id=cancelled.delivery.id,
            webhook_id=cancelled.delivery.webhook_id,
            event_id=cancelled.delivery.event_id,
            reason=cancelled.reason,
        )

    def deferred(self, delivery_id: DeliveryId, reason: DeferReason, detail: str = "") -> None:
        DEFERRED.labels(reason).inc()
        log_event = log.warning if reason is DeferReason.OUTAGE else log.debug
        log_event("delivery.left", delivery_id=delivery_id, reason=reason, detail=detail)

    def not_published(self, task: DeliveryTask) -> None:
        LATE_RETRIES.inc()
        log.warning("retry.not_published", delivery_id=task.delivery_id, attempt=task.attempt)

    def failed(self, delivery_id: DeliveryId, webhook_id: WebhookId) -> None:
        FAILED.inc()
        log.exception("delivery.crashed", delivery_id=delivery_id, webhook_id=webhook_id)

    def backlog_failed(self, webhook_id: WebhookId) -> None:
        FAILED.inc()
        log.exception("lane.crashed", webhook_id=webhook_id)


def _count(attempted: Attempted) -> None:
    succeeded = attempted.state is DeliveryState.SUCCEEDED
    ATTEMPTS.labels("succeeded" if succeeded else "failed", attempted.error or "none").inc()
    POST_SECONDS.observe(attempted.duration.total_seconds())
    if succeeded and attempted.number == 1:
        ended_at = attempted.at + attempted.duration
        RECEIPT_SECONDS.observe((ended_at - attempted.delivery.occurred_at).total_seconds())
