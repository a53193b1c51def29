"""Deliveries whose wake-up did not come are woken again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dispatcher.ports import OverdueRows, Wakes
from webhook_store.delivery_models import Due

#: Rows woken in one pass.
LIMIT = 1000
#: While so many messages wait, what is overdue is only slow, and more of them would not help.
LONG_QUEUE = 500


@dataclass(frozen=True, slots=True)
class Sweep:
    """Heals a purged queue, a lost message and a dead process: they delay, and lose nothing."""

    rows: OverdueRows
    wakes: Wakes
    #: How long a row that was woken is left alone.
    pause: timedelta
    now: Callable[[], datetime]

    async def __call__(self) -> int:
        """How many it woke; LIMIT when there may be more. Raises `Outage`."""
        if await self.wakes.waiting() >= LONG_QUEUE:
            return 0
        at = self.now()
        due = await self.rows.overdue(at=at, limit=LIMIT)
        await self._wake([one for one in due if not one.is_retry], retries=False)
        await self._wake([one for one in due if one.is_retry], retries=True)
        # Only now: whatever fails before this is done again by the next pass.
        await self.rows.leave_alone(
            [one.task.delivery_id for one in due], at=at, until=at + self.pause
        )
        return len(due)

    async def _wake(self, due: Sequence[Due], *, retries: bool) -> None:
        if due:
            await self.wakes.now([one.task for one in due], retries=retries)
