"""A post to a receiver, its outcome, and the decision on what follows (docs/decisions.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Protocol

from common.contracts.contract import TraceContext
from common.contracts.webhooks import DisabledReason


class Cause(StrEnum):
    """Cause of a failed attempt, one word, shown to the webhook's owner."""

    #: No complete response within the timeout.
    TIMEOUT = "timeout"
    #: The host's name has no address.
    DNS = "dns"
    #: The host's address is private, local or otherwise blocked.
    BLOCKED_ADDRESS = "blocked_address"
    CONNECTION_REFUSED = "connection_refused"
    #: Closed by the receiver before its response was complete.
    CONNECTION_RESET = "connection_reset"
    #: Any other connection failure, such as no route to the host.
    CONNECTION_FAILED = "connection_failed"
    #: No TLS, an invalid certificate, or one for another name.
    TLS = "tls"
    #: The response is not HTTP, or too large before its status.
    INVALID_RESPONSE = "invalid_response"
    #: A redirect, which is not followed.
    REDIRECT = "redirect"
    #: Any other status than 2xx.
    HTTP_STATUS = "http_status"


@dataclass(frozen=True, slots=True)
class Response:
    """The receiver answered with this status."""

    status: int


@dataclass(frozen=True, slots=True)
class NoResponse:
    """The receiver was not reached, or did not answer."""

    cause: Cause


Outcome = Response | NoResponse


@dataclass(frozen=True, slots=True)
class Post:
    """One request to a receiver."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    #: The trace of the event.
    trace: TraceContext | None = None


class Sender(Protocol):
    """Sends posts to the URLs of owners, which are untrusted."""

    async def send(self, post: Post) -> Outcome:
        """Posts and returns the outcome, within the post timeout.

        Raises `Unavailable` for a local cause; no attempt is charged.
        """


def cause_of(outcome: Outcome) -> Cause | None:
    """Returns the cause of a failed attempt; None for a 2xx."""
    match outcome:
        case NoResponse(cause):
            return cause
        case Response(status) if 200 <= status < 300:
            return None
        case Response(status) if 300 <= status < 400 and status != HTTPStatus.NOT_MODIFIED:
            return Cause.REDIRECT
        case Response():
            return Cause.HTTP_STATUS


def status_of(outcome: Outcome) -> int | None:
    """Returns the response status, if there was a response."""
    return outcome.status if isinstance(outcome, Response) else None


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
    if outcome == Response(HTTPStatus.GONE):
        return GiveUp(DisabledReason.GONE)
    if retries < len(delays):
        return RetryAfter(delays[retries])
    return GiveUp(DisabledReason.DELIVERY_FAILED)
