"""A receiver that hangs does not delay the deliveries to others.

What other hostile receivers do is in tests/contract/test_senders.py.
"""

import asyncio

import pytest

from tests.delivery.pipeline import Pipeline, an_event
from tests.delivery.receiver import Received
from tests.delivery.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.chaos]

#: A post limit that no test waits for: what hangs does so until it is released.
PATIENT = {
    "webhook_retry_delays": "PT1H",
    "webhook_post_timeout": "PT10M",
    "webhook_lease": "PT11M",
    "shutdown_grace": "PT1S",
}


async def test_a_hanging_receiver_with_a_long_backlog_delays_no_other(
    pipe: Pipeline,
) -> None:
    slow = await pipe.webhook("/hangs", events=("production_unit.*",))
    good = await pipe.webhook("/good", events=("company.*",), owner="other-owner")
    released = asyncio.Event()

    async def hang(_received: Received) -> int:
        await released.wait()
        return 500

    pipe.receiver.answer("/hangs", hang)
    service = await pipe.dispatcher(**PATIENT)
    rows = pipe.webhooks_db["deliveries"]
    await pipe.publish(*(an_event(number, type="production_unit.updated") for number in range(300)))
    await eventually(lambda: rows.count_documents({"webhook_id": slow.id}), lambda n: n == 300)

    events = [an_event(number) for number in range(30)]
    await pipe.publish(*events)

    for event in events:
        await pipe.until_row(event, good, state="succeeded")
    assert service.is_ready()
    released.set()
