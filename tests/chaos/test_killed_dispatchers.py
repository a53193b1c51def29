"""A killed dispatcher loses no event and repeats few."""

import asyncio
from collections import Counter

import pytest

from common.contracts.events import RegistryEvent
from tests.delivery.pipeline import SHORT_LEASE, Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: Attempts at a kill before all rows are made.
ROUNDS = 10


async def test_killed_before_recording_it_repeats_unrecorded_posts(
    pipe: Pipeline,
) -> None:
    webhook = await pipe.webhook("/a")
    service = await pipe.dispatcher("first", **SHORT_LEASE)
    events = [an_event(number) for number in range(20)]
    killed = asyncio.Event()

    async def kill_at_the_tenth(received: Received) -> int:
        if len(pipe.receiver.received) == 10:
            service.process.kill()
            killed.set()
        return 200

    pipe.receiver.answer("/a", kill_at_the_tenth)
    await pipe.publish(*events)
    await pipe.receiver.until(killed.is_set)
    rows = [await pipe.row(event, webhook) for event in events]
    unrecorded = {row["event_id"] for row in rows if row and row["state"] == "waiting"}

    await pipe.dispatcher("second")
    for event in events:
        await pipe.until_row(event, webhook, state="succeeded", seconds=60)

    counted = pipe.receiver.counted()
    repeated = {event_id for event_id, times in counted.items() if times > 1}
    assert set(counted) == {event.id for event in events}
    assert repeated  # at least the tenth
    assert repeated <= unrecorded
    assert max(counted.values()) == 2
    assert all(one.genuine for one in pipe.receiver.received)
    ids_by_event = {(one.event["id"], one.delivery_id) for one in pipe.receiver.received}
    assert len(ids_by_event) == len(events)  # a repeat has the same X-Delivery-Id


async def test_killed_while_a_receiver_hangs_it_posts_again(pipe: Pipeline) -> None:
    webhook = await pipe.webhook("/a")
    service = await pipe.dispatcher("first", **SHORT_LEASE)
    event = an_event()

    async def hang(_received: Received) -> int:
        await asyncio.Event().wait()
        return 200

    pipe.receiver.answer("/a", hang)
    await pipe.publish(event)
    first = await pipe.receiver.next("/a")
    await pipe.kill(service)
    pipe.receiver.answer("/a", 200)
    # By its claim the message was acked: what repeats the delivery is its row alone.
    await pipe.dispatcher("second")
    await pipe.until_row(event, webhook, state="succeeded", attempts=1, seconds=60)

    again = await pipe.receiver.next("/a", number=2)
    assert again.delivery_id == first.delivery_id


async def test_killed_during_fan_out_it_misses_no_webhook(pipe: Pipeline) -> None:
    paths = [f"/{number}" for number in range(1000)]
    await pipe.webhooks(paths, of_many_owners=True)
    events: list[RegistryEvent] = []
    made_before = 0
    while not 0 < made_before < len(paths) and len(events) < ROUNDS:
        events.append(an_event(len(events)))
        made_before = await rows_made_at_a_kill(pipe, events[-1])
    posted_before = len(pipe.receiver.received)
    await pipe.dispatcher("last")
    wanted = len(paths) * len(events)
    await eventually(
        lambda: pipe.webhooks_db["deliveries"].count_documents({"state": "succeeded"}),
        lambda count: count == wanted,
        seconds=90,
    )

    assert 0 < made_before < len(paths)  # it was the middle
    times = Counter((one.path, one.event["id"]) for one in pipe.receiver.received)
    assert len(times) == wanted
    assert times.total() - wanted <= posted_before


async def rows_made_at_a_kill(pipe: Pipeline, event: RegistryEvent) -> int:
    """The number of an event's rows when the dispatcher is killed at the first."""
    service = await pipe.dispatcher(f"of-event-{event.revision}", **SHORT_LEASE)
    rows = pipe.webhooks_db["deliveries"]
    first = {"operationType": "insert", "fullDocument.event_id": event.id}
    async with await rows.watch([{"$match": first}]) as changes:
        await pipe.publish(event)
        await changes.next()
        service.process.kill()
    return await rows.count_documents({"event_id": event.id})
