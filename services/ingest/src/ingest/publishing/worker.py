"""The outbox publisher of a process; a lease selects one of all replicas."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

import structlog
from prometheus_client import Counter, Gauge

from common.contracts.events import FeedNotice
from common.contracts.failures import Unavailable
from common.contracts.topology import EVENTS_EXCHANGE, FAN_OUT_QUEUE
from common.contracts.webhooks import encode_for_owner
from common.leases import StoredLeases
from common.messaging.publisher import Broadcaster, Publisher, Unroutable
from common.messaging.queues import LONG_QUEUE, QueueProbe
from common.runtime import tracing
from common.runtime.tasks import background, delays, repeat
from ingest.publishing.outbox import Depth, WaitingEvent
from ingest.publishing.publisher import BATCH, ConfirmEvents, PublishOutbox

_JOB = "outbox"
_LEASE = timedelta(seconds=15)
#: Seconds between attempts to take the lease.
_STAND_BY = 5.0
#: Seconds between two polls of the outbox: how long an event waits at most.
_POLL_EVERY = 0.1
#: Seconds between two measurements of the outbox.
_MEASURE_EVERY = 5.0
#: Seconds between two passes over the events whose receipt is due.
_CONFIRM_EVERY = 1.0
#: Seconds until the next such pass after a failed one; publishing continues meanwhile.
_CONFIRM_AFTER_FAULT = 10.0

_REPUBLISHED = Counter(
    "outbox_events_republished_total", "Events published again because no receipt existed"
)
_DROPPED = Counter(
    "outbox_events_dropped_total",
    "Events deleted unpublished at the end of the retention",
)
_WAITING = Gauge("outbox_events_pending", "Events that wait for publication")
_OLDEST = Gauge("outbox_oldest_pending_age_seconds", "Age of the oldest waiting event")
_UNCONFIRMED = Gauge("outbox_events_unconfirmed", "Published events whose receipt is overdue")
_UNCONFIRMED_OLDEST = Gauge(
    "outbox_oldest_unconfirmed_age_seconds", "Time since the oldest of them was published"
)

_PUBLISH, _EVENTS = f"publish {EVENTS_EXCHANGE}", tracing.of_queue(EVENTS_EXCHANGE)

log = structlog.get_logger()


class NoQueueBound(Unavailable):
    """No queue is bound to the exchange, as before the dispatcher's first start. Events wait."""


class BrokerBus:
    """`EventBus`: the topic exchange of registry events, and broadcasts to every gateway."""

    def __init__(self, publisher: Publisher, probe: QueueProbe, broadcaster: Broadcaster) -> None:
        self._publisher = publisher
        self._probe = probe
        self._broadcaster = broadcaster

    async def publish(self, event: WaitingEvent) -> None:
        """Publishes an event; raises NoQueueBound if the broker has no queue for it."""
        body = event.body if event.owner is None else encode_for_owner(event.owner, event.body)
        attributes = {**_EVENTS, "event.id": event.id, "event.type": event.type.value}
        # An event without a trace, as of an import, begins one.
        with tracing.span(_PUBLISH, tracing.Kind.PRODUCER, event.trace, attributes):
            try:
                await self._publisher.publish(
                    body, exchange=EVENTS_EXCHANGE, routing_key=event.routing_key
                )
            except Unroutable as error:
                raise NoQueueBound("no queue is bound to the events exchange") from error
        log.info("event.published", event_id=event.id, company=event.company)

    async def takes_repeats(self) -> bool:
        """Returns whether a dispatcher consumes the queue of events and it is short."""
        queue = await self._probe.state(FAN_OUT_QUEUE)
        return queue is not None and queue.consumers > 0 and queue.ready < LONG_QUEUE

    async def notify(self, notice: FeedNotice) -> None:
        """Broadcasts to every gateway that the feed has grown; may be lost."""
        await self._broadcaster.send(notice.model_dump_json(exclude_none=True).encode())


