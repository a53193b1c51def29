"""A change in a register, from the importer to a receiver."""

import asyncio
from typing import Any

import pymongo
import pytest

from tests.delivery.receiver import Received, Receiver
from tests.delivery.waiting import eventually
from tests.e2e.client import Client
from tests.e2e.conftest import Running
from tests.e2e.register import Register, a_card, a_unit, an_entity, owned_by

pytestmark = pytest.mark.e2e

#: Posts in flight to one webhook (WEBHOOK_MAX_POSTS_PER_WEBHOOK).
CAP = 4


async def test_each_change_of_a_company_is_an_event(
    owner: Client, receiver: Receiver, register: Register
) -> None:
    number, unit = "310999938", "310999946"
    webhook = await owner.create(
        receiver.url("/all"), filter={"countries": ["no"], "companies": [f"no:{number}"]}
    )
    receiver.trust("/all", webhook["secret"])

    taken = 0

    async def told(count: int) -> dict[str, dict[str, Any]]:
        """The next so many events, by type."""
        nonlocal taken
        await receiver.until_count(taken + count)
        received = receiver.received[taken : taken + count]
        taken += count
        assert all(one.genuine for one in received)
        return {one.event["type"]: one.event for one in received}

    await register.load("no-enheter", an_entity(number, "PRØVELØPET AS"))
    founded = await told(1)
    await register.load("no-underenheter", a_unit(unit, number))
    opened = await told(1)
    await register.load("no-roller", owned_by(number, "Kari", "Prøvesen"))
    owned = await told(1)
    await register.load("peppol", a_card(number))
    listed = await told(1)
    await register.load("no-enheter", an_entity(number, "PRØVEFALLET AS", konkurs=True))
    failed = await told(2)
    await register.load("no-underenheter", a_unit(unit, number, epostadresse="a@unit.example"))
    reachable = await told(1)
    await register.load(
        "no-underenheter",
        a_unit(unit, number, epostadresse="a@unit.example", nedleggelsesdato="2026-01-31"),
    )
    closed = await told(1)
    await register.remove("no", number)
    removed = await told(1)

    created = founded["company.created"]
    assert (created["country"], created["vat"], created["revision"]) == ("no", number, 1)
    assert created["data"]["company"]["name"] == "PRØVELØPET AS"
    assert created["data"]["changes"] == []
    assert opened["production_unit.created"]["data"]["production_unit"]["number"] == unit
    assert changes_of(owned["owners.changed"])["owners"]["new"][0]["name"] == "Kari Prøvesen"
    [entry] = changes_of(listed["einvoicing.changed"])["einvoicing"]["new"]
    assert entry["identifier"] == f"0192:{number}"
    updated, turned = failed["company.updated"], failed["company.status_changed"]
    assert updated["data"]["changes"] == [
        {"field": "name", "old": "PRØVELØPET AS", "new": "PRØVEFALLET AS"},
    ]
    assert changes_of(turned)["status"] == {"field": "status", "old": "active", "new": "bankrupt"}
    assert turned["revision"] == updated["revision"] == 5
    assert changes_of(reachable["production_unit.updated"])["email"]["new"] == "a@unit.example"
    assert closed["production_unit.ended"]["data"]["production_unit"]["ended"] == "2026-01-31"
    assert removed["company.removed"]["data"] == {"company": None, "changes": []}
    assert len(receiver.received) == taken == len(receiver.counted())


def changes_of(event: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The changes in an event, by field."""
    return {change["field"]: change for change in event["data"]["changes"]}


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
