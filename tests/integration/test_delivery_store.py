"""Deliveries in the database: disabling, listing and expiry."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest
from pymongo.write_concern import WriteConcern

from common.contracts.company import CompanyKey
from common.contracts.deliveries import DeliveryTask
from common.contracts.events import EventType
from common.contracts.failures import Unavailable
from common.contracts.webhooks import (
    AttemptCounts,
    AttemptStatus,
    DeliveryId,
    DeliveryQuery,
    DisabledReason,
    Webhook,
    WebhookHealth,
    WebhookId,
    WebhookStatus,
)
from common.mongo import Database, connected, database
from local_stack import servers
from tests.builders.deliveries import (
    WEBHOOK,
    a_delivery_id,
    a_new_delivery,
    a_task,
    an_attempted,
)
from tests.builders.webhooks import NOON, a_call, a_registered, secret_keys
from tests.delivery.waiting import eventually
from webhook_store.deliveries.events import Events
from webhook_store.deliveries.health import Health
from webhook_store.deliveries.models import (
    Attempted,
    Cancelled,
    CancelReason,
    Claimed,
    EventBody,
    Listed,
    ListPosition,
    NewDelivery,
    NotRepeated,
    Recovery,
    StoredEvent,
)
from webhook_store.deliveries.owned import OwnedDeliveries
from webhook_store.deliveries.recording import Recorder
from webhook_store.deliveries.recoveries import Recoveries
from webhook_store.deliveries.rows import Deliveries, DeliveryTimes
from webhook_store.indexes import make_indexes
from webhook_store.notices import Notices
from webhook_store.webhooks.registrations import Registrations
from webhook_store.webhooks.sending import Webhooks

pytestmark = pytest.mark.integration

#: Noon is long ago by the database's own clock, and nothing is to expire meanwhile.
RETENTION = timedelta(days=36_500)
SHORT = timedelta(minutes=1)
LEASE = timedelta(seconds=30)
LATER = NOON + timedelta(minutes=5)
CANCELLED = DeliveryQuery(status=AttemptStatus.CANCELLED)
ALWAYS = (NOON - timedelta(days=1), NOON + timedelta(days=1))


@dataclass
class Store:
    """The stores of deliveries, over one database."""

    database: Database
    webhooks: Webhooks
    registrations: Registrations
    deliveries: Deliveries
    recorder: Recorder
    #: Keeps what ended for a minute.
    forgetful: Recorder
    owned: OwnedDeliveries
    events: Events

    async def webhook(self, **fields: Any) -> Webhook:
        registered = a_registered(**{"id": WEBHOOK, **fields})
        await self.registrations.create(registered, call_id=a_call(1), limit=50)
        return registered.webhook

    async def claimed(self, *new: NewDelivery, at: datetime = NOON) -> list[Claimed]:
        """Keeps deliveries and claims them."""
        await self.deliveries.insert(new, at=at)
        ids = {one.id for one in new}
        tasks = [a_task(number) for number in range(60) if a_delivery_id(number) in ids]
        claimed = await self.deliveries.claim(tasks, token=uuid4().hex, at=at)
        return sorted(claimed, key=lambda one: one.id)

    async def attempt(self, delivery: Claimed, *, at: datetime = NOON, **fields: Any) -> Attempted:
        attempted = an_attempted(delivery, at=at, **fields)
        [written] = await self.recorder.record([attempted], at=at)
        assert written.held
        return attempted

    async def listed(
        self,
        query: DeliveryQuery = DeliveryQuery(),  # noqa: B008 (immutable)
        *,
        after: ListPosition | None = None,
        **fields: Any,
    ) -> Listed:
        return await self.owned.listed(the_webhook(**fields), query, after=after)

    async def row(self, number: int = 1) -> dict[str, Any]:
        found = await self.database["deliveries"].find_one({"_id": a_delivery_id(number)})
        assert found is not None
        return found

    async def is_enabled(self) -> bool:
        found = (await self.webhooks.sendable([WEBHOOK], at=NOON))[WEBHOOK]
        return found.enabled


def the_webhook(**fields: Any) -> Webhook:
    return a_registered(**{"id": WEBHOOK, **fields}).webhook


@pytest.fixture(name="store")
def _store(webhooks_db: Database) -> Store:
    return a_store(webhooks_db)


def a_store(webhooks_db: Database) -> Store:
    times = DeliveryTimes(lease=LEASE, retention=RETENTION)
    keys = secret_keys()
    webhooks = Webhooks(webhooks_db, keys)
    return Store(
        webhooks_db,
        webhooks,
        Registrations(webhooks_db, keys, Random(1)),
        Deliveries(webhooks_db, times),
        Recorder(webhooks_db, webhooks, times),
        Recorder(webhooks_db, webhooks, replace(times, retention=SHORT)),
        OwnedDeliveries(webhooks_db),
        Events(webhooks_db, retention=RETENTION),
    )


class TestDisabling:
    async def test_the_last_failure_disables_the_webhook_in_the_same_write(
        self, store: Store
    ) -> None:
        webhook = await store.webhook()
        [delivery] = await store.claimed(a_new_delivery())
        failed = an_attempted(delivery, error="dns", disable=DisabledReason.DELIVERY_FAILED)

        [written] = await store.recorder.record([failed], at=NOON)

        after = await store.registrations.find(webhook.owner, webhook.id)
        assert written.disabled
        assert not await store.is_enabled()
        assert (await store.row())["state"] == "failed"
        assert after is not None
        assert (after.disabled_reason, after.disabled_at) == (DisabledReason.DELIVERY_FAILED, NOON)
        assert (after.status, after.generation) == (WebhookStatus.DISABLED, 2)

    async def test_of_concurrent_failures_one_disables_the_webhook(self, store: Store) -> None:
        await store.webhook()
        claimed = await store.claimed(*(a_new_delivery(number) for number in range(10)))
        results = [
            an_attempted(one, error="http_status", disable=DisabledReason.GONE) for one in claimed
        ]

        lists = await asyncio.gather(
            *(
                store.recorder.record(results[first : first + 2], at=NOON)
                for first in range(0, 10, 2)
            )
        )

        written = [one for each in lists for one in each]
        assert all(one.held for one in written)
        assert sum(one.disabled for one in written) == 1

    async def test_an_attempt_in_flight_cannot_disable_a_webhook_enabled_since(
        self, store: Store
    ) -> None:
        await store.webhook(generation=3)
        [delivery] = await store.claimed(a_new_delivery(generation=1))
        failed = an_attempted(delivery, error="dns", disable=DisabledReason.DELIVERY_FAILED)

        [written] = await store.recorder.record([failed], at=NOON)

        assert (written.held, written.disabled) == (True, False)
        assert await store.is_enabled()

    async def test_a_lost_claim_disables_nothing_and_leaves_no_attempt(self, store: Store) -> None:
        await store.webhook()
        [late] = await store.claimed(a_new_delivery())
        await store.deliveries.claim([a_task()], token="other", at=NOON + LEASE)
        failed = an_attempted(late, error="dns", disable=DisabledReason.DELIVERY_FAILED)

        [written] = await store.recorder.record([failed], at=NOON + LEASE)

        assert not written.held
        assert await store.is_enabled()
        assert (await store.listed()).attempts == []

    async def test_a_process_killed_after_disabling_has_recorded_its_attempt(
        self, store: Store
    ) -> None:
        await store.webhook()
        [delivery] = await store.claimed(a_new_delivery())
        failed = an_attempted(delivery, error="dns", disable=DisabledReason.DELIVERY_FAILED)
        await store.recorder.record([failed], at=NOON)
        # As if it had died before it wrote the row.
        await store.database["deliveries"].update_one(
            {"_id": delivery.id},
            {
                "$set": {
                    "state": "waiting",
                    "attempts": 0,
                    "claim": delivery.claim,
                    "lease_until": delivery.lease_until,
                },
                "$unset": {"settled_by": "", "ended_at": "", "expires_at": ""},
            },
        )

        [again] = await store.deliveries.claim([a_task()], token="2", at=NOON + LEASE)
        cancelled = Cancelled(again, CancelReason.WEBHOOK_DISABLED)
        [written] = await store.recorder.record([cancelled], at=NOON + LEASE)

        assert written.held
        [listed] = (await store.listed(generation=2)).attempts
        assert (listed.attempt, listed.error, listed.next_attempt_at) == (1, "dns", None)
        assert (await store.row())["state"] == "cancelled"

    async def test_a_repeated_write_of_a_result_disables_once(self, store: Store) -> None:
        webhook = await store.webhook()
        [delivery] = await store.claimed(a_new_delivery())
        failed = an_attempted(delivery, error="dns", disable=DisabledReason.DELIVERY_FAILED)
        await store.recorder.record([failed], at=NOON)
        disabled = await store.registrations.find(webhook.owner, webhook.id)

        await store.recorder.record([failed], at=LATER)

        assert disabled is not None
        assert await store.registrations.find(webhook.owner, webhook.id) == disabled


class TestWhatOwnersRead:
    async def test_an_attempt_is_listed_as_it_was_made(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery, error="http_status", response_code=503, next_attempt_at=LATER)

        [listed] = (await store.listed()).attempts

        assert (listed.delivery_id, listed.event_id) == (delivery.id, "event-1")
        assert (listed.attempt, listed.status) == (1, AttemptStatus.FAILED)
        assert (listed.response_code, listed.error, listed.duration_ms) == (503, "http_status", 40)
        assert (listed.attempted_at, listed.next_attempt_at) == (NOON, LATER)

    async def test_the_last_50_are_listed_newest_first(self, store: Store) -> None:
        claimed = await store.claimed(*(a_new_delivery(number) for number in range(55)))
        for number, delivery in enumerate(claimed):
            await store.attempt(delivery, at=NOON + timedelta(seconds=number))

        listed = (await store.listed()).attempts

        assert [one.delivery_id for one in listed] == [
            a_delivery_id(number) for number in range(54, 4, -1)
        ]

    async def test_another_webhooks_attempts_are_not_listed(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery)

        assert (await store.listed(id=WebhookId("wh_2"))).attempts == []

    async def test_an_impossible_retry_is_not_listed(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery, error="dns", next_attempt_at=LATER)

        [listed] = (await store.listed(generation=2)).attempts

        assert listed.next_attempt_at is None

    async def test_deliveries_that_waited_when_it_was_disabled_are_listed_as_cancelled(
        self, store: Store
    ) -> None:
        claimed = await store.claimed(a_new_delivery(1), a_new_delivery(2))
        await store.recorder.record([Cancelled(claimed[0], CancelReason.COMPANY_REMOVED)], at=NOON)
        await store.attempt(claimed[1], error="dns", next_attempt_at=LATER)

        now = (await store.listed(CANCELLED)).attempts
        disabled = (await store.listed(CANCELLED, generation=2)).attempts

        assert [(one.delivery_id, one.error) for one in now] == [
            (a_delivery_id(1), "company_removed")
        ]
        assert {(one.delivery_id, one.error, one.attempt) for one in disabled} == {
            (a_delivery_id(1), "company_removed", 0),
            (a_delivery_id(2), "webhook_disabled", 1),
        }
        assert all(one.status is AttemptStatus.CANCELLED for one in disabled)


class TestPages:
    async def test_pages_of_attempts_follow_one_another(self, store: Store) -> None:
        claimed = await store.claimed(*(a_new_delivery(number) for number in range(5)))
        for number, delivery in enumerate(claimed):
            # Pairs of the same moment.
            await store.attempt(delivery, at=NOON + timedelta(seconds=number // 2))

        pages: list[list[str]] = []
        after = None
        while not pages or after is not None:
            listed = await store.listed(DeliveryQuery(limit=2), after=after)
            pages.append([one.delivery_id for one in listed.attempts])
            after = listed.last

        assert [len(page) for page in pages] == [2, 2, 1]
        assert {one for page in pages for one in page} == {a_delivery_id(n) for n in range(5)}

    @pytest.mark.parametrize(
        "query, numbers",
        [
            (DeliveryQuery(status=AttemptStatus.FAILED), [3, 1]),
            (DeliveryQuery(status=AttemptStatus.SUCCEEDED), [2, 0]),
            (DeliveryQuery(since=NOON + timedelta(seconds=1)), [3, 2, 1]),
            (DeliveryQuery(until=NOON + timedelta(seconds=1)), [1, 0]),
            (DeliveryQuery(types=(EventType.OWNERS_CHANGED,)), []),
            (DeliveryQuery(types=(EventType.COMPANY_UPDATED,), limit=1), [3]),
        ],
        ids=["failed", "succeeded", "since", "until", "another-type", "type"],
    )
    async def test_attempts_are_selected(
        self, store: Store, query: DeliveryQuery, numbers: list[int]
    ) -> None:
        claimed = await store.claimed(*(a_new_delivery(number) for number in range(4)))
        for number, delivery in enumerate(claimed):
            error = "dns" if number % 2 else None
            await store.attempt(delivery, error=error, at=NOON + timedelta(seconds=number))

        listed = await store.listed(query)

        assert [one.delivery_id for one in listed.attempts] == [a_delivery_id(n) for n in numbers]

    async def test_pages_of_cancelled_deliveries_follow_one_another(self, store: Store) -> None:
        await store.deliveries.insert([a_new_delivery(number) for number in range(3)], at=NOON)
        query = DeliveryQuery(status=AttemptStatus.CANCELLED, limit=2)

        first = await store.listed(query, generation=2)
        rest = await store.listed(query, generation=2, after=first.last)

        listed = [one.delivery_id for page in (first, rest) for one in page.attempts]
        assert sorted(listed) == [a_delivery_id(number) for number in range(3)]
        assert rest.last is None


class TestHealth:
    async def test_of_a_webhook_that_was_never_called_nothing_is_known(self, store: Store) -> None:
        health = await Health(store.database).of([WEBHOOK], at=NOON)

        assert health == {WEBHOOK: WebhookHealth()}

    async def test_it_fails_since_the_first_failure_after_the_last_success(
        self, store: Store
    ) -> None:
        claimed = await store.claimed(*(a_new_delivery(number) for number in range(5)))
        for minute, (delivery, error) in enumerate(
            zip(claimed, ("dns", None, "dns", "tls", "dns"), strict=True)
        ):
            await store.attempt(delivery, error=error, at=NOON + timedelta(minutes=minute))

        health = await Health(store.database).of([WEBHOOK], at=NOON + timedelta(hours=24))

        assert health[WEBHOOK] == WebhookHealth(
            last_success_at=NOON + timedelta(minutes=1),
            last_failure_at=NOON + timedelta(minutes=4),
            consecutive_failures=3,
            failing_since=NOON + timedelta(minutes=2),
            last_24h=AttemptCounts(succeeded=1, failed=4),
        )


class TestNotices:
    async def test_a_webhook_that_is_disabled_has_its_notice_at_once(self, store: Store) -> None:
        webhook = await store.webhook()
        [delivery] = await store.claimed(a_new_delivery())
        failed = an_attempted(delivery, error="dns", disable=DisabledReason.DELIVERY_FAILED)
        await store.recorder.record([failed], at=NOON)
        notices = Notices(store.database)

        [notice] = await notices.due(limit=10)
        await notices.remove(notice)

        [event] = notice.events
        assert event.data is not None
        assert event.data.webhook is not None
        assert (notice.owner, event.type) == (webhook.owner, EventType.WEBHOOK_DISABLED)
        assert event.data.webhook.disabled_reason == "delivery_failed"
        assert await notices.due(limit=10) == []

    async def test_a_failing_webhook_has_one_notice_a_day(self, store: Store) -> None:
        await store.webhook()
        claimed = await store.claimed(a_new_delivery(1), a_new_delivery(2))
        notices = Notices(store.database)
        ids = []
        for at in (NOON, NOON + timedelta(hours=1), NOON + timedelta(days=1)):
            for delivery in claimed:
                await notices.failing(an_attempted(delivery, error="dns", at=at))
            for notice in await notices.due(limit=10):
                ids += [event.id for event in notice.events]
                await notices.remove(notice)

        assert len(ids) == len(set(ids)) == 2

    async def test_a_notice_that_comes_meanwhile_stays(self, store: Store) -> None:
        await store.webhook()
        [delivery] = await store.claimed(a_new_delivery())
        notices = Notices(store.database)
        await notices.failing(an_attempted(delivery, error="dns", at=NOON))
        [notice] = await notices.due(limit=10)
        failed = an_attempted(delivery, error="dns", disable=DisabledReason.GONE)
        await store.recorder.record([failed], at=NOON)

        await notices.remove(notice)

        [again] = await notices.due(limit=10)
        assert {event.type for event in again.events} == {
            EventType.WEBHOOK_FAILING,
            EventType.WEBHOOK_DISABLED,
        }


class TestOneDelivery:
    async def test_a_scheduled_delivery_is_pending(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery, error="dns", next_attempt_at=LATER)

        shown = await store.owned.find(the_webhook(), delivery.id)

        assert shown is not None
        assert (shown.status, shown.next_attempt_at) == ("pending", LATER)
        assert [one.attempt for one in shown.attempts] == [1]

    async def test_one_that_waited_when_its_webhook_was_disabled_is_cancelled(
        self, store: Store
    ) -> None:
        [delivery] = await store.claimed(a_new_delivery())

        shown = await store.owned.find(the_webhook(generation=2), delivery.id)

        assert shown is not None
        assert (shown.status, shown.reason) == ("cancelled", "webhook_disabled")

    async def test_another_webhooks_delivery_is_not_found(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())

        assert await store.owned.find(the_webhook(id=WebhookId("wh_2")), delivery.id) is None


class TestRetryByHand:
    async def test_an_ended_delivery_is_attempted_once_more(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery)

        task = await retry(store, delivery.id)

        assert task == a_task(attempt=2)
        [again] = await store.deliveries.claim([a_task(attempt=2)], token="2", at=LATER)
        assert (again.by_hand, again.attempts, again.generation) == (True, 1, 1)

    async def test_a_waiting_delivery_does_not_expire(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery)
        ended = await store.row()

        await retry(store, delivery.id)

        assert ended["expires_at"] == NOON + RETENTION
        assert "expires_at" not in await store.row()

    async def test_a_scheduled_attempt_is_made_now_and_its_schedule_goes_on(
        self, store: Store
    ) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery, error="dns", next_attempt_at=NOON + timedelta(hours=2))

        answer = await retry(store, delivery.id)

        row = await store.row()
        assert answer == a_task(attempt=2)
        assert (row["due_at"], row["retries"], row["by_hand"]) == (LATER, 1, False)

    async def test_one_in_flight_is_pending(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())

        assert await retry(store, delivery.id, at=NOON) is NotRepeated.PENDING

    async def test_one_of_an_earlier_generation_is_finished(self, store: Store) -> None:
        await store.deliveries.insert([a_new_delivery()], at=NOON)

        answer = await retry(store, a_delivery_id(), generation=3)

        assert answer == a_task()

    async def test_one_of_an_earlier_generation_in_flight_is_pending(self, store: Store) -> None:
        await store.claimed(a_new_delivery())

        answer = await retry(store, a_delivery_id(), generation=3, at=NOON)

        assert answer is NotRepeated.PENDING

    async def test_another_webhooks_delivery_is_not_found(self, store: Store) -> None:
        await store.deliveries.insert([a_new_delivery()], at=NOON)

        answer = await retry(store, a_delivery_id(), id=WebhookId("wh_2"))

        assert answer is NotRepeated.NOT_FOUND

    async def test_a_delivery_of_a_purged_event_is_not_found(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery)
        await store.deliveries.purge(["event-1"], at=NOON)

        answer = await retry(store, delivery.id)

        assert answer is NotRepeated.NOT_FOUND

    async def test_a_repeated_call_returns_the_same_result_and_changes_nothing(
        self, store: Store
    ) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery)
        first = await retry(store, delivery.id)
        [again] = await store.deliveries.claim([a_task(attempt=2)], token="2", at=LATER)

        while_it_is_made = await retry(store, delivery.id)
        await store.attempt(again)
        when_it_is_over = await retry(store, delivery.id)

        assert first == while_it_is_made == a_task(attempt=2)
        assert isinstance(when_it_is_over, DeliveryTask)
        assert (await store.row())["state"] == "succeeded"

    async def test_another_call_while_it_waits_is_for_the_same_attempt(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        await store.attempt(delivery)
        first = await retry(store, delivery.id)

        assert await retry(store, delivery.id, call=10) == first


class TestRecovering:
    async def test_failed_and_cancelled_deliveries_restart_their_schedule(
        self, store: Store
    ) -> None:
        failed, cancelled, done = await store.claimed(*(a_new_delivery(n) for n in (1, 2, 3)))
        await store.attempt(failed, error="dns")
        await store.attempt(done)
        await store.recorder.record([Cancelled(cancelled, CancelReason.WEBHOOK_DISABLED)], at=NOON)
        # A delivery that waited when the webhook was disabled, and is listed as cancelled.
        await store.deliveries.insert([a_new_delivery(4)], at=NOON)

        count = await recover(store, generation=3)
        due = await store.deliveries.due(WEBHOOK, limit=10, at=LATER)
        claimed = await store.deliveries.claim(due, token="t", at=LATER)

        assert count == 3
        assert {(one.id, one.attempts) for one in claimed} == {
            (a_delivery_id(1), 1),
            (a_delivery_id(2), 0),
            (a_delivery_id(4), 0),
        }
        assert {(one.generation, one.retries, one.by_hand) for one in claimed} == {(3, 0, False)}

    async def test_the_window_applies_to_the_time_of_events(self, store: Store) -> None:
        hours = [NOON + timedelta(hours=number) for number in range(4)]
        await store.deliveries.insert(
            [
                a_new_delivery(number, occurred_at=hour, cancelled=CancelReason.WEBHOOK_DISABLED)
                for number, hour in enumerate(hours)
            ],
            at=NOON,
        )

        count = await recover(store, since=hours[1], until=hours[2])

        assert count == 2
        assert await waiting_numbers(store) == {1, 2}

    async def test_waiting_deliveries_keep_their_schedule(self, store: Store) -> None:
        await store.deliveries.insert([a_new_delivery()], at=NOON)

        assert await recover(store) == 0

    async def test_purged_deliveries_stay_purged(self, store: Store) -> None:
        await store.deliveries.insert([a_new_delivery()], at=NOON)
        await store.deliveries.purge(["event-1"], at=NOON)

        assert await recover(store) == 0

    async def test_it_runs_in_batches_and_returns_their_tasks(self, store: Store) -> None:
        await cancelled_rows(store, 20)
        asked = a_recovery()
        recoveries = Recoveries(store.database, batch=8)
        await recoveries.keep(asked)

        batches = [batch async for batch in recoveries.begin_anew(asked, now=lambda: LATER)]

        assert [len(batch) for batch in batches] == [8, 8, 4]
        assert {task for batch in batches for task in batch} == {a_task(n) for n in range(20)}

    async def test_another_process_continues_an_interrupted_recovery(self, store: Store) -> None:
        await cancelled_rows(store, 20)
        asked = a_recovery()
        recoveries = Recoveries(store.database, batch=8)
        await recoveries.keep(asked)
        async for _ in recoveries.begin_anew(asked, now=lambda: LATER):
            break
        begun = len(await waiting_numbers(store))
        was_done = await recoveries.finish(asked, at=LATER)

        [left] = await Recoveries(store.database).unfinished()
        await worked_off(store, left)

        assert (begun, was_done) == (8, False)
        assert left == asked
        assert await waiting_numbers(store) == set(range(20))
        assert await recoveries.unfinished() == []

    async def test_restarted_deliveries_are_due(self, store: Store) -> None:
        await cancelled_rows(store, 20)
        asked = a_recovery(generation=3)
        await worked_off(store, asked)

        tasks = await Recoveries(store.database).due(asked, at=LATER, limit=5)

        assert len(tasks) == 5
        assert all(task.attempt == 1 for task in tasks)

    async def test_a_repeated_call_returns_the_same_result(self, store: Store) -> None:
        await cancelled_rows(store, 3)
        first = await recover(store)

        assert (await recover(store), await recover(store, call=2)) == (first, 0) == (3, 0)

    async def test_a_delivery_that_ends_again_meanwhile_restarts_once(self, store: Store) -> None:
        await cancelled_rows(store, 1)
        asked = a_recovery(generation=3)
        await worked_off(store, asked)
        due = await store.deliveries.due(WEBHOOK, limit=1, at=LATER)
        [claimed] = await store.deliveries.claim(due, token="t", at=LATER)
        await store.attempt(claimed, error="dns")

        await worked_off(store, asked)

        assert (await store.row(0))["state"] == "failed"

    async def test_it_waits_for_deliveries_in_flight(self, store: Store) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        asked, recoveries = a_recovery(generation=3), Recoveries(store.database)
        count = await recoveries.keep(asked)

        while_in_flight = await worked_off(store, asked, at=NOON)
        await store.attempt(delivery, error="dns", next_attempt_at=LATER)
        afterwards = await worked_off(store, asked, at=NOON)

        assert (count, while_in_flight, afterwards) == (1, False, True)
        assert (await store.row())["generation"] == 3

    async def test_counting_is_bounded_and_sending_is_not(self, store: Store) -> None:
        await cancelled_rows(store, 20)

        count = await Recoveries(store.database, max_counted=5).keep(a_recovery())
        await worked_off(store, a_recovery())

        assert count == 5
        assert await waiting_numbers(store) == set(range(20))


def a_recovery(call: int = 1, **fields: Any) -> Recovery:
    since, until = ALWAYS
    given = {"call_id": a_call(call), "webhook_id": WEBHOOK, "generation": 1}
    return Recovery(**{**given, "since": since, "until": until, **fields})


async def worked_off(store: Store, recovery: Recovery, *, at: datetime = LATER) -> bool:
    """True if no documents of it are left."""
    recoveries = Recoveries(store.database)
    async for _ in recoveries.begin_anew(recovery, now=lambda: at):
        pass
    return await recoveries.finish(recovery, at=datetime.now(UTC))


async def recover(store: Store, **fields: Any) -> int:
    """Resets the deliveries of a recovery; returns their number."""
    asked = a_recovery(**fields)
    count = await Recoveries(store.database).keep(asked)
    await worked_off(store, asked)
    return count


async def cancelled_rows(store: Store, count: int) -> None:
    await store.deliveries.insert(
        [
            a_new_delivery(number, cancelled=CancelReason.WEBHOOK_DISABLED)
            for number in range(count)
        ],
        at=NOON,
    )


async def waiting_numbers(store: Store) -> set[int]:
    rows = store.database["deliveries"].find({"state": "waiting"}, {"_id": 1})
    return {UUID(row["_id"]).int async for row in rows}


async def retry(
    store: Store,
    delivery_id: DeliveryId,
    *,
    call: int = 9,
    at: datetime = LATER,
    **fields: Any,
) -> DeliveryTask | NotRepeated:
    webhook = the_webhook(**fields)
    return await store.owned.retry(webhook, delivery_id, call_id=a_call(call), at=at)


@pytest.fixture(name="expiring")
async def _expiring(server_folder: Path) -> AsyncIterator[Store]:
    """On a server that deletes expired documents every second: those of other tests are, too."""
    own = servers.own_replica_set(server_folder / "expiring")
    try:
        await asyncio.to_thread(own.start)
        async with connected(own.url, name="test", operation_timeout=None) as client:
            await client.admin.command("setParameter", 1, ttlMonitorEnabled=True)
            webhooks = database(client, "webhooks")
            await make_indexes(webhooks)
            yield a_store(webhooks)
    finally:
        await asyncio.to_thread(own.kill)


class TestExpiry:
    """With a shortened retention: ended deliveries are deleted, waiting ones are kept."""

    async def test_ended_rows_and_attempts_expire_and_waiting_ones_stay(
        self, expiring: Store
    ) -> None:
        now = datetime.now(UTC)
        long_ago = now - 2 * SHORT
        old, recovered, young = await expiring.claimed(
            *(a_new_delivery(number) for number in (1, 2, 3)), at=long_ago
        )
        await expiring.deliveries.insert([a_new_delivery(4)], at=long_ago)  # it waits since then
        failed = an_attempted(recovered, at=now, error="dns", next_attempt_at=now)
        await expiring.forgetful.record([an_attempted(old, at=long_ago)], at=long_ago)
        await expiring.forgetful.record([an_attempted(young, at=now), failed], at=now)

        rows, attempts = expiring.database["deliveries"], expiring.database["attempts"]
        await eventually(lambda: _ids(rows), lambda ids: old.id not in ids)
        await eventually(lambda: _ids(attempts), lambda ids: f"{old.id}:1" not in ids)

        assert await _ids(rows) == {a_delivery_id(number) for number in (2, 3, 4)}
        assert await _ids(attempts) == {f"{recovered.id}:1", f"{young.id}:1"}

    async def test_an_event_expires_when_no_delivery_needs_it(self, store: Store) -> None:
        events = [an_event_of("event-1"), an_event_of("event-2")]
        await store.events.store(events, at=NOON)
        await store.deliveries.insert([a_new_delivery(1)], at=NOON)  # of event-1; it waits
        after = NOON + RETENTION + timedelta(hours=1)

        too_early = await store.events.expire(at=NOON + RETENTION, limit=10)
        gone = await store.events.expire(at=after, limit=10)
        await store.database["deliveries"].delete_many({})
        gone_later = await store.events.expire(at=after + timedelta(days=2), limit=10)

        assert (too_early, gone, gone_later) == (0, 1, 1)
        assert await store.events.bodies(["event-1", "event-2"]) == {}

    async def test_an_event_that_is_needed_keeps_its_bytes(self, store: Store) -> None:
        await store.events.store([an_event_of("event-1")], at=NOON)
        await store.deliveries.insert([a_new_delivery(1)], at=NOON)

        await store.events.expire(at=NOON + 2 * RETENTION, limit=10)

        assert await store.events.bodies(["event-1"]) == {"event-1": EventBody(b"event-1")}


class TestNoMajority:
    """Writes that only the primary has may be rolled back: they count as not written."""

    @pytest.fixture(name="lonely")
    def _lonely(self, store: Store) -> Database:
        """The same database, of which more members are asked for than there are."""
        return store.database.with_options(write_concern=WriteConcern(w=5))

    async def test_deliveries_and_events_are_to_be_kept_again(
        self, store: Store, lonely: Database
    ) -> None:
        deliveries = Deliveries(lonely, DeliveryTimes(lease=LEASE))
        events = Events(lonely, retention=RETENTION)
        for _ in range(2):  # the second time they are there already
            with pytest.raises(Unavailable):
                await deliveries.insert([a_new_delivery()], at=NOON)
            with pytest.raises(Unavailable):
                await events.store([an_event_of("event-1")], at=NOON)

        await store.deliveries.insert([a_new_delivery()], at=NOON)
        await store.events.store([an_event_of("event-1")], at=NOON)

    async def test_a_made_attempt_is_to_be_recorded_again(
        self, store: Store, lonely: Database
    ) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        recorder = Recorder(lonely, store.webhooks, DeliveryTimes(lease=LEASE))
        for _ in range(2):
            with pytest.raises(Unavailable):
                await recorder.record([an_attempted(delivery)], at=NOON)

        [written] = await store.recorder.record([an_attempted(delivery)], at=NOON)

        assert written.held
        assert await _ids(store.database["attempts"]) == {f"{delivery.id}:1"}

    async def test_a_cancelled_delivery_is_to_be_recorded_again(
        self, store: Store, lonely: Database
    ) -> None:
        [delivery] = await store.claimed(a_new_delivery())
        recorder = Recorder(lonely, store.webhooks, DeliveryTimes(lease=LEASE))
        cancelled = Cancelled(delivery, CancelReason.COMPANY_REMOVED)

        with pytest.raises(Unavailable):
            await recorder.record([cancelled], at=NOON)

        [written] = await store.recorder.record([cancelled], at=NOON)
        assert written.held


class TestRemovedCompanies:
    async def test_their_events_are_found_without_the_removal(self, store: Store) -> None:
        removal = StoredEvent("removal", EventType.COMPANY_REMOVED, CompanyKey.parse("dk:1"), b"")
        await store.events.store(
            [an_event_of("event-1"), removal, an_event_of("event-2", company="dk:2")], at=NOON
        )

        assert await store.events.of_company(CompanyKey.parse("dk:1")) == ["event-1"]
        assert await store.events.removed([CompanyKey.parse("dk:1"), CompanyKey.parse("dk:2")]) == {
            "dk:1"
        }


def an_event_of(event_id: str, *, company: str = "dk:1") -> StoredEvent:
    return StoredEvent(
        event_id, EventType.COMPANY_UPDATED, CompanyKey.parse(company), event_id.encode()
    )


async def _ids(collection: Any) -> set[str]:
    return {document["_id"] async for document in collection.find({}, {"_id": 1})}


async def test_every_query_of_the_dispatcher_uses_an_index(store: Store) -> None:
    await store.deliveries.insert([a_new_delivery(number) for number in range(50)], at=NOON)
    queries = {
        "next_due": {
            "webhook_id": WEBHOOK,
            "state": "waiting",
            "due_at": {"$lte": NOON},
        },
        "overdue": {"state": "waiting", "retries": {"$gte": 0}, "wake_at": {"$lte": LATER}},
        "event_id": {"event_id": {"$in": ["event-1"]}},
    }

    for name, query in queries.items():
        plan = await store.database["deliveries"].find(query).explain()

        assert f"'indexName': '{name}'" in str(plan["queryPlanner"]["winningPlan"])


async def test_a_list_reads_only_the_rows_it_returns(store: Store) -> None:
    await many_rows(store, 3000)

    async with profiled(store) as queries:
        listed = await store.listed(CANCELLED, generation=2)

    assert len(listed.attempts) == 50
    assert {query["planSummary"].partition(" ")[0] for query in queries} == {"IXSCAN"}
    assert not any(query.get("hasSortStage") for query in queries)
    # One more says whether there is another page.
    assert max(query["docsExamined"] for query in queries) <= 51


async def test_a_batch_of_a_recovery_reads_only_the_rows_it_restarts(
    store: Store,
) -> None:
    await many_rows(store, 3000)
    recoveries = Recoveries(store.database, batch=500)

    async with profiled(store) as queries:
        async for _ in recoveries.begin_anew(a_recovery(generation=2), now=lambda: LATER):
            pass

    assert {query["planSummary"].partition(" ")[0] for query in queries} == {"IXSCAN"}
    assert not any(query.get("hasSortStage") for query in queries)
    assert max(query["docsExamined"] for query in queries) <= 501


async def many_rows(store: Store, count: int) -> None:
    """Half of them wait since before their webhook was disabled, half were cancelled since."""
    moments = [NOON - timedelta(seconds=number) for number in range(count)]
    cancelled = [CancelReason.WEBHOOK_DISABLED if number % 2 else None for number in range(count)]
    new = [
        a_new_delivery(number, occurred_at=moments[number], cancelled=cancelled[number])
        for number in range(count)
    ]
    await store.deliveries.insert(new, at=NOON)


@asynccontextmanager
async def profiled(store: Store) -> AsyncIterator[list[dict[str, Any]]]:
    """The database's statistics of finding rows while the body ran; filled after it."""
    queries: list[dict[str, Any]] = []
    await store.database.command("profile", 2)
    yield queries
    await store.database.command("profile", 0)
    found = {"ns": f"{store.database.name}.deliveries", "op": "query"}
    queries += await store.database["system.profile"].find(found).to_list(None)


async def test_indexes_of_an_earlier_version_are_replaced(store: Store) -> None:
    rows = store.database["deliveries"]
    await rows.create_index("webhook_id", name="repeatable")

    await make_indexes(store.database)

    assert "repeatable" not in await rows.index_information()
