"""Deliveries whose wake-up did not come are woken again, or found by their webhook's lane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from common.contracts.webhooks import WebhookId
from dispatcher.ports import DeliveryQueue, OverdueRows
from webhook_store.delivery_models import Due

#: Rows woken in one pass.
LIMIT = 1000
#: While so many messages wait, what is overdue is only slow, and more of them would not help.
LONG_QUEUE = 500


@dataclass(frozen=True, slots=True)
class Swept:
    """How many overdue deliveries a pass found."""

    #: Their wake-ups did not come: they were woken.
    lost: int = 0
    #: They only wait for a slot: their webhook's lane looks into the store for them.
    over_cap: int = 0

    @property
    def may_be_more(self) -> bool:
        """Whether another pass would find more."""
        return self.lost + self.over_cap >= LIMIT


@dataclass(frozen=True, slots=True)
class OverdueRequeuer:
    """Heals a purged queue, a lost message and a dead process: they delay, and lose nothing."""

    rows: OverdueRows
    delivery_queue: DeliveryQueue
    #: How long a row that was woken is left alone.
    pause: timedelta
    #: Has the lane of a webhook look into the store, if the webhook has one in this process.
    rescan: Callable[[WebhookId], bool]
    now: Callable[[], datetime]

    async def __call__(self) -> Swept:
        """Raises `Unavailable`."""
        if await self.delivery_queue.waiting() >= LONG_QUEUE:
            return Swept()
        at = self.now()
        due = await self.rows.overdue(at=at, limit=LIMIT)
        has_backlog = {one: self.rescan(one) for one in {one.task.webhook_id for one in due}}
        lost = [one for one in due if not has_backlog[one.task.webhook_id]]
        await self._wake([one for one in lost if not one.is_retry], retries=False)
        await self._wake([one for one in lost if one.is_retry], retries=True)
        # Only now: whatever fails before this is done again by the next pass.
        await self.rows.postpone(
            [one.task.delivery_id for one in due], at=at, until=at + self.pause
        )
        return Swept(lost=len(lost), over_cap=len(due) - len(lost))

    async def _wake(self, due: Sequence[Due], *, retries: bool) -> None:
        if due:
            await self.delivery_queue.enqueue([one.task for one in due], retries=retries)
