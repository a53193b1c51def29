"""A customer is removed from each database, also after the command was killed half-way."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from common.contracts.company import CompanyKey
from common.contracts.watchlists import Watchlist, WatchlistId
from common.contracts.webhooks import WebhookId
from common.mongo import Client, Database, database
from gateway.access.keys import Scope
from tests.builders.webhooks import (
    NOON,
    OTHER_OWNER,
    OWNER,
    a_call,
    a_secret,
    a_webhook,
    secret_keys,
)
from tests.commanding import run_main
from tests.conftest import DatabaseNames
from webhook_store.indexes import make_indexes
from webhook_store.watchlists import Members, Watchlists
from webhook_store.webhooks import Registration, Registrations

pytestmark = pytest.mark.integration

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(name="environment")
def _environment(mongo_url: str, database_names: DatabaseNames) -> dict[str, str]:
    return {**os.environ, "MONGO_URL": mongo_url, **database_names.environment}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    return lambda module, *arguments: run_main(module, *arguments, environment=environment)


@pytest.fixture
async def webhooks(mongo: Client, database_names: DatabaseNames) -> Database:
    found = database(mongo, database_names.webhooks)
    await make_indexes(found)
    return found


async def a_customer(webhooks: Database, owner: str, *, deliveries: int = 6) -> WebhookId:
    """A customer with a webhook, a watchlist of three companies, and deliveries in every state."""
    webhook = a_webhook(owner=owner)
    registrations = Registrations(webhooks, secret_keys("k1"), Random(1))
    await registrations.create(Registration(webhook, a_secret()), call_id=a_call(1), limit=50)
    watchlist = Watchlist(
        id=WatchlistId(f"wl_{len(owner)}"),
        owner=owner,
        name="all",
        description=None,
        size=3,
        created_at=NOON,
        updated_at=NOON,
    )
    await Watchlists(webhooks).create(watchlist)
    companies = [CompanyKey.parse(f"dk:1000000{number}") for number in range(3)]
    await Members(webhooks).add(watchlist.id, companies)
    digest = {"_id": f"dg_{owner}", "owner": owner, "watchlist_id": watchlist.id}
    await webhooks["digests"].insert_one({**digest, "address": "news@example.com"})
    await webhooks["recoveries"].insert_one({"_id": f"call-{owner}", "webhook_id": webhook.id})
    await webhooks["watchlist_locks"].insert_one({"_id": owner, "token": "", "until": NOON})
    rows: list[dict[str, Any]] = []
    attempts: list[dict[str, Any]] = []
    states = ["succeeded", "failed", "waiting", "cancelled"]
    for number in range(deliveries):
        state, row = states[number % 4], f"{owner}-{number}"
        common = {"webhook_id": webhook.id, "event_id": f"event-{owner}-{number}"}
        rows.append({**common, "_id": row, "state": state, "occurred_at": NOON})
        if state in ("succeeded", "failed"):
            attempt = {**common, "_id": f"{row}:1", "delivery_id": row, "attempted_at": NOON}
            attempts.append({**attempt, "status": state})
    await webhooks["deliveries"].insert_many(rows)
    await webhooks["attempts"].insert_many(attempts)
    # The first is a test of the webhook, the others are changes that everyone may receive.
    events = [
        {
            "_id": row["event_id"],
            "company": "dk:10000000" if number else None,
            "review_at": NOON + timedelta(days=30),
        }
        for number, row in enumerate(rows[:3])
    ]
    await webhooks["events"].insert_many(events)
    return webhook.id


async def documents(webhooks: Database) -> dict[str, list[str]]:
    """The ids in each collection that has any, but for what notes a removal."""
    return {
        name: ids
        for name in sorted(await webhooks.list_collection_names())
        if name not in ("idempotency", "deleted_webhooks")
        and (ids := sorted([one["_id"] async for one in webhooks[name].find({}, {"_id": 1})]))
    }


async def test_a_customer_leaves_nothing_and_another_keeps_everything(
    webhooks: Database, run: Run
) -> None:
    await a_customer(webhooks, OTHER_OWNER)
    kept = await documents(webhooks)
    gone = await a_customer(webhooks, OWNER)
    counts = "1 webhook, 1 watchlist with 3 companies, 1 digest, 0 files of customers, 4 attempts"

    counted = run("webhook_registry", "owners", "remove", OWNER, "--dry-run")
    before = await documents(webhooks)
    done = run("webhook_registry", "owners", "remove", OWNER)
    again = run("webhook_registry", "owners", "remove", OWNER)

    assert counted[:2] == (0, f"{counts} found\n")
    assert len(before["deliveries"]) == 12
    assert done[:2] == (0, f"{counts} deleted\n")
    none = "0 webhooks, 0 watchlists with 0 companies, 0 digests, 0 files of customers, 0 attempts"
    assert again[1] == f"{none} deleted\n"
    shared = {f"event-{OWNER}-1", f"event-{OWNER}-2"}
    after = await documents(webhooks)
    after["events"] = sorted({*after["events"]} - shared)
    assert after == kept
    assert [one["_id"] async for one in webhooks["deleted_webhooks"].find()] == [gone]


async def test_what_was_in_flight_goes_with_the_next_run(webhooks: Database, run: Run) -> None:
    gone = await a_customer(webhooks, OWNER)
    run("webhook_registry", "owners", "remove", OWNER)
    late = {"_id": "late", "webhook_id": gone, "delivery_id": "row", "event_id": "event"}
    await webhooks["attempts"].insert_one(late)

    done = run("webhook_registry", "owners", "remove", OWNER)

    assert done[1].endswith(" 1 attempt deleted\n")
    assert "attempts" not in await documents(webhooks)
    (job,) = [one async for one in webhooks["idempotency"].find({"webhooks": gone})]
    assert OWNER not in str(job)
    assert job["expires_at"] > NOON


async def test_a_killed_removal_is_continued(
    webhooks: Database, run: Run, environment: dict[str, str]
) -> None:
    await a_customer(webhooks, OTHER_OWNER)
    kept = await documents(webhooks)
    await a_customer(webhooks, OWNER, deliveries=12_000)
    command = (sys.executable, "-m", "webhook_registry", "owners", "remove", OWNER)

    async with await webhooks["deliveries"].watch(
        [{"$match": {"operationType": "delete"}}]
    ) as seen:
        process = await asyncio.create_subprocess_exec(*command, env=environment)
        await seen.next()
        process.send_signal(signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL
    left = await webhooks["deliveries"].count_documents({"_id": {"$regex": f"^{OWNER}"}})
    assert 0 < left < 12_000
    assert await webhooks["webhooks"].count_documents({"owner": OWNER}) == 0

    assert run("webhook_registry", "owners", "remove", OWNER)[0] == 0

    after = await documents(webhooks)
    after["events"] = [one for one in after["events"] if OWNER not in one]
    assert after == kept


async def test_keys_and_leases_of_exports_are_deleted(
    mongo: Client, database_names: DatabaseNames, run: Run
) -> None:
    access = database(mongo, database_names.access)
    issued = {
        owner: run(
            "gateway", "keys", "issue", "--owner", owner, "--name", "x", "--scope", Scope.EXPORT
        )
        for owner in (OWNER, OTHER_OWNER)
    }
    ids = {owner: key[1].partition(".")[0] for owner, key in issued.items()}
    await access["leases"].insert_many([{"_id": f"export {one}"} for one in ids.values()])

    counted = run("gateway", "owners", "remove", OWNER, "--dry-run")
    done = run("gateway", "owners", "remove", OWNER)
    again = run("gateway", "owners", "remove", OWNER)

    assert (counted[1], done[1], again[1]) == (
        "1 key found\n",
        "1 key deleted\n",
        "0 keys deleted\n",
    )
    assert [one["_id"] async for one in access["api_keys"].find()] == [ids[OTHER_OWNER]]
    assert [one["_id"] async for one in access["leases"].find()] == [f"export {ids[OTHER_OWNER]}"]


async def test_events_about_a_customers_webhooks_are_deleted(
    register_db: Database, run: Run
) -> None:
    await register_db["outbox"].insert_many(
        [
            {"_id": "own", "company": None, "owner": OWNER},
            {"_id": "other", "company": None, "owner": OTHER_OWNER},
            {"_id": "company", "company": "dk:10000000"},
        ]
    )

    counted = run("ingest", "owners", "remove", OWNER, "--dry-run")
    done = run("ingest", "owners", "remove", OWNER)

    assert (counted[2], done[2]) == ("1 event found\n", "1 event deleted\n")
    assert {one["_id"] async for one in register_db["outbox"].find()} == {"other", "company"}
