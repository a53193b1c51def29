"""Deliveries whose wake-up did not come are woken again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from common.contracts.webhooks import WebhookId
from dispatcher.ports import OverdueRows, Wakes
from webhook_store.delivery_models import Due

#: Rows woken in one pass.
LIMIT = 1000
#: While so many messages wait, what is overdue is only slow, and more of them would not help.
LONG_QUEUE = 500


@dataclass(frozen=True, slots=True)
class Swept:
    """How many deliveries a pass woke."""

    #: Their wake-ups did not come.
    lost: int = 0
    #: These only wait for a slot, and woken they do so still: their webhook's lane has them.
    over_cap: int = 0

    @property
    def may_be_more(self) -> bool:
        """Whether another pass would find more."""
        return self.lost + self.over_cap >= LIMIT


@dataclass(frozen=True, slots=True)
class Sweep:
    """Heals a purged queue, a lost message and a dead process: they delay, and lose nothing."""

    rows: OverdueRows
    wakes: Wakes
    #: How long a row that was woken is left alone.
    pause: timedelta
    #: Whether a webhook has more due deliveries than slots, here and now.
    has_lane: Callable[[WebhookId], bool]
    now: Callable[[], datetime]

    async def __call__(self) -> Swept:
        """How many it woke. Raises `Outage`."""
        if await self.wakes.waiting() >= LONG_QUEUE:
            return Swept()
        at = self.now()
        due = await self.rows.overdue(at=at, limit=LIMIT)
        # Before they are woken: that may make lanes of what was lost.
        over_cap = sum(self.has_lane(one.task.webhook_id) for one in due)
        await self._wake([one for one in due if not one.is_retry], retries=False)
        await self._wake([one for one in due if one.is_retry], retries=True)
        # Only now: whatever fails before this is done again by the next pass.
        await self.rows.leave_alone(
            [one.task.delivery_id for one in due], at=at, until=at + self.pause
        )
        return Swept(lost=len(due) - over_cap, over_cap=over_cap)

    async def _wake(self, due: Sequence[Due], *, retries: bool) -> None:
        if due:
            await self.wakes.now([one.task for one in due], retries=retries)
