"""A killed dispatcher loses no event and repeats few."""

import asyncio

import pytest

from tests.delivery.pipeline import SHORT_LEASE, Pipeline, an_event
from tests.delivery.receiver import Received

pytestmark = [pytest.mark.integration, pytest.mark.chaos]


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
