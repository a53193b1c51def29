"""The life of a webhook, as its owner and its receiver see it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.delivery.receiver import Received, Receiver
from tests.delivery.verifying import is_genuine
from tests.e2e.client import Client, Json
from tests.e2e.register import Register, an_entity

pytestmark = pytest.mark.e2e

#: The first attempt and four retries (spec section 8).
ATTEMPTS = 5


async def registered(owner: Client, receiver: Receiver, path: str, **fields: Any) -> Json:
    """A new webhook at one of the receiver's paths, which knows its secret."""
    webhook = await owner.create(receiver.url(path), **fields)
    receiver.trust(path, webhook["secret"])
    return webhook


def failing(times: int) -> Any:
    """A receiver's behaviour: so often 500, then 204."""
    left = [500] * times

    async def answer(_received: Received) -> int:
        return left.pop() if left else 204

    return answer


async def test_a_delivery_that_failed_comes_again_the_same(
    owner: Client, receiver: Receiver
) -> None:
    webhook = await registered(owner, receiver, "/hook")
    receiver.answer("/hook", failing(times=2))

    await owner.test(webhook)

    attempts = [await receiver.next("/hook", number=number) for number in (1, 2, 3)]
    assert all(attempt.genuine for attempt in attempts)
    assert len({(attempt.delivery_id, attempt.body) for attempt in attempts}) == 1
    listed = await owner.until_listed(webhook, 3)
    assert [(one["attempt"], one["status"], one["response_code"]) for one in listed] == [
        (3, "succeeded", 204),
        (2, "failed", 500),
        (1, "failed", 500),
    ]
    assert (await owner.webhook(webhook))["status"] == "enabled"


async def test_a_dead_receiver_is_disabled_and_recovers_missed_deliveries(
    owner: Client, receiver: Receiver, register: Register
) -> None:
    since = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    number = "310999911"
    of_it = {"companies": [f"no:{number}"]}
    webhook = await registered(owner, receiver, "/hook", filter=of_it)
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
    assert seen[0].delivery_id in {one.delivery_id for one in again}


async def test_after_a_rotation_both_secrets_sign(owner: Client, receiver: Receiver) -> None:
    webhook = await registered(owner, receiver, "/hook")

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


async def test_a_deleted_webhook_gets_nothing_more(owner: Client, receiver: Receiver) -> None:
    webhook = await registered(owner, receiver, "/hook")
    receiver.answer("/hook", 500)
    await owner.test(webhook)
    await owner.until_listed(webhook, 1)

    await owner.demand("DELETE", f"/{webhook['id']}")
    gone = await owner.ask("GET", f"/{webhook['id']}")
    other = await registered(owner, receiver, "/other")
    receiver.answer("/other", failing(times=ATTEMPTS - 1))
    seen = len(receiver.at("/hook"))
    await owner.test(other)
    await receiver.next("/other", number=ATTEMPTS)

    # By then every retry of the first one would have come; one may have been on its way.
    assert (gone.status, gone.code) == (404, "webhook_not_found")
    assert len(receiver.at("/hook")) <= seen + 1