class OutboxWorker:
    """Publishes, confirms and measures the outbox while this process holds the lease."""

    def __init__(
        self,
        publish: PublishOutbox,
        confirm: ConfirmEvents,
        leases: StoredLeases,
        *,
        random: Random,
        now: Callable[[], datetime],
    ) -> None:
        self._publish = publish
        self._confirm = confirm
        self._leases = leases
        self._random = random
        self._now = now
        self._leads = False
        #: Set when the lease was taken: the outbox is measured at once.
        self._took = asyncio.Event()
        self._renew_at = 0.0

    async def run(self) -> None:
        """Publishes while it holds the lease, until cancelled; waits during outages."""
        try:
            # Receipts must keep up with events. Neither they nor a count may delay them.
            async with background(self._confirming(), self._measuring()):
                await self._publishing()
        finally:
            await self._give_up()

    async def _publishing(self) -> None:
        waits = delays(self._random)
        while True:
            try:
                pause = await self._pass()
                waits = delays(self._random)
            except Unavailable as outage:
                self._renew_at = 0.0  # it may have expired meanwhile
                pause = next(waits)
                log.debug("outbox.waiting", reason=str(outage))
            await asyncio.sleep(pause)

    async def _confirming(self) -> None:
        while True:
            pause = await self._confirm_due() if self._leads else _CONFIRM_EVERY
            await asyncio.sleep(pause)

    async def _pass(self) -> float:
        """One poll of the outbox; returns the seconds until the next."""
        led, self._leads = self._leads, await self._has_lease()
        if self._leads and not led:
            self._took.set()
        if not self._leads:
            # Another process measures from now on; the old values would never change here.
            _show(Depth(0, None), Depth(0, None), at=self._now())
            return _STAND_BY
        # A pass that found a whole batch may have left more.
        return 0.0 if await self._publish() >= BATCH else _POLL_EVERY

    async def _has_lease(self) -> bool:
        """Renews the lease when a third of its time has passed, rather than at each poll."""
        now = asyncio.get_running_loop().time()
        if now < self._renew_at:
            return True
        has_it = await self._leases.take(_JOB, span=_LEASE)
        self._renew_at = now + _LEASE.total_seconds() / 3 if has_it else 0.0
        return has_it

    async def _confirm_due(self) -> float:
        """Confirms or republishes events; returns the seconds until the next such pass."""
        try:
            result = await self._confirm()
        except Unavailable as outage:
            log.warning("outbox.receipts_unavailable", reason=str(outage))
            return _CONFIRM_AFTER_FAULT
        except Exception:
            # For example, a database user without permission to read the receipts.
            log.exception("outbox.confirming_failed")
            return _CONFIRM_AFTER_FAULT
        if result.published_again:
            _REPUBLISHED.inc(result.published_again)
            log.warning("outbox.published_again", count=result.published_again)
        return 0.0 if result.may_be_more else _CONFIRM_EVERY

    async def _measuring(self) -> None:
        await repeat(
            self._measure,
            every=_MEASURE_EVERY,
            unavailable="outbox.measuring_waits",
            failed="outbox.measuring_failed",
            asked=self._took,
        )

    async def _measure(self) -> None:
        if not self._leads:
            return
        dropped = await self._publish.outbox.drop_expired(at=self._now())
        if dropped:
            _DROPPED.inc(dropped)
            log.error("outbox.dropped", count=dropped)
        waiting = await self._publish.outbox.depth()
        overdue = await self._confirm.unconfirmed.depth(at=self._now())
        if self._leads:  # otherwise another process measures by now
            _show(waiting, overdue, at=self._now())
            await self._publish.repeat_notice()

    async def _give_up(self) -> None:
        try:
            await self._leases.give_up(_JOB)
        except Unavailable as outage:
            log.debug("outbox.lease_kept", reason=str(outage))  # it expires by itself


def _show(waiting: Depth, unconfirmed: Depth, *, at: datetime) -> None:
    for depth, count, oldest in (
        (waiting, _WAITING, _OLDEST),
        (unconfirmed, _UNCONFIRMED, _UNCONFIRMED_OLDEST),
    ):
        count.set(depth.events)
        oldest.set(0 if depth.since is None else (at - depth.since).total_seconds())
