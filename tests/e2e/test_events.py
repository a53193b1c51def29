"""A change in a register, from the importer to a receiver."""

import asyncio
from typing import Any

import pymongo
import pytest

from tests.delivery.receiver import Received, Receiver
from tests.delivery.waiting import eventually
from tests.e2e.client import Client
from tests.e2e.conftest import Running
from tests.e2e.register import Register, an_entity

pytestmark = pytest.mark.e2e

#: Posts in flight to one webhook (WEBHOOK_MAX_POSTS_PER_WEBHOOK).
CAP = 4


async def test_the_same_record_again_is_no_event_and_a_change_back_is_one(
    owner: Client, receiver: Receiver, register: Register
) -> None:
    number = "310999954"
    webhook = await owner.create(receiver.url("/all"), filter={"companies": [f"no:{number}"]})
    receiver.trust("/all", webhook["secret"])

    for name in ("PRØVEN AS", "PRØVEN AS", "FORSØKET AS", "PRØVEN AS"):
        await register.load("no-enheter", an_entity(number, name))

    await receiver.until(lambda: len(receiver.received) >= 3)
    told = sorted((one.event["revision"], one.event["type"]) for one in receiver.received)
    assert told == [(1, "company.created"), (2, "company.updated"), (3, "company.updated")]
    assert len(receiver.counted()) == 3


async def test_a_webhook_receives_only_events_it_subscribed_to(
    owner: Client, receiver: Receiver, register: Register
) -> None:
    number = "310999962"
    subscriptions: dict[str, dict[str, Any]] = {
        "/names": {"events": ["company.updated"]},
        "/danish": {"events": ["*"], "filter": {"countries": ["dk"]}},
        "/others": {"events": ["*"], "filter": {"companies": ["no:310345679"]}},
        "/families": {"events": ["production_unit.*", "company.*"]},
    }
    for path, subscription in subscriptions.items():
        webhook = await owner.create(receiver.url(path), **subscription)
        receiver.trust(path, webhook["secret"])

    def told() -> dict[str, set[str]]:
        """The types of events that each has got of this company; there may be others."""
        return {
            path: {one.event["type"] for one in receiver.at(path) if one.event["vat"] == number}
            for path in subscriptions
        }

    await register.load("no-enheter", an_entity(number, "PRØVETONEN AS"))
    await register.load("no-enheter", an_entity(number, "PRØVEKLANGEN AS"))

    await receiver.until(lambda: sum(map(len, told().values())) >= 3)
    assert told() == {
        "/names": {"company.updated"},
        "/danish": set(),
        "/others": set(),
        "/families": {"company.created", "company.updated"},
    }


async def test_waiting_deliveries_of_a_removed_company_are_cancelled_and_deleted(
    owner: Client,
    receiver: Receiver,
    register: Register,
    running: Running,
    mongo_admin: pymongo.MongoClient[dict[str, Any]],
) -> None:
    number = "310999970"
    webhook = await owner.create(receiver.url("/slow"), filter={"companies": [f"no:{number}"]})
    receiver.trust("/slow", webhook["secret"])
    stored = mongo_admin[running.names.webhooks]["events"]
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
