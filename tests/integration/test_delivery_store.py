"""Deliveries in the database: disabling, listing, retrying and expiry."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest

from common.contracts.company import CompanyKey
from common.contracts.events import EventType
from common.contracts.topology import DeliveryTask
from common.contracts.webhook_api import DeliveryQuery
from common.contracts.webhooks import (
    AttemptCounts,
    AttemptList,
    AttemptStatus,
    DisabledReason,
    Webhook,
    WebhookHealth,
    WebhookId,
    WebhookStatus,
)
from common.mongo import Database
from tests.builders.deliveries import WEBHOOK, a_delivery_id, a_new_delivery, a_task, an_attempted
from tests.builders.webhooks import NOON, OWNER, a_call, a_registered, a_webhook, secret_keys
from webhook_store.deliveries import CancelReason, ClaimedDelivery, Deliveries, DeliveryTimes
from webhook_store.events import EventBody, Events, StoredEvent
from webhook_store.owned import Health, OwnedDeliveries, RetryRefusal
from webhook_store.recording import Cancellation, Notices, Recorder, Result, WriteEffect
from webhook_store.recoveries import Recoveries, Recovery
from webhook_store.sending import Webhooks
from webhook_store.webhooks import Registrations

pytestmark = pytest.mark.integration

#: Noon is long ago by the database's own clock, and nothing is to expire meanwhile.
RETENTION = timedelta(days=36_500)
SHORT, LEASE = timedelta(minutes=1), timedelta(seconds=30)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
LATER = NOON + 5 * MINUTE
CANCELLED = DeliveryQuery(status=AttemptStatus.CANCELLED)
#: Fields of a last failure, which disables the webhook.
FOR_GOOD: dict[str, Any] = {"error": "dns", "disable": DisabledReason.DELIVERY_FAILED}
#: Fields of a delivery that never waited.
NOT_SENT: dict[str, Any] = {"cancelled": CancelReason.WEBHOOK_DISABLED}


@dataclass
class Store:
    """The deliveries of a webhook over one database, by number."""

    database: Database
    retention: timedelta = RETENTION
    body_retention: timedelta = RETENTION

    def __post_init__(self) -> None:
        times = DeliveryTimes(
            lease=LEASE, retention=self.retention, body_retention=self.body_retention
        )
        self.webhooks = Webhooks(self.database, secret_keys())
        self.registrations = Registrations(self.database, secret_keys(), Random(1))
        self.deliveries = Deliveries(self.database, times)
        self.recorder = Recorder(self.database, self.webhooks, times)
        self.owned = OwnedDeliveries(self.database)
        self.notices = Notices(self.database)
        self.events = Events(self.database, times)

    async def create(self, **fields: Any) -> None:
        new = a_registered(**{"id": WEBHOOK, **fields})
        await self.registrations.create(new, call_id=a_call(1), limit=50)

    async def webhook(self) -> Webhook:
        found = await self.registrations.find(OWNER, WEBHOOK)
        assert found is not None
        return found

    async def insert(self, *numbers: int, at: datetime = NOON, **fields: Any) -> None:
        await self.deliveries.insert([a_new_delivery(n, **fields) for n in numbers], at=at)

    async def claim(
        self, *numbers: int, at: datetime = NOON, attempt: int = 1
    ) -> list[ClaimedDelivery]:
        tasks = [a_task(number, attempt=attempt) for number in numbers]
        claimed = await self.deliveries.claim(tasks, token=uuid4().hex, at=at)
        return sorted(claimed, key=lambda one: one.id)

    async def claimed(
        self, *numbers: int, at: datetime = NOON, **fields: Any
    ) -> list[ClaimedDelivery]:
        """Inserts deliveries and claims them."""
        await self.insert(*numbers, at=at, **fields)
        return await self.claim(*numbers, at=at)

    async def record(self, *results: Result, at: datetime = NOON) -> list[WriteEffect]:
        return list(await self.recorder.record(results, at=at))

    async def attempt(
        self, delivery: ClaimedDelivery, *, at: datetime = NOON, **fields: Any
    ) -> WriteEffect:
        [written] = await self.record(an_attempted(delivery, at=at, **fields), at=at)
        return written

    async def attempted(self, number: int = 1, *, at: datetime = NOON, **fields: Any) -> None:
        """Inserts a delivery and makes its first attempt: a success, unless the fields differ."""
        [delivery] = await self.claimed(number)
        assert (await self.attempt(delivery, at=at, **fields)).held

    async def listed(
        self,
        query: DeliveryQuery = DeliveryQuery(),  # noqa: B008 (immutable)
        **fields: Any,
    ) -> AttemptList:
        return await self.owned.listed(the_webhook(**fields), query)

    async def retry(self, *, call: int = 9, at: datetime = LATER, **fields: Any) -> object:
        webhook, call_id = the_webhook(**fields), a_call(call)
        return await self.owned.retry(webhook, a_delivery_id(), call_id=call_id, at=at)

    async def restart(self, recovery: Recovery, *, at: datetime = LATER) -> bool:
        """Works a recovery off; returns False if deliveries of it are left."""
        recoveries = Recoveries(self.database)
        async for _ in recoveries.begin_anew(recovery, now=lambda: at):
            pass
        return await recoveries.finish(recovery, at=datetime.now(UTC))

    async def recover(self, **fields: Any) -> int:
        """Restarts the deliveries of a recovery; returns their number."""
        recovery = a_recovery(**fields)
        count = await Recoveries(self.database).keep(recovery)
        await self.restart(recovery)
        return count

    async def row(self, number: int = 1) -> dict[str, Any]:
        found = await self.database["deliveries"].find_one({"_id": a_delivery_id(number)})
        assert found is not None
        return found

    async def waiting(self) -> set[int]:
        rows = self.database["deliveries"].find({"state": "waiting"}, {"_id": 1})
        return {number_of(row["_id"]) async for row in rows}


def number_of(delivery_id: str) -> int:
    return UUID(delivery_id).int


def the_webhook(**fields: Any) -> Webhook:
    return a_webhook(**{"id": WEBHOOK, **fields})


def a_recovery(call: int = 1, **fields: Any) -> Recovery:
    """A recovery of everything, unless the fields say otherwise."""
    always = {"since": NOON - 24 * HOUR, "until": NOON + 24 * HOUR}
    given = {"call_id": a_call(call), "webhook_id": WEBHOOK, "generation": 1}
    return Recovery(**{**given, **always, **fields})


def an_event_of(event_id: str, company: str = "dk:1", **fields: Any) -> StoredEvent:
    given = {"kind": EventType.COMPANY_UPDATED, "body": event_id.encode(), **fields}
    return StoredEvent(id=event_id, company=CompanyKey.parse(company), **given)


@pytest.fixture(name="store")
def _store(empty_webhooks_db: Database) -> Store:
    return Store(empty_webhooks_db)


async def test_an_attempt_is_listed_as_it_was_made_for_its_webhook_alone(store: Store) -> None:
    await store.attempted(error="http_status", response_code=503, next_attempt_at=LATER)

    [listed] = (await store.listed()).deliveries
    [disabled] = (await store.listed(generation=2)).deliveries

    assert (listed.delivery_id, listed.event_id) == (a_delivery_id(), "event-1")
    assert (listed.attempt, listed.status) == (1, AttemptStatus.FAILED)
    assert (listed.response_code, listed.error, listed.duration_ms) == (503, "http_status", 40)
    assert (listed.attempted_at, listed.next_attempt_at) == (NOON, LATER)
    assert disabled.next_attempt_at is None  # such a retry is never made
    assert (await store.listed(id=WebhookId("wh_2"))).deliveries == ()


async def test_the_last_50_are_listed_newest_first(store: Store) -> None:
    claimed = await store.claimed(*range(55))
    await store.record(*(an_attempted(one, at=NOON + n * SECOND) for n, one in enumerate(claimed)))

    listed = (await store.listed()).deliveries

    assert [number_of(one.delivery_id) for one in listed] == [*range(54, 4, -1)]


async def test_deliveries_that_waited_when_it_was_disabled_are_listed_as_cancelled(
    store: Store,
) -> None:
    [removed] = await store.claimed(1)
    await store.record(Cancellation(removed, CancelReason.COMPANY_REMOVED))
    await store.attempted(2, error="dns", next_attempt_at=LATER)

    now = (await store.listed(CANCELLED)).deliveries
    disabled = (await store.listed(CANCELLED, generation=2)).deliveries

    assert [(number_of(one.delivery_id), one.error) for one in now] == [(1, "company_removed")]
    assert {(number_of(one.delivery_id), one.error, one.attempt) for one in disabled} == {
        (1, "company_removed", 0),
        (2, "webhook_disabled", 1),
    }
    assert all(one.status is AttemptStatus.CANCELLED for one in disabled)


@pytest.mark.parametrize("status, generation", [(None, 1), (AttemptStatus.CANCELLED, 2)])
async def test_pages_follow_one_another(
    store: Store, status: AttemptStatus | None, generation: int
) -> None:
    for number in range(5):
        # Pairs of the same moment.
        at = NOON + number // 2 * SECOND
        await store.attempted(number, at=at, error="dns", next_attempt_at=LATER)

    pages: list[list[int]] = []
    after = None
    while not pages or after is not None:
        query = DeliveryQuery.model_validate({"status": status, "limit": 2, "after": after})
        listed = await store.listed(query, generation=generation)
        pages.append([number_of(one.delivery_id) for one in listed.deliveries])
        after = listed.cursor

    assert [len(page) for page in pages] == [2, 2, 1]
    assert {number for page in pages for number in page} == set(range(5))


@pytest.mark.parametrize(
    "query, numbers",
    [
        (DeliveryQuery(status=AttemptStatus.FAILED), [3, 1]),
        (DeliveryQuery(status=AttemptStatus.SUCCEEDED), [2, 0]),
        (DeliveryQuery(since=NOON + SECOND), [3, 2, 1]),
        (DeliveryQuery(until=NOON + SECOND), [1, 0]),
        (DeliveryQuery(types=(EventType.OWNERS_CHANGED,)), []),
        (DeliveryQuery(types=(EventType.COMPANY_UPDATED,), limit=1), [3]),
    ],
    ids=["failed", "succeeded", "since", "until", "another-type", "type"],
)
async def test_attempts_are_selected(
    store: Store, query: DeliveryQuery, numbers: list[int]
) -> None:
    for number in range(4):
        error = "dns" if number % 2 else None
        await store.attempted(number, error=error, at=NOON + number * SECOND)

    listed = await store.listed(query)

    assert [number_of(one.delivery_id) for one in listed.deliveries] == numbers


async def test_it_fails_since_the_first_failure_after_the_last_success(store: Store) -> None:
    health = Health(store.database)
    empty = await health.of([WEBHOOK], at=NOON)
    for minute, error in enumerate(("dns", None, "dns", "tls", "dns")):
        await store.attempted(minute, error=error, at=NOON + minute * MINUTE)

    failing = await health.of([WEBHOOK], at=NOON + 24 * HOUR)

    assert empty == {WEBHOOK: WebhookHealth()}
    assert failing[WEBHOOK] == WebhookHealth(
        last_success_at=NOON + MINUTE,
        last_failure_at=NOON + 4 * MINUTE,
        consecutive_failures=3,
        failing_since=NOON + 2 * MINUTE,
        last_24h=AttemptCounts(succeeded=1, failed=4),
    )


async def test_a_failing_webhook_says_when_it_is_tried_next_and_when_it_is_disabled(
    store: Store,
) -> None:
    await store.create()
    health = Health(store.database)
    # The older one is tried later, and makes its last retry sooner.
    for number, next_, last in ((1, 30 * MINUTE, HOUR), (2, 5 * MINUTE, 2 * HOUR)):
        times = {"next_attempt_at": NOON + next_, "disables_at": NOON + last}
        await store.attempted(number, error="dns", **times)
    [again] = await store.claim(1, at=NOON + 30 * MINUTE, attempt=2)
    times = {"next_attempt_at": NOON + 50 * MINUTE, "disables_at": NOON + HOUR}
    await store.attempt(again, at=NOON + 30 * MINUTE, error="dns", **times)
    await store.insert(3)

    found = (await health.of([WEBHOOK], at=NOON + HOUR))[WEBHOOK]
    shown = await health.with_retries(await store.webhook(), found)
    disabled = (await store.webhook()).model_copy(update={"status": WebhookStatus.DISABLED})

    assert (shown.next_attempt_at, shown.disables_at) == (NOON + 5 * MINUTE, NOON + HOUR)
    assert await health.with_retries(disabled, found) == found


async def test_a_failing_webhook_has_one_notice_a_day(store: Store) -> None:
    await store.create()
    claimed = await store.claimed(1, 2)
    ids = []
    for at in (NOON, NOON + HOUR, NOON + 24 * HOUR):
        for delivery in claimed:
            await store.notices.failing(an_attempted(delivery, error="dns", at=at))
        for notice in await store.notices.due(limit=10):
            ids += [event.id for event in notice.events]
            await store.notices.remove(notice)

    assert len(ids) == len(set(ids)) == 2


async def test_a_notice_that_comes_meanwhile_stays(store: Store) -> None:
    await store.create()
    [delivery] = await store.claimed(1)
    await store.notices.failing(an_attempted(delivery, error="dns"))
    [notice] = await store.notices.due(limit=10)
    await store.attempt(delivery, **FOR_GOOD)

    await store.notices.remove(notice)

    [again] = await store.notices.due(limit=10)
    failing, disabled = again.events
    assert failing.type is EventType.WEBHOOK_FAILING
    assert disabled.type is EventType.WEBHOOK_DISABLED
    assert disabled.data is not None
    assert disabled.data.webhook is not None
    assert (again.owner, disabled.data.webhook.disabled_reason) == (OWNER, "delivery_failed")
    await store.notices.remove(again)
    assert await store.notices.due(limit=10) == []


async def test_a_scheduled_delivery_is_pending_and_cancelled_once_its_webhook_is_disabled(
    store: Store,
) -> None:
    await store.attempted(error="dns", next_attempt_at=LATER)

    pending, cancelled = [
        await store.owned.find(the_webhook(generation=generation), a_delivery_id())
        for generation in (1, 2)
    ]

    assert pending is not None
    assert (pending.status, pending.next_attempt_at) == ("pending", LATER)
    assert [one.attempt for one in pending.attempts] == [1]
    assert cancelled is not None
    assert (cancelled.status, cancelled.reason) == ("cancelled", "webhook_disabled")


async def test_another_webhooks_delivery_is_neither_found_nor_retried(store: Store) -> None:
    await store.insert(1)
    other = WebhookId("wh_2")

    assert await store.owned.find(the_webhook(id=other), a_delivery_id()) is None
    assert await store.retry(id=other) is RetryRefusal.NOT_FOUND


async def test_an_ended_delivery_is_attempted_once_more_and_does_not_expire(store: Store) -> None:
    await store.attempted()
    ended = await store.row()

    task = await store.retry()

    waiting = await store.row()
    [again] = await store.claim(1, attempt=2, at=LATER)
    assert task == a_task(attempt=2)
    assert (again.by_hand, again.attempts, again.generation) == (True, 1, 1)
    assert ended["expires_at"] == NOON + RETENTION
    assert "expires_at" not in waiting


async def test_a_scheduled_attempt_is_made_now_and_its_schedule_goes_on(store: Store) -> None:
    await store.attempted(error="dns", next_attempt_at=NOON + 2 * HOUR)

    answer = await store.retry()

    row = await store.row()
    assert answer == a_task(attempt=2)
    assert (row["due_at"], row["retries"], row["by_hand"]) == (LATER, 1, False)


async def test_a_waiting_delivery_is_retried_unless_it_is_in_flight_or_purged(store: Store) -> None:
    await store.claimed(1)

    in_flight = [await store.retry(generation=generation, at=NOON) for generation in (1, 3)]
    of_an_earlier_generation = await store.retry(generation=3)
    await store.deliveries.purge(["event-1"], at=LATER)

    assert in_flight == [RetryRefusal.PENDING] * 2
    assert of_an_earlier_generation == a_task()
    assert await store.retry(call=10) is RetryRefusal.NOT_FOUND


async def test_a_repeated_retry_returns_the_same_result_and_changes_nothing(store: Store) -> None:
    await store.attempted()
    first, by_another_call = await store.retry(), await store.retry(call=10)
    [again] = await store.claim(1, attempt=2, at=LATER)

    while_it_is_made = await store.retry(call=10)
    await store.attempt(again)
    when_it_is_over = await store.retry(call=10)

    assert first == by_another_call == while_it_is_made == a_task(attempt=2)
    assert isinstance(when_it_is_over, DeliveryTask)
    assert (await store.row())["state"] == "succeeded"


async def test_failed_and_cancelled_deliveries_restart_their_schedule(store: Store) -> None:
    await store.attempted(1, error="dns")
    [cancelled] = await store.claimed(2)
    await store.record(Cancellation(cancelled, CancelReason.WEBHOOK_DISABLED))
    await store.attempted(3)
    # A delivery that waited when the webhook was disabled, and is listed as cancelled.
    await store.insert(4)

    count = await store.recover(generation=3)

    due = await store.deliveries.due(WEBHOOK, limit=10, at=LATER)
    claimed = await store.deliveries.claim(due, token="t", at=LATER)
    assert count == 3
    assert {(number_of(one.id), one.attempts) for one in claimed} == {(1, 1), (2, 0), (4, 0)}
    assert {(one.generation, one.retries, one.by_hand) for one in claimed} == {(3, 0, False)}


async def test_the_window_applies_to_the_time_of_events(store: Store) -> None:
    for number in range(4):
        await store.insert(number, occurred_at=NOON + number * HOUR, **NOT_SENT)

    count = await store.recover(since=NOON + HOUR, until=NOON + 2 * HOUR)

    assert count == 2
    assert await store.waiting() == {1, 2}


async def test_waiting_and_purged_deliveries_are_not_recovered(store: Store) -> None:
    await store.insert(1, 2)
    await store.deliveries.purge(["event-2"], at=NOON)

    assert await store.recover() == 0


async def test_a_recovery_runs_in_batches_that_another_process_continues(store: Store) -> None:
    await store.insert(*range(20), **NOT_SENT)
    recovery, recoveries = a_recovery(), Recoveries(store.database, batch=8)
    await recoveries.keep(recovery)
    async for batch in recoveries.begin_anew(recovery, now=lambda: LATER):
        first = batch
        break
    begun = await store.waiting()
    was_done = await recoveries.finish(recovery, at=LATER)

    [left] = await Recoveries(store.database).unfinished()
    rest = [batch async for batch in recoveries.begin_anew(left, now=lambda: LATER)]
    is_done = await recoveries.finish(left, at=datetime.now(UTC))
    due = await recoveries.due(recovery, at=LATER, limit=5)

    assert [len(batch) for batch in (first, *rest)] == [8, 8, 4]
    assert {task for batch in (first, *rest) for task in batch} == {a_task(n) for n in range(20)}
    assert (len(begun), was_done, left, is_done) == (8, False, recovery, True)
    assert await store.waiting() == set(range(20))
    assert await recoveries.unfinished() == []
    assert [task.attempt for task in due] == [1] * 5


async def test_a_repeated_recovery_returns_the_same_result(store: Store) -> None:
    await store.insert(*range(3), **NOT_SENT)

    assert [await store.recover(call=call) for call in (1, 1, 2)] == [3, 3, 0]


async def test_a_delivery_that_ends_again_meanwhile_restarts_once(store: Store) -> None:
    await store.insert(1, **NOT_SENT)
    recovery = a_recovery(generation=3)
    await store.restart(recovery)
    [claimed] = await store.claim(1, at=LATER)
    await store.attempt(claimed, error="dns")

    await store.restart(recovery)

    assert (await store.row())["state"] == "failed"


async def test_a_recovery_waits_for_deliveries_in_flight(store: Store) -> None:
    [delivery] = await store.claimed(1)
    recovery = a_recovery(generation=3)
    count = await Recoveries(store.database).keep(recovery)

    while_in_flight = await store.restart(recovery, at=NOON)
    await store.attempt(delivery, error="dns", next_attempt_at=LATER)
    afterwards = await store.restart(recovery, at=NOON)

    assert (count, while_in_flight, afterwards) == (1, False, True)
    assert (await store.row())["generation"] == 3


async def test_counting_is_bounded_and_sending_is_not(store: Store) -> None:
    await store.insert(*range(20), **NOT_SENT)

    count = await Recoveries(store.database, max_counted=5).keep(a_recovery())
    await store.restart(a_recovery())

    assert count == 5
    assert await store.waiting() == set(range(20))


async def test_ended_rows_and_attempts_expire_and_waiting_ones_stay(store: Store) -> None:
    store = Store(store.database, retention=SHORT)
    now = datetime.now(UTC).replace(microsecond=0)  # nothing expires while the test runs
    later = now + SHORT
    old, recovered, young = await store.claimed(1, 2, 3, at=now)
    await store.insert(4, at=now)  # it waits since then
    await store.attempt(old, at=now)
    await store.attempt(young, at=later)
    await store.attempt(recovered, at=later, error="dns", next_attempt_at=later)

    for name, expired in (("deliveries", old.id), ("attempts", f"{old.id}:1")):
        collection = store.database[name]
        indexes = (await collection.index_information()).values()
        [ttl] = [index for index in indexes if "expireAfterSeconds" in index]
        # The database deletes what these find.
        found = await collection.find({"expires_at": {"$lte": later}}).to_list(None)
        assert (ttl["key"], ttl["expireAfterSeconds"]) == ([("expires_at", 1)], 0)
        assert [document["_id"] for document in found] == [expired]


async def test_an_event_expires_when_no_delivery_needs_it(store: Store) -> None:
    await store.events.store([an_event_of("event-1"), an_event_of("event-2")], at=NOON)
    await store.insert(1)  # of event-1; it waits
    after = NOON + RETENTION + HOUR

    too_early = await store.events.expire(at=NOON + RETENTION, limit=10)
    gone = await store.events.expire(at=after, limit=10)
    left = await store.events.bodies(["event-1", "event-2"])
    await store.database["deliveries"].delete_many({})
    gone_later = await store.events.expire(at=after + timedelta(days=2), limit=10)

    assert (too_early, gone, gone_later) == (0, 1, 1)
    assert left == {"event-1": EventBody(b"event-1")}
    assert await store.events.bodies(["event-1", "event-2"]) == {}


async def test_a_delivery_that_ended_long_ago_is_shown_without_its_body_and_not_retried(
    store: Store,
) -> None:
    brief = Store(store.database, body_retention=HOUR)
    removal = an_event_of("removal", kind=EventType.COMPANY_REMOVED)
    await brief.events.store([an_event_of("event-1"), removal], at=NOON)
    await brief.attempted()
    await brief.insert(2, event_id="event-1")  # it waits

    while_one_waits = await brief.events.expire(at=NOON + 2 * HOUR, limit=10)
    refused = await brief.retry(at=NOON + 2 * HOUR)
    [other] = await brief.claim(2, at=NOON + 2 * HOUR)
    await brief.attempt(other, at=NOON + 2 * HOUR)
    after_both = await brief.events.expire(at=NOON + 30 * HOUR, limit=10)

    shown = await brief.owned.find(the_webhook(), a_delivery_id())
    assert (while_one_waits, after_both) == (0, 1)
    assert refused is RetryRefusal.NOT_FOUND
    assert shown is not None
    assert (shown.status, shown.body, len(shown.attempts)) == ("succeeded", None, 1)
    assert await brief.events.removed([CompanyKey.parse("dk:1")]) == {"dk:1"}


async def test_a_delivery_that_succeeded_is_kept_without_its_schedule(store: Store) -> None:
    await store.attempted()
    await store.retry(call=9)
    [again] = await store.claim(1, attempt=2, at=LATER)
    await store.attempt(again, at=LATER)

    row = await store.row()
    task = await store.retry(call=9)  # the call is delivered again

    assert row.keys() == {
        *("_id", "webhook_id", "event_id", "event_type", "occurred_at"),
        *("attempts", "state", "expires_at", "settled_by", "retried_by"),
    }
    assert task == a_task(attempt=3)


async def test_events_of_a_removed_company_are_found_without_the_removal(store: Store) -> None:
    removal = an_event_of("removal", kind=EventType.COMPANY_REMOVED)
    one, other = CompanyKey.parse("dk:1"), CompanyKey.parse("dk:2")
    others = [an_event_of("event-1"), an_event_of("event-2", "dk:2")]
    await store.events.store([removal, *others], at=NOON)

    assert await store.events.of_company(one) == ["event-1"]
    assert await store.events.removed([one, other]) == {"dk:1"}


async def test_every_query_of_the_dispatcher_uses_an_index(store: Store) -> None:
    await store.insert(*range(50))
    queries = {
        "next_due": {"webhook_id": WEBHOOK, "state": "waiting", "due_at": {"$lte": NOON}},
        "overdue": {"state": "waiting", "retries": {"$gte": 0}, "wake_at": {"$lte": LATER}},
        "event_id": {"event_id": {"$in": ["event-1"]}},
    }

    for name, query in queries.items():
        plan = await store.database["deliveries"].find(query).explain()

        assert f"'indexName': '{name}'" in str(plan["queryPlanner"]["winningPlan"])


async def test_a_list_reads_only_the_rows_it_returns(store: Store) -> None:
    await insert_many(store, range(3000))

    async with profiled(store) as queries:
        listed = await store.listed(CANCELLED, generation=2)

    assert len(listed.deliveries) == 50
    # One more says whether there is another page.
    assert_indexed(queries, max_examined=51)


async def test_a_batch_of_a_recovery_reads_only_the_rows_it_restarts(store: Store) -> None:
    await insert_many(store, range(3000))
    recoveries = Recoveries(store.database, batch=500)

    async with profiled(store) as queries:
        async for _ in recoveries.begin_anew(a_recovery(generation=2), now=lambda: LATER):
            pass

    assert_indexed(queries, max_examined=501)


async def insert_many(store: Store, numbers: Iterable[int]) -> None:
    """Half of them wait since before their webhook was disabled, half were cancelled since."""
    new = [
        a_new_delivery(number, occurred_at=NOON - number * SECOND, **NOT_SENT if number % 2 else {})
        for number in numbers
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
    await store.database.drop_collection("system.profile")


def assert_indexed(queries: list[dict[str, Any]], *, max_examined: int) -> None:
    assert {query["planSummary"].partition(" ")[0] for query in queries} == {"IXSCAN"}
    assert not any(query.get("hasSortStage") for query in queries)
    assert max(query["docsExamined"] for query in queries) <= max_examined
