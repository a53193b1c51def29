"""Rows of deliveries in MongoDB: claimed, released with a result, due and overdue."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pymongo.write_concern import WriteConcern

from common.contracts.failures import Unavailable
from common.contracts.webhooks import DisabledReason, WebhookId
from common.mongo import Database
from common.runtime.tasks import running
from dispatcher.store import Store
from tests.builders.deliveries import (
    WEBHOOK,
    a_delivery_id,
    a_new_delivery,
    a_store,
    a_task,
    an_attempted,
)
from tests.delivery.dispatching import Dispatching
from tests.fakes.dispatcher import Time
from webhook_store.deliveries import (
    CancelReason,
    ClaimedDelivery,
    Deliveries,
    DeliveryTimes,
    DueDelivery,
    NewDelivery,
)
from webhook_store.events import Events, StoredEvent
from webhook_store.recording import AttemptResult, Cancellation, Recorder, Result, WriteEffect
from webhook_store.sending import Webhooks

pytestmark = pytest.mark.integration

LEASE = GRACE = timedelta(seconds=30)
A_MOMENT = timedelta(milliseconds=1)
MINUTE = timedelta(minutes=1)
#: Fields of a last failure, which disables the webhook.
FOR_GOOD: dict[str, Any] = {"error": "dns", "disable": DisabledReason.DELIVERY_FAILED}


class FaultyDeliveries(Deliveries):
    """Deliveries whose answer to a claim with this token never comes."""

    unanswered = ""

    async def claim(
        self, tasks: Sequence[Any], *, token: str, at: datetime, held: Sequence[str] = ()
    ) -> list[ClaimedDelivery]:
        claimed = await super().claim(tasks, token=token, at=at, held=held)
        if token == self.unanswered:
            raise Unavailable("the database did not answer in time")
        return claimed


@dataclass
class Kept:
    """The store of one dispatcher, and its clock."""

    database: Database
    time: Time = field(default_factory=Time)

    def __post_init__(self) -> None:
        self.store = a_store(self.database, Store, now=self.time.now, lease=LEASE, grace=GRACE)
        self.deliveries = FaultyDeliveries(self.database, DeliveryTimes(lease=LEASE, grace=GRACE))
        self.store.deliveries = self.deliveries

    async def keep(self, *new: NewDelivery) -> None:
        await self.store.insert(new)

    async def claimed(self, number: int = 1, *, attempt: int = 1) -> ClaimedDelivery:
        claimed = await self.store.claim(a_task(number, attempt=attempt))
        assert claimed is not None
        return claimed

    async def record(self, delivery: ClaimedDelivery, **fields: Any) -> WriteEffect:
        return await self.store.record(an_attempted(delivery, **fields))

    async def overdue(self, *, limit: int = 100) -> Sequence[DueDelivery]:
        return await self.deliveries.overdue(at=self.time.now(), limit=limit)

    async def webhook(self) -> dict[str, Any]:
        found = await self.database["webhooks"].find_one({"_id": WEBHOOK})
        assert found is not None
        return found


@pytest.fixture(name="kept")
async def _kept(empty_webhooks_db: Database) -> AsyncIterator[Kept]:
    """With an enabled webhook."""
    kept = Kept(empty_webhooks_db)
    async with running(*kept.store.batchers):
        await Dispatching(empty_webhooks_db).subscribe(WEBHOOK)
        yield kept


async def test_a_delivery_is_claimed_once_as_it_was_stored(kept: Kept) -> None:
    new = a_new_delivery()
    await kept.keep(new)

    claims = await asyncio.gather(*(kept.store.claim(a_task()) for _ in range(5)))

    [claimed] = [claim for claim in claims if claim is not None]
    assert claimed == ClaimedDelivery(
        new.id,
        WEBHOOK,
        1,
        new.event_id,
        new.event_type,
        new.occurred_at,
        attempts=0,
        retries=0,
        by_hand=False,
        claim="claim-1",
        lease_until=kept.time.now() + LEASE,
    )


async def test_a_claimed_delivery_is_claimed_and_due_again_after_its_lease(kept: Kept) -> None:
    await kept.keep(a_new_delivery())
    await kept.claimed()
    kept.time.pass_by(LEASE - A_MOMENT)
    before = await kept.store.claim(a_task()), await kept.store.due(WEBHOOK, limit=5)
    kept.time.pass_by(A_MOMENT)

    assert before == (None, [])
    assert await kept.store.due(WEBHOOK, limit=5) == [a_task()]
    assert await kept.store.claim(a_task()) is not None


async def test_a_claim_is_renewed_while_no_other_process_has_the_delivery(kept: Kept) -> None:
    await kept.keep(a_new_delivery())
    claimed = await kept.claimed()
    kept.time.pass_by(LEASE + A_MOMENT)

    renewed = await kept.store.renew(claimed)

    assert renewed is not None
    until = kept.time.now() + LEASE
    assert renewed == replace(claimed, claim=renewed.claim, lease_until=until)
    assert await kept.store.claim(a_task()) is None
    assert not (await kept.record(claimed)).held
    assert (await kept.record(renewed)).held


async def test_a_lost_claim_is_not_renewed(kept: Kept) -> None:
    await kept.keep(a_new_delivery())
    claimed = await kept.claimed()
    kept.time.pass_by(LEASE)
    await kept.claimed()

    assert await kept.store.renew(claimed) is None


async def test_a_claim_without_an_answer_is_made_again_by_its_process_alone(kept: Kept) -> None:
    kept.deliveries.unanswered = "claim-1"
    await kept.keep(a_new_delivery())
    with pytest.raises(Unavailable):
        await kept.store.claim(a_task())

    claimed = await kept.store.claim(a_task())
    twice = await kept.store.claim(a_task())

    # The database had made the first claim: only its lease would have ended it.
    assert claimed is not None
    assert twice is None


@pytest.mark.parametrize(
    "fields, number, attempt",
    [({}, 1, 2), ({}, 9, 1), ({"cancelled": CancelReason.WEBHOOK_DISABLED}, 1, 1)],
    ids=["for-another-attempt", "missing", "cancelled-from-the-start"],
)
async def test_what_does_not_wait_for_that_attempt_is_not_claimed(
    kept: Kept, fields: dict[str, Any], number: int, attempt: int
) -> None:
    await kept.keep(a_new_delivery(**fields))

    assert await kept.store.claim(a_task(number, attempt=attempt)) is None


async def test_storing_a_delivery_again_changes_nothing(kept: Kept) -> None:
    await kept.keep(a_new_delivery(1))
    await kept.record(await kept.claimed())

    await kept.keep(a_new_delivery(1), a_new_delivery(2))

    assert await kept.store.claim(a_task(1)) is None
    assert await kept.store.claim(a_task(2)) is not None


@pytest.mark.parametrize(
    "result_of",
    [
        an_attempted,
        lambda claimed: an_attempted(claimed, error="timeout"),
        lambda claimed: Cancellation(claimed, CancelReason.WEBHOOK_DISABLED),
    ],
    ids=["success", "last-failure", "cancellation"],
)
async def test_a_result_ends_a_delivery_and_counts_once(
    kept: Kept, result_of: Callable[[ClaimedDelivery], Result]
) -> None:
    await kept.keep(a_new_delivery())
    result = result_of(await kept.claimed())

    written = [await kept.store.record(result) for _ in range(2)]
    kept.time.pass_by(timedelta(days=1))

    assert written == [WriteEffect(held=True)] * 2
    assert await kept.store.claim(a_task(attempt=1)) is None
    assert await kept.store.claim(a_task(attempt=2)) is None
    assert await kept.overdue() == []


async def test_a_failure_leaves_it_waiting_for_its_next_attempt(kept: Kept) -> None:
    await kept.keep(a_new_delivery())
    next_attempt_at = kept.time.now() + MINUTE
    await kept.record(await kept.claimed(), error="timeout", next_attempt_at=next_attempt_at)
    too_early = await kept.store.due(WEBHOOK, limit=5)
    kept.time.pass_by(MINUTE)
    due = await kept.store.due(WEBHOOK, limit=5)
    not_overdue = await kept.overdue()
    kept.time.pass_by(GRACE)
    overdue = await kept.overdue()

    claimed = await kept.claimed(attempt=2)

    assert (too_early, due, not_overdue) == ([], [a_task(attempt=2)], [])
    assert overdue == [DueDelivery(a_task(attempt=2), is_retry=True)]
    assert (claimed.attempts, claimed.retries) == (1, 1)


async def test_of_many_results_only_those_whose_claim_was_lost_are_refused(kept: Kept) -> None:
    await kept.keep(*[a_new_delivery(number) for number in range(10)])
    results = [an_attempted(await kept.claimed(number)) for number in range(10)]
    results[3] = an_attempted(replace(results[3].delivery, claim="another-claim"))

    written = await asyncio.gather(*(kept.store.record(result) for result in results))

    assert [one.held for one in written] == [number != 3 for number in range(10)]


async def test_first_attempts_are_due_and_overdue_before_retries_and_then_the_earliest(
    kept: Kept,
) -> None:
    await kept.keep(a_new_delivery(1))
    await kept.record(await kept.claimed(1), error="timeout", next_attempt_at=kept.time.now())
    for number in (2, 3):
        kept.time.pass_by(A_MOMENT)
        await kept.keep(a_new_delivery(number))
    await kept.keep(a_new_delivery(4, webhook_id=WebhookId("wh_2")))

    due = await kept.store.due(WEBHOOK, limit=5)
    kept.time.pass_by(GRACE)

    assert due == [a_task(2), a_task(3), a_task(1, attempt=2)]
    assert await kept.store.due(WEBHOOK, limit=2) == due[:2]
    assert [one.is_retry for one in await kept.overdue()] == [False, False, False, True]
    assert [one.task for one in await kept.overdue(limit=1)] == [a_task(2)]


async def test_the_oldest_due_delivery_is_that_of_all_whenever_it_is_looked_at_again(
    kept: Kept,
) -> None:
    async def oldest() -> datetime | None:
        now = kept.time.now()
        return await kept.deliveries.oldest_due(at=now, until=now + MINUTE, retries=0, limit=9)

    none = await oldest()
    began = kept.time.now()
    await kept.keep(a_new_delivery(1))
    kept.time.pass_by(GRACE)
    now = kept.time.now()
    await kept.deliveries.postpone([a_task(1)], at=now, until=now + MINUTE)
    await kept.keep(a_new_delivery(2))

    assert (none, await oldest()) == (None, began)


async def test_a_delivery_is_overdue_after_its_grace_or_its_lease_and_then_not_for_a_while(
    kept: Kept,
) -> None:
    await kept.keep(a_new_delivery())
    counts = [len(await kept.overdue())]
    kept.time.pass_by(GRACE)
    counts.append(len(await kept.overdue()))
    await kept.claimed()
    counts.append(len(await kept.overdue()))
    kept.time.pass_by(LEASE)
    counts.append(len(await kept.overdue()))
    now = kept.time.now()
    await kept.deliveries.postpone([a_task()], at=now, until=now + MINUTE)
    counts.append(len(await kept.overdue()))
    kept.time.pass_by(MINUTE)
    counts.append(len(await kept.overdue()))

    assert counts == [0, 1, 0, 1, 0, 1]


async def test_waiting_deliveries_of_a_purged_event_are_cancelled(kept: Kept) -> None:
    await kept.keep(a_new_delivery(1), a_new_delivery(2))

    await kept.store.purge(["event-1"])

    assert await kept.store.claim(a_task(1)) is None
    assert await kept.store.claim(a_task(2)) is not None


async def test_of_concurrent_last_failures_one_disables_the_webhook_and_says_so_again(
    kept: Kept,
) -> None:
    await kept.keep(*map(a_new_delivery, range(10)))
    claimed = await asyncio.gather(*(kept.claimed(number) for number in range(10)))

    first, again = [
        await asyncio.gather(*(kept.record(one, **FOR_GOOD) for one in claimed)) for _ in range(2)
    ]

    after = await kept.webhook()
    assert all(one.held for one in first)
    assert [one.disabled for one in first].count(True) == 1
    assert again == first
    assert (after["status"], after["disabled_reason"]) == ("disabled", "delivery_failed")
    assert (after["disabled_at"], after["generation"]) == (kept.time.now(), 2)
    assert (await kept.database["deliveries"].find_one({"_id": a_delivery_id()}) or {})[
        "state"
    ] == "failed"


@pytest.mark.parametrize("generation, is_lost", [(3, False), (1, True)])
async def test_a_webhook_enabled_since_and_a_lost_claim_disable_nothing(
    kept: Kept, generation: int, *, is_lost: bool
) -> None:
    await kept.database["webhooks"].update_one({}, {"$set": {"generation": generation}})
    await kept.keep(a_new_delivery())
    claimed = await kept.claimed()
    if is_lost:
        kept.time.pass_by(LEASE)
        await kept.claimed()

    written = await kept.record(claimed, **FOR_GOOD)

    assert written == WriteEffect(held=not is_lost, disabled=False)
    assert (await kept.webhook())["status"] == "enabled"
    assert await kept.database["attempts"].count_documents({}) == (not is_lost)


async def test_a_process_killed_after_disabling_has_recorded_its_attempt(kept: Kept) -> None:
    await kept.keep(a_new_delivery())
    claimed = await kept.claimed()
    rows = kept.database["deliveries"]
    before = await rows.find_one({})
    assert before is not None
    await kept.record(claimed, **FOR_GOOD)
    # As if it had died before it wrote the row.
    await rows.replace_one({"_id": claimed.id}, before)
    kept.time.pass_by(LEASE)

    cancelled = Cancellation(await kept.claimed(), CancelReason.WEBHOOK_DISABLED)
    written = await kept.store.record(cancelled)

    [attempt] = await kept.database["attempts"].find().to_list(None)
    [row] = await rows.find().to_list(None)
    assert written.held
    assert (attempt["attempt"], attempt["error"], row["state"]) == (1, "dns", "cancelled")


class LosingAnswers(Webhooks):
    """Disables webhooks, and loses the answer of the database."""

    async def disable(self, *args: Any, **fields: Any) -> bool:
        await super().disable(*args, **fields)
        raise Unavailable("away")


async def test_after_an_outage_amid_the_writes_the_disabling_result_is_reported(kept: Kept) -> None:
    await kept.keep(*map(a_new_delivery, range(3)))
    now = kept.time.now()
    claimed = await kept.deliveries.claim([a_task(n) for n in range(3)], token="one", at=now)
    results = [an_attempted(one, **FOR_GOOD) for one in claimed]
    webhooks = LosingAnswers(kept.database, kept.store.webhooks._keys)
    with pytest.raises(Unavailable):
        await Recorder(kept.database, webhooks, DeliveryTimes(lease=LEASE)).record(results, at=now)

    written = await asyncio.gather(*map(kept.store.record, results))

    assert written == [WriteEffect(held=True, disabled=number == 0) for number in range(3)]
    assert (await kept.webhook())["generation"] == 2


def lonely(kept: Kept) -> Database:
    """The same database, of which more members are asked for than there are."""
    return kept.database.with_options(write_concern=WriteConcern(w=5))


@pytest.mark.parametrize(
    "result_of", [an_attempted, lambda one: Cancellation(one, CancelReason.COMPANY_REMOVED)]
)
async def test_a_result_without_a_majority_is_to_be_recorded_again(
    kept: Kept, result_of: Callable[[ClaimedDelivery], Result]
) -> None:
    """Writes that only the primary has may be rolled back: they count as not written."""
    await kept.keep(a_new_delivery())
    result = result_of(await kept.claimed())
    recorder = Recorder(lonely(kept), kept.store.webhooks, DeliveryTimes(lease=LEASE))
    for _ in range(2):
        with pytest.raises(Unavailable):
            await recorder.record([result], at=kept.time.now())

    written = await kept.store.record(result)

    assert written.held
    attempts = await kept.database["attempts"].count_documents({})
    assert attempts == isinstance(result, AttemptResult)


async def test_deliveries_and_events_without_a_majority_are_to_be_stored_again(kept: Kept) -> None:
    deliveries = Deliveries(lonely(kept), DeliveryTimes(lease=LEASE))
    events = Events(lonely(kept), DeliveryTimes(lease=LEASE))
    event = StoredEvent("event-1", a_new_delivery().event_type, None, b"{}")
    now = kept.time.now()
    for _ in range(2):  # the second time they are there already
        with pytest.raises(Unavailable):
            await deliveries.insert([a_new_delivery()], at=now)
        with pytest.raises(Unavailable):
            await events.store([event], at=now)

    await kept.keep(a_new_delivery())
    await kept.store.events.store([event], at=now)
