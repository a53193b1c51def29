"""The life of a webhook and of its deliveries, as its owner and its receiver see it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pymongo
import pytest

from tests.delivery.receiver import Received, Receiver
from tests.delivery.verifying import is_genuine
from tests.delivery.waiting import eventually
from tests.e2e.client import Client
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity

pytestmark = pytest.mark.e2e

#: The first attempt and four retries (docs/decisions.md).
ATTEMPTS = 5
#: Posts in flight to one webhook (WEBHOOK_MAX_POSTS_PER_WEBHOOK).
CAP = 4


async def test_a_dead_receiver_is_disabled_and_recovers_missed_deliveries(
    owner: Client, receiver: Receiver, register: Register
) -> None:
    since = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    number = "310999911"
    of_it = {"companies": [f"no:{number}"]}
    webhook = await owner.subscribe(receiver, "/hook", filter=of_it)
    path = f"/{webhook['id']}"
    receiver.answer("/hook", 503)

    await register.load("no-enheter", an_entity(number, "PRØVEFALLET AS"))
    disabled = await owner.until_webhook(webhook, status="disabled")
    seen = list(receiver.at("/hook"))
    listed = await owner.deliveries(webhook)
    await owner.until_finished(webhook, listed[0]["delivery_id"])
    on_disabled = [
        await owner.ask("POST", f"{path}/test"),
        await owner.ask("POST", f"{path}/recover", {"since": since}),
        await owner.ask("POST", f"{path}/deliveries/{listed[0]['delivery_id']}/retry"),
    ]
    await register.load("no-enheter", an_entity(number, "PRØVEREISNINGEN AS"))
    [cancelled] = await owner.until_listed(webhook, 1, "?status=cancelled")
    receiver.answer("/hook", 204)
    enabled = await owner.demand("PATCH", path, {"status": "enabled"})
    recovered = await owner.demand("POST", f"{path}/recover", {"since": since})

    assert disabled["disabled_reason"] == "delivery_failed"
    assert [(one["attempt"], one["response_code"]) for one in listed] == [
        (attempt, 503) for attempt in range(ATTEMPTS, 0, -1)
    ]
    assert [(answer.status, answer.code) for answer in on_disabled] == [
        (409, "webhook_disabled")
    ] * 3
    assert cancelled["event_type"] == "company.updated"
    assert (cancelled["attempt"], cancelled["error"]) == (0, "webhook_disabled")
    assert (enabled["status"], enabled["disabled_reason"]) == ("enabled", None)
    assert recovered == {"count": 2}
    await receiver.until(lambda: len(receiver.at("/hook")) == ATTEMPTS + 2)
    again = receiver.at("/hook")[ATTEMPTS:]
    assert all(one.genuine for one in again)
    assert {one.event["type"] for one in again} == {"company.created", "company.updated"}
    # A delivery that failed comes again the same.
    assert len({(one.delivery_id, one.body) for one in seen}) == 1
    assert (seen[0].delivery_id, seen[0].body) in {(one.delivery_id, one.body) for one in again}


async def test_after_a_rotation_both_secrets_sign(owner: Client, receiver: Receiver) -> None:
    webhook = await owner.subscribe(receiver, "/hook")

    rotated = await owner.demand("POST", f"/{webhook['id']}/rotate-secret")
    receiver.trust("/hook", rotated["secret"])
    await owner.test(webhook)

    received = await receiver.next("/hook")
    as_the_old_one_sees_it = {
        **received.headers,
        "X-Signature": received.headers["X-Signature-Previous"],
    }
    now = int(received.headers["X-Timestamp"])
    assert rotated["secret"] != webhook["secret"]
    assert received.genuine
    assert is_genuine(as_the_old_one_sees_it, received.body, webhook["secret"], now=now)


async def test_waiting_deliveries_of_a_removed_company_are_cancelled_and_deleted(
    owner: Client,
    receiver: Receiver,
    register: Register,
    running: Running,
    databases: pymongo.MongoClient[dict[str, Any]],
) -> None:
    number = "310999105"
    webhook = await owner.subscribe(receiver, "/slow", filter={"companies": [f"no:{number}"]})
    stored = databases[running.names.webhooks]["events"]
    about_it = {"company": f"no:{number}"}
    gate = asyncio.Event()

    async def slowly(_received: Received) -> int:
        await gate.wait()
        return 204

    async def kinds() -> set[str]:
        return {event["type"] for event in await asyncio.to_thread(stored.find(about_it).to_list)}

    # As many posts as the webhook may have hang, so that the next delivery waits in its row.
    receiver.answer("/slow", slowly)
    for _ in range(CAP):
        await owner.test(webhook)
    await receiver.next("/slow", number=CAP)
    await register.load("no-enheter", an_entity(number, "PRØVEMINNET AS"))
    await eventually(kinds, lambda seen: seen == {"company.created"})

    await register.remove("no", number)

    [cancelled] = await owner.until_listed(webhook, 1, "?status=cancelled")
    assert (cancelled["event_type"], cancelled["error"]) == ("company.created", "company_removed")
    await eventually(kinds, lambda seen: seen == {"company.removed"})
    assert b"MINNET" not in b"".join(event["body"] for event in stored.find(about_it))
    gate.set()
    last = await receiver.next("/slow", number=CAP + 1)
    assert last.genuine
    assert last.event["type"] == "company.removed"
