"""Events without the dispatcher's receipt are published again, at its pace."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from common.mongo import Database
from ingest.commands import main
from ingest.publishing.publisher import Confirmed
from register_store.documents import OUTBOX
from tests.builders.outbox import NOON, RETENTION, TIMEOUT, Outbox
from tests.conftest import DatabaseNames
from webhook_store.events import Receipts

pytestmark = pytest.mark.integration

MOMENT = timedelta(milliseconds=1)
Receive = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture
def outbox(register_db: Database, webhooks_db: Database) -> Outbox:
    return Outbox(register_db, webhooks=webhooks_db)


@pytest.fixture
def received(outbox: Outbox, webhooks_db: Database) -> Receive:
    """Stores the dispatcher's receipts of events."""

    async def receive(*ids: str) -> None:
        await Receipts(webhooks_db, retention=RETENTION).add(ids, at=outbox.now)

    return receive


async def test_only_events_without_a_receipt_are_published_again(
    outbox: Outbox, received: Receive
) -> None:
    await outbox.published("a", "b", "c")
    await received("b")

    early = await outbox.repeated(after=TIMEOUT - MOMENT)
    again = await outbox.repeated(after=MOMENT)

    assert (early, again) == ([], ["a", "c"])


async def test_a_confirmed_event_is_never_due_again(
    outbox: Outbox, received: Receive, webhooks_db: Database
) -> None:
    await outbox.published("a")
    await received("a")
    await outbox.confirm()

    await outbox.repeated(after=TIMEOUT)
    await webhooks_db["receipts"].delete_many({})

    assert await outbox.repeated(after=timedelta(days=1)) == []
    assert await outbox.unconfirmed.depth(at=outbox.now) == (0, None)


async def test_each_repeat_waits_twice_as_long_as_the_one_before(outbox: Outbox) -> None:
    await outbox.published("a")
    await outbox.repeated(after=TIMEOUT)

    early = await outbox.repeated(after=2 * TIMEOUT - MOMENT)
    again = await outbox.repeated(after=MOMENT)

    assert (early, again) == ([], ["a"])


async def test_while_events_wait_for_the_dispatcher_receipts_are_noted_and_none_is_published_again(
    outbox: Outbox, received: Receive
) -> None:
    await outbox.published("a", "b")
    await received("b")
    outbox.bus.has_short_queue = False
    outbox.now += TIMEOUT

    result = await outbox.confirm()
    depth = await outbox.unconfirmed.depth(at=outbox.now)
    during = await outbox.repeated(after=timedelta(hours=2))
    outbox.bus.has_short_queue = True

    assert result == Confirmed(confirmed=1)
    assert depth == (1, NOON)
    assert during == []
    assert await outbox.repeated() == ["a"]


async def test_events_of_a_company_that_was_removed_meanwhile_are_not_published_again(
    outbox: Outbox,
) -> None:
    await outbox.published("a", company="dk:1")
    await outbox.register[OUTBOX].delete_many({"company": "dk:1"})

    assert await outbox.repeated(after=TIMEOUT) == []


async def test_an_event_that_could_not_be_published_is_dropped_after_the_retention(
    outbox: Outbox,
) -> None:
    await outbox.published("published")
    await outbox.store("a")

    early = await outbox.stored.drop_expired(at=NOON + RETENTION - MOMENT)
    late = await outbox.stored.drop_expired(at=NOON + RETENTION)

    assert (early, late) == (0, 1)
    assert [one["_id"] async for one in outbox.register[OUTBOX].find()] == ["published"]


async def test_republishing_by_hand_brings_back_events_whose_receipts_were_lost(
    outbox: Outbox,
    received: Receive,
    webhooks_db: Database,
    mongo_url: str,
    database_names: DatabaseNames,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outbox.now = NOON - timedelta(hours=1)
    await outbox.published("older")
    outbox.now = NOON
    await outbox.published("lost", "kept")
    await received("older", "lost", "kept")
    await outbox.repeated(after=TIMEOUT)
    await webhooks_db["receipts"].delete_many({"_id": {"$in": ["older", "lost"]}})
    monkeypatch.setenv("MONGO_URL", mongo_url)
    monkeypatch.setenv("REGISTER_DB", database_names.register)

    with pytest.raises(SystemExit) as ended:
        await asyncio.to_thread(main, ["republish", "--since", NOON.isoformat()])
    outbox.now = datetime.now(UTC) + timedelta(minutes=1)

    assert ended.value.code == 0
    assert await outbox.repeated() == ["lost"]


async def test_events_are_found_by_an_index(outbox: Outbox) -> None:
    await outbox.published("a")
    query = {"published_at": {"$lte": NOON}, "again_at": {"$lte": NOON}}

    plan = await outbox.register[OUTBOX].find(query, sort=[("published_at", 1)]).explain()

    assert "unconfirmed" in str(plan["queryPlanner"]["winningPlan"])
