"""Fakes of the dependencies of ingest."""

from dataclasses import dataclass, field

from common.contracts.events import FeedNotice
from common.contracts.failures import Unavailable
from ingest.publishing.outbox import WaitingEvent


@dataclass
class FakeBus:
    """`EventBus` that keeps the notices, and the events but those of `refused` companies."""

    refused: frozenset[str] = frozenset()
    has_short_queue: bool = True
    taken: list[str] = field(default_factory=list)
    notices: list[FeedNotice] = field(default_factory=list)

    async def publish(self, event: WaitingEvent) -> None:
        if event.company in self.refused:
            raise Unavailable("the broker did not take it")
        self.taken.append(event.id)

    async def takes_repeats(self) -> bool:
        return self.has_short_queue

    async def notify(self, notice: FeedNotice) -> None:
        self.notices.append(notice)
