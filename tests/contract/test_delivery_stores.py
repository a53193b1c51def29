"""The fake store of posting keeps the promises of the real one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from common.contracts.deliveries import DeliveryTask
from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId
from common.mongo import Database
from dispatcher.batcher import running
from dispatcher.store import Store
from tests.builders.deliveries import WEBHOOK, a_new_delivery, a_store, a_task, an_attempted
from tests.fakes.dispatcher import FakeStore, Time
from webhook_store.deliveries import (
    CancelReason,
    ClaimedDelivery,
    Deliveries,
    DeliveryTimes,
    DueDelivery,
    NewDelivery,
)
from webhook_store.recording import Cancellation, WriteEffect

LEASE = GRACE = timedelta(seconds=30)
A_MOMENT = timedelta(milliseconds=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Kept:
    """A store, its clock, and how deliveries are put into it."""

    store: Store
    time: Time
    keep: Callable[..., Awaitable[None]]

    async def claimed(self, number: int = 1, *, attempt: int = 1) -> ClaimedDelivery:
        claimed = await self.store.claim(a_task(number, attempt=attempt))
        assert claimed is not None
        return claimed

    async def found(self, *, limit: int = 100) -> Sequence[DueDelivery]:
        return await self.store.deliveries.overdue(at=self.time.now(), limit=limit)


class Promises:
    """Behaviour of every store of deliveries."""

    async def test_a_delivery_is_claimed_as_it_was_kept(self, kept: Kept) -> None:
        new = a_new_delivery()
        await kept.keep(new)

        claimed = await kept.claimed()

        assert (claimed.id, claimed.webhook_id, claimed.generation) == (new.id, WEBHOOK, 1)
        assert (claimed.event_id, claimed.event_type) == (new.event_id, new.event_type)
        assert claimed.occurred_at == new.occurred_at
        assert (claimed.attempts, claimed.retries, claimed.by_hand) == (0, 0, False)
        assert claimed.lease_until == kept.time.now() + LEASE

    async def test_it_is_claimed_once(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())

        claims = await asyncio.gather(*(kept.store.claim(a_task()) for _ in range(5)))

        assert sum(claim is not None for claim in claims) == 1

    async def test_when_the_lease_is_over_it_can_be_claimed_again(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        await kept.claimed()
        kept.time.pass_by(LEASE - A_MOMENT)
        before = await kept.store.claim(a_task())
        kept.time.pass_by(A_MOMENT)

        assert before is None
        assert await kept.store.claim(a_task()) is not None

    async def test_a_claim_is_renewed_while_no_other_process_has_the_delivery(
        self, kept: Kept
    ) -> None:
        await kept.keep(a_new_delivery())
        claimed = await kept.claimed()
        kept.time.pass_by(LEASE + A_MOMENT)

        renewed = await kept.store.renew(claimed)
        again = await kept.store.claim(a_task())

        assert renewed == replace(
            claimed, claim=renewed.claim if renewed else "", lease_until=kept.time.now() + LEASE
        )
        assert again is None
        assert not (await kept.store.record(an_attempted(claimed))).held
        assert (await kept.store.record(an_attempted(renewed))).held

    async def test_a_lost_claim_is_not_renewed(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        claimed = await kept.claimed()
        kept.time.pass_by(LEASE)
        await kept.claimed()

        assert await kept.store.renew(claimed) is None

    async def test_it_is_not_claimed_for_another_attempt(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())

        assert await kept.store.claim(a_task(attempt=2)) is None

    async def test_a_missing_delivery_is_not_claimed(self, kept: Kept) -> None:
        assert await kept.store.claim(a_task(9)) is None

    async def test_storing_a_delivery_again_changes_nothing(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery(1))
        await kept.store.record(an_attempted(await kept.claimed()))

        await kept.keep(a_new_delivery(1), a_new_delivery(2))

        assert await kept.store.claim(a_task(1)) is None
        assert await kept.store.claim(a_task(2)) is not None

    async def test_one_that_is_cancelled_from_the_start_is_not_claimed(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery(cancelled=CancelReason.WEBHOOK_DISABLED))

        assert await kept.store.claim(a_task()) is None

    async def test_a_success_ends_it(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())

        written = await kept.store.record(an_attempted(await kept.claimed()))

        assert written == WriteEffect(held=True)
        assert await kept.store.claim(a_task(attempt=2)) is None

    async def test_a_failure_leaves_it_waiting_for_its_next_attempt(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        next_attempt_at = kept.time.now() + MINUTE
        failed = an_attempted(
            await kept.claimed(), error="timeout", next_attempt_at=next_attempt_at
        )

        await kept.store.record(failed)
        too_early = await kept.store.due(WEBHOOK, limit=5)
        kept.time.pass_by(MINUTE)
        due = await kept.store.due(WEBHOOK, limit=5)
        claimed = await kept.store.claim(a_task(attempt=2))

        assert (too_early, due) == ([], [a_task(attempt=2)])
        assert claimed is not None
        assert (claimed.attempts, claimed.retries) == (1, 1)

    async def test_a_failure_for_good_ends_it(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())

        await kept.store.record(an_attempted(await kept.claimed(), error="timeout"))

        assert await kept.store.claim(a_task(attempt=2)) is None

    async def test_a_cancelled_one_is_ended_without_an_attempt(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        claimed = await kept.claimed()

        await kept.store.record(Cancellation(claimed, CancelReason.WEBHOOK_DISABLED))

        assert await kept.store.claim(a_task()) is None

    async def test_a_result_after_the_claim_was_lost_counts_for_nothing(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        late = await kept.claimed()
        kept.time.pass_by(LEASE)
        current = await kept.claimed()

        assert await kept.store.record(an_attempted(late)) == WriteEffect(held=False)
        assert await kept.store.record(an_attempted(current)) == WriteEffect(held=True)

    async def test_a_result_that_is_recorded_twice_counts_once(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        result = an_attempted(await kept.claimed())
        await kept.store.record(result)

        assert await kept.store.record(result) == WriteEffect(held=True)

    async def test_of_many_results_only_the_lost_are_refused(self, kept: Kept) -> None:
        await kept.keep(*[a_new_delivery(number) for number in range(10)])
        results = [an_attempted(await kept.claimed(number)) for number in range(10)]
        results[3] = an_attempted(replace(results[3].delivery, claim="another-claim"))

        written = await asyncio.gather(*(kept.store.record(result) for result in results))

        assert [one.held for one in written] == [number != 3 for number in range(10)]

    async def test_first_attempts_are_due_before_retries_and_then_the_earliest(
        self, kept: Kept
    ) -> None:
        await kept.keep(a_new_delivery(1))
        retried = an_attempted(
            await kept.claimed(1), error="timeout", next_attempt_at=kept.time.now()
        )
        await kept.store.record(retried)
        for number in (2, 3):
            kept.time.pass_by(A_MOMENT)
            await kept.keep(a_new_delivery(number))
        await kept.keep(a_new_delivery(4, webhook_id=WebhookId("wh_2")))

        due = await kept.store.due(WEBHOOK, limit=5)

        assert due == [a_task(2), a_task(3), a_task(1, attempt=2)]
        assert await kept.store.due(WEBHOOK, limit=2) == due[:2]

    async def test_a_claimed_delivery_is_due_again_after_its_lease(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        await kept.claimed()
        before = await kept.store.due(WEBHOOK, limit=5)
        kept.time.pass_by(LEASE)

        assert (before, await kept.store.due(WEBHOOK, limit=5)) == ([], [a_task()])


class TestFakeStore(Promises):
    @pytest.fixture
    def kept(self) -> Kept:
        store = FakeStore(Time(), lease=LEASE)

        async def keep(*new: NewDelivery) -> None:
            store.keep(*new)

        return Kept(store, store.time, keep)


class FrozenOnce(Deliveries):
    """Deliveries whose first answer to a claim never comes."""

    async def claim(
        self, tasks: Sequence[DeliveryTask], *, token: str, at: datetime, held: Sequence[str] = ()
    ) -> list[ClaimedDelivery]:
        claimed = await super().claim(tasks, token=token, at=at, held=held)
        if token == "claim-1":
            raise Unavailable("the database did not answer in time")
        return claimed


@pytest.mark.integration
async def test_a_claim_without_an_answer_is_made_again(empty_webhooks_db: Database) -> None:
    store = a_store(empty_webhooks_db)
    store.deliveries = FrozenOnce(empty_webhooks_db, DeliveryTimes(lease=LEASE))
    async with running(*store.batchers):
        await store.insert([a_new_delivery()])
        with pytest.raises(Unavailable):
            await store.claim(a_task())

        claimed = await store.claim(a_task())
        twice = await store.claim(a_task())

    # The database had made the first claim: only its lease would have ended it.
    assert claimed is not None
    assert twice is None


@pytest.mark.integration
class TestStore(Promises):
    @pytest.fixture
    async def kept(self, empty_webhooks_db: Database) -> AsyncIterator[Kept]:
        time = Time()
        store = a_store(empty_webhooks_db, now=time.now, lease=LEASE, grace=GRACE)

        async def keep(*new: NewDelivery) -> None:
            await store.insert(new)

        async with running(*store.batchers):
            yield Kept(store, time, keep)

    async def test_an_unattempted_delivery_is_overdue_after_its_grace(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        before = await kept.found()
        kept.time.pass_by(GRACE)

        assert before == []
        assert await kept.found() == [DueDelivery(a_task(), is_retry=False)]

    async def test_a_retry_is_overdue_after_its_time_and_grace(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        failed = an_attempted(
            await kept.claimed(), error="dns", next_attempt_at=kept.time.now() + MINUTE
        )
        await kept.store.record(failed)
        kept.time.pass_by(MINUTE)
        before = await kept.found()
        kept.time.pass_by(GRACE)

        assert before == []
        assert await kept.found() == [DueDelivery(a_task(attempt=2), is_retry=True)]

    async def test_a_claimed_delivery_is_overdue_after_the_lease(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        kept.time.pass_by(GRACE)
        await kept.claimed()
        before = await kept.found()
        kept.time.pass_by(LEASE)

        assert (len(before), len(await kept.found())) == (0, 1)

    async def test_a_requeued_delivery_is_not_overdue_for_a_while(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        kept.time.pass_by(GRACE)
        now = kept.time.now()
        await kept.store.deliveries.postpone([a_task()], at=now, until=now + MINUTE)
        before = await kept.found()
        kept.time.pass_by(MINUTE)

        assert (len(before), len(await kept.found())) == (0, 1)

    async def test_first_attempts_are_found_before_retries(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery(1))
        await kept.store.record(
            an_attempted(await kept.claimed(), error="dns", next_attempt_at=kept.time.now())
        )
        kept.time.pass_by(MINUTE)
        await kept.keep(a_new_delivery(2))
        kept.time.pass_by(GRACE)

        assert [one.is_retry for one in await kept.found()] == [False, True]
        assert [one.is_retry for one in await kept.found(limit=1)] == [False]

    async def test_an_ended_delivery_is_never_overdue(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery())
        await kept.store.record(an_attempted(await kept.claimed()))
        kept.time.pass_by(timedelta(days=1))

        assert await kept.found() == []

    async def test_waiting_deliveries_of_a_purged_event_are_cancelled(self, kept: Kept) -> None:
        await kept.keep(a_new_delivery(1), a_new_delivery(2))

        await kept.store.purge(["event-1"])

        assert await kept.store.claim(a_task(1)) is None
        assert await kept.store.claim(a_task(2)) is not None
