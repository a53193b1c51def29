"""Requeueing of overdue deliveries whose message was lost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from common.contracts.webhooks import WebhookId
from dispatcher.ports import DeliveryQueue, OverdueRows
from webhook_store.delivery_models import Due

#: Maximum rows requeued per pass.
BATCH_SIZE = 1000
#: Queue length above which overdue deliveries are considered slow, not lost.
LONG_QUEUE = 500


@dataclass(frozen=True, slots=True)
class Requeued:
    """Counts of the overdue deliveries of a pass."""

    #: Their messages were lost: they were requeued.
    lost: int = 0
    #: Waiting for a slot: their webhook's backlog reads them from the store.
    throttled: int = 0

    @property
    def may_be_more(self) -> bool:
        """True if another pass may find more."""
        return self.lost + self.throttled >= BATCH_SIZE


@dataclass(frozen=True, slots=True)
class OverdueRequeuer:
    """Recovers from purged queues, lost messages and crashed processes."""

    rows: OverdueRows
    delivery_queue: DeliveryQueue
    #: Minimum interval between two requeues of a row.
    pause: timedelta
    #: Makes a webhook's backlog read the store again; False when it has none here.
    rescan: Callable[[WebhookId], bool]
    now: Callable[[], datetime]

    async def __call__(self) -> Requeued:
        """Runs one pass; raises `Unavailable`."""
        if await self.delivery_queue.waiting() >= LONG_QUEUE:
            return Requeued()
        at = self.now()
        due = await self.rows.overdue(at=at, limit=BATCH_SIZE)
        has_backlog = {one: self.rescan(one) for one in {one.task.webhook_id for one in due}}
        lost = [one for one in due if not has_backlog[one.task.webhook_id]]
        await self._requeue([one for one in lost if not one.is_retry], retries=False)
        await self._requeue([one for one in lost if one.is_retry], retries=True)
        # Last: the next pass repeats anything that fails before this.
        await self.rows.postpone(
            [one.task.delivery_id for one in due], at=at, until=at + self.pause
        )
        return Requeued(lost=len(lost), throttled=len(due) - len(lost))

    async def _requeue(self, due: Sequence[Due], *, retries: bool) -> None:
        if due:
            await self.delivery_queue.enqueue([one.task for one in due], retries=retries)
