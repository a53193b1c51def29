"""One suite for both stores of deliveries: the fake keeps the promises of the real one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from random import Random

import pytest

from common.contracts.deliveries import DeliveryTask
from common.contracts.failures import Unavailable
from common.contracts.webhooks import WebhookId
from common.mongo import Database
from dispatcher.batcher import running
from dispatcher.ports import OverdueRows, Rows
from dispatcher.store import Dependencies, StoredRows
from tests.builders.deliveries import (
    WEBHOOK,
    a_delivery_id,
    a_new_delivery,
    a_task,
    an_attempted,
)
from tests.builders.webhooks import secret_keys
from tests.fakes.dispatcher import FakeRows, Time
from webhook_store.deliveries.models import Cancelled, CancelReason, Claimed, Due, Written
from webhook_store.deliveries.recording import Recorder
from webhook_store.deliveries.rows import Deliveries, DeliveryTimes
from webhook_store.webhooks.sending import Webhooks

LEASE = GRACE = timedelta(seconds=30)
A_MOMENT = timedelta(milliseconds=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Store:
    rows: Rows
    overdue: OverdueRows
    time: Time

    async def claimed(self, number: int = 1, *, attempt: int = 1) -> Claimed:
        claimed = await self.rows.claim(a_task(number, attempt=attempt))
        assert claimed is not None
        return claimed

    async def found(self, *, limit: int = 100) -> list[Due]:
        return list(await self.overdue.overdue(at=self.time.now(), limit=limit))


class Promises:
    """Behaviour of every store of deliveries."""

    async def test_a_delivery_is_claimed_as_it_was_kept(self, store: Store) -> None:
        new = a_new_delivery()
        await store.rows.insert([new])

        claimed = await store.claimed()

        assert (claimed.id, claimed.webhook_id, claimed.generation) == (new.id, WEBHOOK, 1)
        assert (claimed.event_id, claimed.event_type) == (new.event_id, new.event_type)
        assert claimed.occurred_at == new.occurred_at
        assert (claimed.attempts, claimed.retries, claimed.by_hand) == (0, 0, False)
        assert claimed.lease_until == store.time.now() + LEASE

    async def test_it_is_claimed_once(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])

        claims = await asyncio.gather(*(store.rows.claim(a_task()) for _ in range(5)))

        assert sum(claim is not None for claim in claims) == 1

    async def test_when_the_lease_is_over_it_can_be_claimed_again(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        await store.claimed()
        store.time.pass_by(LEASE - A_MOMENT)
        before = await store.rows.claim(a_task())
        store.time.pass_by(A_MOMENT)

        assert before is None
        assert await store.rows.claim(a_task()) is not None

    async def test_a_claim_is_renewed_while_no_other_process_has_the_delivery(
        self, store: Store
    ) -> None:
        await store.rows.insert([a_new_delivery()])
        claimed = await store.claimed()
        store.time.pass_by(LEASE + A_MOMENT)

        renewed = await store.rows.renew(claimed)
        again = await store.rows.claim(a_task())

        assert renewed == replace(
            claimed, claim=renewed.claim if renewed else "", lease_until=store.time.now() + LEASE
        )
        assert again is None
        assert not (await store.rows.record(an_attempted(claimed))).held
        assert (await store.rows.record(an_attempted(renewed))).held

    async def test_a_lost_claim_is_not_renewed(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        claimed = await store.claimed()
        store.time.pass_by(LEASE)
        await store.claimed()

        assert await store.rows.renew(claimed) is None

    async def test_it_is_not_claimed_for_another_attempt(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])

        assert await store.rows.claim(a_task(attempt=2)) is None

    async def test_a_missing_delivery_is_not_claimed(self, store: Store) -> None:
        assert await store.rows.claim(a_task(9)) is None

    async def test_keeping_it_again_changes_nothing(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery(1)])
        await store.rows.record(an_attempted(await store.claimed()))

        await store.rows.insert([a_new_delivery(1), a_new_delivery(2)])

        assert await store.rows.claim(a_task(1)) is None
        assert await store.rows.claim(a_task(2)) is not None

    async def test_one_that_is_cancelled_from_the_start_is_not_claimed(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery(cancelled=CancelReason.WEBHOOK_DISABLED)])

        assert await store.rows.claim(a_task()) is None

    async def test_a_success_ends_it(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])

        written = await store.rows.record(an_attempted(await store.claimed()))

        assert written == Written(held=True)
        assert await store.rows.claim(a_task(attempt=2)) is None

    async def test_a_failure_leaves_it_waiting_for_its_next_attempt(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        next_attempt_at = store.time.now() + MINUTE
        failed = an_attempted(
            await store.claimed(), error="timeout", next_attempt_at=next_attempt_at
        )

        await store.rows.record(failed)
        too_early = await store.rows.due(WEBHOOK, limit=5)
        store.time.pass_by(MINUTE)
        due = await store.rows.due(WEBHOOK, limit=5)
        claimed = await store.rows.claim(a_task(attempt=2))

        assert (too_early, due) == ([], [a_task(attempt=2)])
        assert claimed is not None
        assert (claimed.attempts, claimed.retries) == (1, 1)

    async def test_a_failure_for_good_ends_it(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])

        await store.rows.record(an_attempted(await store.claimed(), error="timeout"))

        assert await store.rows.claim(a_task(attempt=2)) is None

    async def test_a_cancelled_one_is_ended_without_an_attempt(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        claimed = await store.claimed()

        await store.rows.record(Cancelled(claimed, CancelReason.WEBHOOK_DISABLED))

        assert await store.rows.claim(a_task()) is None

    async def test_a_result_after_the_claim_was_lost_counts_for_nothing(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        late = await store.claimed()
        store.time.pass_by(LEASE)
        current = await store.claimed()

        assert await store.rows.record(an_attempted(late)) == Written(held=False)
        assert await store.rows.record(an_attempted(current)) == Written(held=True)

    async def test_a_result_that_is_recorded_twice_counts_once(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        result = an_attempted(await store.claimed())
        await store.rows.record(result)

        assert await store.rows.record(result) == Written(held=True)

    async def test_of_many_results_only_the_lost_are_refused(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery(number) for number in range(10)])
        results = [an_attempted(await store.claimed(number)) for number in range(10)]
        results[3] = an_attempted(replace(results[3].delivery, claim="another-claim"))

        written = await asyncio.gather(*(store.rows.record(result) for result in results))

        assert [one.held for one in written] == [number != 3 for number in range(10)]

    async def test_first_attempts_are_due_before_retries_and_then_the_earliest(
        self, store: Store
    ) -> None:
        await store.rows.insert([a_new_delivery(1)])
        retried = an_attempted(
            await store.claimed(1), error="timeout", next_attempt_at=store.time.now()
        )
        await store.rows.record(retried)
        for number in (2, 3):
            store.time.pass_by(A_MOMENT)
            await store.rows.insert([a_new_delivery(number)])
        await store.rows.insert([a_new_delivery(4, webhook_id=WebhookId("wh_2"))])

        due = await store.rows.due(WEBHOOK, limit=5)

        assert due == [a_task(2), a_task(3), a_task(1, attempt=2)]
        assert await store.rows.due(WEBHOOK, limit=2) == due[:2]

    async def test_a_claimed_delivery_is_due_again_after_its_lease(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        await store.claimed()
        before = await store.rows.due(WEBHOOK, limit=5)
        store.time.pass_by(LEASE)

        assert (before, await store.rows.due(WEBHOOK, limit=5)) == ([], [a_task()])

    async def test_an_unattempted_delivery_is_overdue_after_its_grace(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        before = await store.found()
        store.time.pass_by(GRACE)

        assert before == []
        assert await store.found() == [Due(a_task(), is_retry=False)]

    async def test_a_retry_is_overdue_after_its_time_and_grace(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        failed = an_attempted(
            await store.claimed(), error="dns", next_attempt_at=store.time.now() + MINUTE
        )
        await store.rows.record(failed)
        store.time.pass_by(MINUTE)
        before = await store.found()
        store.time.pass_by(GRACE)

        assert before == []
        assert await store.found() == [Due(a_task(attempt=2), is_retry=True)]

    async def test_a_claimed_delivery_is_overdue_after_the_lease(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        store.time.pass_by(GRACE)
        await store.claimed()
        before = await store.found()
        store.time.pass_by(LEASE)

        assert (len(before), len(await store.found())) == (0, 1)

    async def test_a_requeued_delivery_is_not_overdue_for_a_while(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        store.time.pass_by(GRACE)
        now = store.time.now()
        await store.overdue.postpone([a_delivery_id()], at=now, until=now + MINUTE)
        before = await store.found()
        store.time.pass_by(MINUTE)

        assert (len(before), len(await store.found())) == (0, 1)

    async def test_first_attempts_are_found_before_retries(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery(1)])
        await store.rows.record(
            an_attempted(await store.claimed(), error="dns", next_attempt_at=store.time.now())
        )
        store.time.pass_by(MINUTE)
        await store.rows.insert([a_new_delivery(2)])
        store.time.pass_by(GRACE)

        assert [one.is_retry for one in await store.found()] == [False, True]
        assert [one.is_retry for one in await store.found(limit=1)] == [False]

    async def test_an_ended_delivery_is_never_overdue(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery()])
        await store.rows.record(an_attempted(await store.claimed()))
        store.time.pass_by(timedelta(days=1))

        assert await store.found() == []

    async def test_waiting_deliveries_of_a_purged_event_are_cancelled(self, store: Store) -> None:
        await store.rows.insert([a_new_delivery(1), a_new_delivery(2)])

        await store.rows.purge(["event-1"])

        assert await store.rows.claim(a_task(1)) is None
        assert await store.rows.claim(a_task(2)) is not None


class TestFakeRows(Promises):
    @pytest.fixture
    def store(self) -> Store:
        rows = FakeRows(Time(), lease=LEASE, grace=GRACE)
        return Store(rows, rows, rows.time)


class FrozenOnce(Deliveries):
    """Deliveries whose first answer to a claim never comes."""

    async def claim(
        self, tasks: Sequence[DeliveryTask], *, token: str, at: datetime, held: Sequence[str] = ()
    ) -> list[Claimed]:
        claimed = await super().claim(tasks, token=token, at=at, held=held)
        if token == "claim-0":
            raise Unavailable("the database did not answer in time")
        return claimed


@pytest.mark.integration
async def test_a_claim_without_an_answer_is_made_again(webhooks_db: Database) -> None:
    time, ids = Time(), count()
    times = DeliveryTimes(lease=LEASE, retention=timedelta(days=36_500))
    recorder = Recorder(webhooks_db, Webhooks(webhooks_db, secret_keys()), times)
    around = Dependencies(time.now, lambda: f"claim-{next(ids)}", Random(1))
    rows = StoredRows(FrozenOnce(webhooks_db, times), recorder, around)
    async with running(*rows.batchers):
        await rows.insert([a_new_delivery()])
        with pytest.raises(Unavailable):
            await rows.claim(a_task())

        claimed = await rows.claim(a_task())
        twice = await rows.claim(a_task())

    # The database had made the first claim: only its lease would have ended it.
    assert claimed is not None
    assert twice is None


@pytest.mark.integration
class TestStoredRows(Promises):
    @pytest.fixture
    async def store(self, webhooks_db: Database) -> AsyncIterator[Store]:
        time, ids = Time(), count()
        # Noon is long ago by the database's own clock, and nothing is to expire meanwhile.
        times = DeliveryTimes(lease=LEASE, grace=GRACE, retention=timedelta(days=36_500))
        deliveries = Deliveries(webhooks_db, times)
        recorder = Recorder(webhooks_db, Webhooks(webhooks_db, secret_keys()), times)
        around = Dependencies(time.now, lambda: f"claim-{next(ids)}", Random(1))
        rows = StoredRows(deliveries, recorder, around)
        async with running(*rows.batchers):
            yield Store(rows, deliveries, time)
