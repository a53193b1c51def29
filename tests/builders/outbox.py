"""The outbox of a register with a clock that the test moves, and the bus that it publishes to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from common.contracts.events import FeedFilter, FeedPage, FeedRequest
from common.mongo import Database
from ingest.publishing.outbox import StoredOutbox
from ingest.publishing.publisher import (
    ConfirmEvents,
    EventBus,
    PublishOutbox,
    StoredReceipts,
    StoredUnconfirmedEvents,
)
from register_store.documents import OUTBOX
from register_store.feed import StoredFeed
from tests.builders.companies import an_outbox_row
from tests.fakes.ingest import FakeBus

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
RETENTION = timedelta(days=30)
#: Of the first receipt.
TIMEOUT = timedelta(minutes=2)


@dataclass
class Outbox:
    register: Database
    bus: FakeBus = field(default_factory=FakeBus)
    now: datetime = NOON
    #: With the dispatcher's receipts.
    webhooks: Database | None = None

    def clock(self) -> datetime:
        return self.now

    @property
    def stored(self) -> StoredOutbox:
        """A new process's."""
        return StoredOutbox(self.register, retention=RETENTION)

    def publisher(
        self, outbox: StoredOutbox | None = None, bus: EventBus | None = None
    ) -> PublishOutbox:
        return PublishOutbox(outbox or self.stored, bus or self.bus, self.clock, TIMEOUT)

    @property
    def unconfirmed(self) -> StoredUnconfirmedEvents:
        return StoredUnconfirmedEvents(self.register, receipt_timeout=TIMEOUT)

    @property
    def confirm(self) -> ConfirmEvents:
        receipts = StoredReceipts(self.register if self.webhooks is None else self.webhooks)
        return ConfirmEvents(self.unconfirmed, receipts, self.bus, self.clock, TIMEOUT)

    @property
    def feed(self) -> StoredFeed:
        return StoredFeed(self.register, retention=RETENTION, now=self.clock)

    async def store(self, *ids: str, **fields: Any) -> None:
        """Events of a company whose revisions rise from 1."""
        await self.register[OUTBOX].insert_many(
            an_outbox_row(one, **{"revision": number, "occurred_at": self.now, **fields})
            for number, one in enumerate(ids, 1)
        )

    async def published(self, *ids: str, **fields: Any) -> None:
        await self.store(*ids, **fields)
        await self.publisher()()

    async def unpublished(self) -> list[str]:
        found = self.register[OUTBOX].find({"published_at": None}, sort=[("_id", 1)])
        return [event["_id"] async for event in found]

    async def repeated(self, *, after: timedelta = timedelta(0)) -> Sequence[str]:
        """The events that a pass publishes again when this time has passed."""
        self.now += after
        before = len(self.bus.taken)
        await self.confirm()
        return self.bus.taken[before:]

    async def read(
        self, after: int | None = None, *, owner: str = "acme", **fields: Any
    ) -> FeedPage:
        """A page of the feed."""
        limits = {name: fields.pop(name) for name in FeedFilter.model_fields if name in fields}
        given = {"limit": 100, "filter": FeedFilter(**limits), **fields}
        return await self.feed.read(FeedRequest(owner=owner, after=after, **given))


def bodies(page: FeedPage) -> list[str]:
    return [event.body.decode() for event in page.events]
