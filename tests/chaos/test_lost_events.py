"""The broker loses events that no dispatcher has received: they are published again."""

import asyncio
from collections.abc import Sequence

import pytest

from common.contracts.events import RegistryEvent
from common.contracts.topology import FAN_OUT_QUEUE
from common.mongo import Database
from local_stack.management import Management
from register_store.documents import OUTBOX
from tests.builders.companies import an_outbox_row_of
from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]


def replace_the_broker(management: Management, vhost: str) -> None:
    """By an empty one: exchanges, queues and connections are gone."""
    management.delete_vhost(vhost)
    management.create_vhost(vhost)


@pytest.fixture
async def outbox(pipe: Pipeline, register_db: Database) -> "Outbox":
    """The outbox of a writer."""
    service = pipe.system.start(
        "ingest", register_db=register_db.name, event_receipt_timeout="PT0.5S"
    )
    await asyncio.to_thread(service.wait_until_ready)
    return Outbox(register_db)


class Outbox:
    def __init__(self, register: Database) -> None:
        self._events = register[OUTBOX]

    async def add(self, events: Sequence[RegistryEvent]) -> None:
        await self._events.insert_many([an_outbox_row_of(event) for event in events])

    async def publish(self, events: Sequence[RegistryEvent]) -> None:
        """Returns when the broker has them."""
        await self.add(events)
        await self.until(published_at=None)

    async def until(self, **condition: object) -> None:
        """Returns when no event fulfils the condition any more."""

        async def count() -> int:
            return await self._events.count_documents(condition)

        await eventually(count, lambda left: left == 0)


async def test_events_that_the_broker_loses_arrive_once(
    pipe: Pipeline, outbox: Outbox, broker_management: Management, own_vhost: str
) -> None:
    await pipe.webhook("/a")
    purged, replaced, deleted, sent = (
        [an_event(number) for number in range(first, first + count)]
        for first, count in ((1, 20), (21, 20), (41, 20), (61, 200))
    )

    await outbox.publish(purged)
    await asyncio.to_thread(broker_management.purge, own_vhost, FAN_OUT_QUEUE)
    await outbox.publish(replaced)
    await asyncio.to_thread(replace_the_broker, broker_management, own_vhost)
    await outbox.publish(deleted)
    await asyncio.to_thread(broker_management.delete_queue, own_vhost, FAN_OUT_QUEUE)
    await pipe.dispatcher()
    await pipe.receiver.until_count(60)
    await outbox.until(again_at={"$exists": True})
    await outbox.add(sent)
    await pipe.receiver.until_count(80)
    # Now with a dispatcher, while events are sent.
    await asyncio.to_thread(replace_the_broker, broker_management, own_vhost)

    events = (*purged, *replaced, *deleted, *sent)
    await pipe.receiver.until_count(len(events), seconds=40)
    await outbox.until(again_at={"$exists": True})
    assert pipe.receiver.counted() == {event.id: 1 for event in events}
