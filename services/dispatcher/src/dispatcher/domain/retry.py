"""What follows an attempt (spec/decisions.md section 4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

from common.contracts.webhooks import DisabledReason
from dispatcher.domain.outcome import Answered, Outcome, cause_of


@dataclass(frozen=True, slots=True)
class Done:
    """The receiver has the delivery."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """It failed, and is tried again after a delay."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It failed for good; the webhook is disabled for `disable`, or left as it is (None)."""

    disable: DisabledReason | None = None


Decision = Done | RetryAfter | GiveUp


def decide(
    outcome: Outcome, *, retries: int, by_hand: bool, delays: Sequence[timedelta]
) -> Decision:
    """What follows an attempt that was made after `retries` failed retries of its schedule.

    The first attempt and then one retry after each of `delays`: when the last retry fails, all are
    exhausted and the webhook is disabled. A retry that its owner asked for (`by_hand`) is one
    attempt without a schedule, and never disables.
    """
    if cause_of(outcome) is None:
        return Done()
    if by_hand:
        return GiveUp()
    if outcome == Answered(HTTPStatus.GONE):
        return GiveUp(DisabledReason.GONE)
    if retries < len(delays):
        return RetryAfter(delays[retries])
    return GiveUp(DisabledReason.DELIVERY_FAILED)
