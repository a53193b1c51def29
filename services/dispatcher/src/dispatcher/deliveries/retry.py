"""Decisions before and after an attempt (docs/decisions.md, *Attempts*)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

from common.contracts.webhooks import DisabledReason
from dispatcher.sending.outcome import Answered, Outcome, cause_of
from webhook_store.deliveries.models import Claimed
from webhook_store.webhooks.models import Sendable


def may_be_attempted(webhook: Sendable, delivery: Claimed) -> bool:
    """Returns True unless the webhook is disabled, or was disabled since the event.

    Deliveries that waited when it was disabled belong to an earlier generation: enabling does not
    resume them, but they can be recovered.
    """
    return webhook.enabled and webhook.generation == delivery.generation


@dataclass(frozen=True, slots=True)
class Done:
    """Success: no further attempt."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Failure: retry after a delay."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Final failure; the webhook is disabled for reason `disable`, if given."""

    disable: DisabledReason | None = None


Decision = Done | RetryAfter | GiveUp


def decide(
    outcome: Outcome, *, retries: int, by_hand: bool, delays: Sequence[timedelta]
) -> Decision:
    """Decides what follows an attempt after `retries` retries of the schedule.

    The schedule is a first attempt and one retry after each of `delays`. When the last retry fails,
    the webhook is disabled. A retry that the owner requested (`by_hand`) is a single attempt and
    never disables.
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
