"""Decision after an attempt."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from common.contracts.webhooks import DisabledReason
from dispatcher.outcomes import (
    Cause,
    Decision,
    Done,
    GiveUp,
    NoResponse,
    Outcome,
    Response,
    RetryAfter,
    cause_of,
    decide,
    status_of,
)

DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
)
FAILED = Response(500)


def after(outcome: Outcome, *, retries: int = 0, by_hand: bool = False) -> Decision:
    return decide(outcome, retries=retries, by_hand=by_hand, delays=DELAYS)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_success(status: int) -> None:
    assert after(Response(status)) == Done()


def test_a_dead_receiver_sees_attempts_after_0_1_6_36_and_156_minutes() -> None:
    minutes, seen = 0.0, []
    for retries in range(len(DELAYS) + 1):
        seen.append(minutes)
        decision = after(FAILED, retries=retries)
        if isinstance(decision, RetryAfter):
            minutes += decision.delay / timedelta(minutes=1)

    assert seen == [0, 1, 6, 36, 156]


@pytest.mark.parametrize("delays", [DELAYS, ()], ids=["four-retries", "none"])
def test_when_the_last_attempt_fails_the_webhook_is_disabled(delays: Sequence[timedelta]) -> None:
    decision = decide(FAILED, retries=len(delays), by_hand=False, delays=delays)

    assert decision == GiveUp(DisabledReason.DELIVERY_FAILED)


@pytest.mark.parametrize("retries", range(5))
def test_410_disables_at_once(retries: int) -> None:
    assert after(Response(410), retries=retries) == GiveUp(DisabledReason.GONE)


@pytest.mark.parametrize("outcome", [FAILED, Response(410), NoResponse(Cause.TIMEOUT)])
def test_a_retry_by_hand_is_one_attempt_and_never_disables(outcome: Outcome) -> None:
    assert after(outcome, retries=4, by_hand=True) == GiveUp(None)


@pytest.mark.parametrize(
    "status,cause",
    [
        (301, Cause.REDIRECT),
        (302, Cause.REDIRECT),
        (308, Cause.REDIRECT),
        (304, Cause.HTTP_STATUS),
        (400, Cause.HTTP_STATUS),
        (410, Cause.HTTP_STATUS),
        (429, Cause.HTTP_STATUS),
        (503, Cause.HTTP_STATUS),
    ],
)
def test_any_other_response_is_a_failure_with_a_cause(status: int, cause: Cause) -> None:
    assert cause_of(Response(status)) is cause
    assert after(Response(status), retries=1) in (
        RetryAfter(DELAYS[1]),
        GiveUp(DisabledReason.GONE),
    )


def test_a_missing_response_has_no_status() -> None:
    outcome = NoResponse(Cause.DNS)

    assert status_of(outcome) is None
    assert cause_of(outcome) is Cause.DNS
    assert after(outcome) == RetryAfter(DELAYS[0])
