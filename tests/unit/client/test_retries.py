"""Retries of failed requests, and their delays."""

from datetime import UTC, datetime

import pytest

from company_registry import NoResponse, RateLimited, Retries, ServiceUnavailable
from company_registry.http import Outcome, Request, Unanswered
from company_registry.operations import event_types, perform
from company_registry.retries import exchange, retry_after
from company_registry.webhook_operations import (
    create_webhook,
    recover,
    retry_delivery,
    rotate_secret,
)
from tests.fakes.client import FakeTransport, answer, problem

READ = Request("GET", "/api")
WRITE = Request("POST", "/api/webhooks/wh_1/recover", repeatable=False)

UNAVAILABLE = problem("service_unavailable", 503, retry_after="5")
BROKEN = Unanswered("the connection broke", sent=True)
REFUSED = Unanswered("could not connect", sent=False)
OK = answer({})


@pytest.mark.parametrize(
    "request_, failure",
    [
        (READ, UNAVAILABLE),
        (READ, problem("lookup_timeout", 504)),
        (READ, answer("a proxy's page", 502)),
        (READ, BROKEN),
        (READ, REFUSED),
        (WRITE, REFUSED),
        (WRITE, problem("rate_limited", 429, retry_after="1")),
    ],
    ids=["503", "504", "502", "broken", "refused", "write-refused", "write-429"],
)
def test_a_request_that_may_succeed_later_is_sent_again(
    request_: Request, failure: Outcome
) -> None:
    transport = FakeTransport([failure, OK])

    response = transport.run(exchange(request_, Retries()))

    assert response == OK
    assert transport.requests == [request_, request_]


@pytest.mark.parametrize(
    "failure", [UNAVAILABLE, problem("lookup_timeout", 504)], ids=["503", "504"]
)
def test_a_request_that_may_have_been_carried_out_is_not_repeated_unless_it_is_safe(
    failure: Outcome,
) -> None:
    transport = FakeTransport([failure])

    assert transport.run(exchange(WRITE, Retries())) == failure


def test_a_broken_connection_is_not_repeated_unless_it_is_safe() -> None:
    with pytest.raises(NoResponse, match="the connection broke"):
        FakeTransport([BROKEN]).run(exchange(WRITE, Retries()))


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500])
def test_a_refusal_is_not_repeated(status: int) -> None:
    transport = FakeTransport([problem("some_code", status)])

    assert transport.run(exchange(READ, Retries())).status == status
    assert transport.slept == []


@pytest.mark.parametrize(
    "value, seconds",
    [
        ("37", 37),
        ("Mon, 02 Mar 2026 12:00:00 GMT", 0),
        ("Mon, 02 Mar 99999999999999 12:00:00 GMT", None),
        ("soon", None),
    ],
)
def test_retry_after_is_in_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds


def test_a_longer_retry_after_than_allowed_is_an_error_with_its_seconds() -> None:
    limited = problem("rate_limited", 429, retry_after="3600")

    with pytest.raises(RateLimited) as raised:
        FakeTransport([limited]).run(perform(event_types(), Retries()))

    assert raised.value.retry_after == 3600


def test_attempts_end() -> None:
    transport = FakeTransport([UNAVAILABLE] * 3)

    with pytest.raises(ServiceUnavailable):
        transport.run(perform(event_types(), Retries(attempts=3)))

    assert transport.slept == [5, 5]


def test_backoff_doubles_up_to_its_maximum() -> None:
    retries = Retries(first_delay=1, max_delay=4)

    delays = [retries.backoff(attempt) for attempt in (1, 2, 3, 4, 1000)]

    ceilings = [1, 2, 4, 4, 4]
    assert all(
        ceiling / 2 <= delay <= ceiling for delay, ceiling in zip(delays, ceilings, strict=True)
    )


def test_creating_a_webhook_is_safe_to_repeat_by_its_idempotency_key() -> None:
    first, second = create_webhook("https://example.com/"), create_webhook("https://example.com/")

    keys = [each.request.headers["Idempotency-Key"] for each in (first, second)]

    assert first.request.repeatable
    assert keys[0] != keys[1]


def test_operations_whose_answer_cannot_be_had_twice_are_not_repeated() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    operations = (rotate_secret("wh_1"), recover("wh_1", noon), retry_delivery("wh_1", "x"))

    assert not any(operation.request.repeatable for operation in operations)
