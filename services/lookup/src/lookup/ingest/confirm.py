"""Republishes events that the broker lost, until the dispatcher has stored a receipt."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lookup.ingest.outbox import StoredReceipts, StoredUnconfirmedEvents
from lookup.ingest.publisher import BATCH, EventBus, publish_in_order

#: Maximum wait for the receipt of an event that was published several times. It keeps an event that
#: the dispatcher cannot process from filling its dead letters.
MAX_RECEIPT_TIMEOUT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The result of a pass over the events whose receipt is due."""

    confirmed: int = 0
    published_again: int = 0

    @property
    def may_be_more(self) -> bool:
        """True if an immediate further pass would find more."""
        return self.confirmed + self.published_again == BATCH


@dataclass(frozen=True, slots=True)
class ConfirmEvents:
    """Confirms events by their receipts, and republishes the others (ADR 0018)."""

    unconfirmed: StoredUnconfirmedEvents
    receipts: StoredReceipts
    bus: EventBus
    now: Callable[[], datetime]
    receipt_timeout: timedelta

    async def __call__(self) -> Confirmed:
        """Runs one pass. Raises `Unavailable`."""
        due = await self.unconfirmed.due(at=self.now(), limit=BATCH)
        if not due:
            return Confirmed()
        received = await self.receipts.of([event.id for event in due])
        if received:
            await self.unconfirmed.confirm(received)
        publications = {one.id: one.publications for one in due if one.id not in received}
        if not publications or not await self.bus.takes_repeats():
            return Confirmed(confirmed=len(received))
        # Read only now: a company that was removed meanwhile has no events any more.
        events = await self.unconfirmed.events(publications)
        published = await publish_in_order(self.bus, events)
        await self._postpone({event_id: publications[event_id] for event_id in published})
        return Confirmed(confirmed=len(received), published_again=len(published))

    async def _postpone(self, publications: dict[str, int]) -> None:
        now = self.now()
        ids_by_count: defaultdict[int, list[str]] = defaultdict(list)
        for event_id, count in publications.items():
            ids_by_count[count].append(event_id)
        for count, ids in ids_by_count.items():
            again_at = now + receipt_timeout(self.receipt_timeout, publications=count + 1)
            await self.unconfirmed.postpone(ids, again_at=again_at)


def receipt_timeout(first: timedelta, *, publications: int) -> timedelta:
    """The receipt timeout: doubled with each publication, up to a maximum."""
    longest = max(first, MAX_RECEIPT_TIMEOUT)
    # The factor is bounded because a timedelta is.
    return min(first * (1 << min(publications - 1, 16)), longest)
