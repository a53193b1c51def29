"""Events that the broker took and lost are published again, until the dispatcher has noted them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from lookup.ingest.publisher import BATCH, EventBus, WaitingEvent, publish_in_order


class Unconfirmed(NamedTuple):
    """An event that was published and has no receipt yet."""

    id: str
    publications: int


class UnconfirmedEvents(Protocol):
    """Events that were published and have no receipt yet. Every method may raise `Unavailable`."""

    async def due(self, *, at: datetime, limit: int) -> Sequence[Unconfirmed]:
        """The events that should have a receipt by now, in the order of their publication."""

    async def events(self, ids: Collection[str]) -> Sequence[WaitingEvent]:
        """The events with these ids, in the order in which they are published."""

    async def confirm(self, ids: Collection[str]) -> None:
        """Notes that these have a receipt: they are never published again by themselves."""

    async def postpone(self, ids: Collection[str], *, again_at: datetime) -> None:
        """Notes that these were published once more."""


class Receipts(Protocol):
    """The dispatcher's notes of the events that it has turned into deliveries."""

    async def of(self, event_ids: Collection[str]) -> Collection[str]:
        """The ids that have a receipt; raises `Unavailable`."""


class EventQueue(Protocol):
    """The dispatcher's queue of events."""

    async def takes_repeats(self) -> bool:
        """Whether a dispatcher consumes events and few wait for it; raises `Unavailable`.

        An event that still waits in the queue must not be added to it again and again.
        """


#: The longest wait for the receipt of an event that was published several times. An event that the
#: dispatcher can never process must not fill its dead letters.
MAX_RECEIPT_TIMEOUT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The result of a pass over the events whose receipt is due."""

    confirmed: int = 0
    published_again: int = 0

    @property
    def may_be_more(self) -> bool:
        """Whether another pass at once would find more."""
        return self.confirmed + self.published_again == BATCH


@dataclass(frozen=True, slots=True)
class ConfirmEvents:
    """Confirms events by their receipts, and publishes the others again (ADR 0018)."""

    unconfirmed: UnconfirmedEvents
    receipts: Receipts
    bus: EventBus
    queue: EventQueue
    now: Callable[[], datetime]
    receipt_timeout: timedelta

    async def __call__(self) -> Confirmed:
        """One pass. Raises `Unavailable`."""
        due = await self.unconfirmed.due(at=self.now(), limit=BATCH)
        if not due:
            return Confirmed()
        received = await self.receipts.of([event.id for event in due])
        if received:
            await self.unconfirmed.confirm(received)
        publications = {one.id: one.publications for one in due if one.id not in received}
        if not publications or not await self.queue.takes_repeats():
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
    """How long a receipt may take: twice as long after each publication, up to a maximum."""
    longest = max(first, MAX_RECEIPT_TIMEOUT)
    # The factor is bounded because a timedelta is.
    return min(first * (1 << min(publications - 1, 16)), longest)
