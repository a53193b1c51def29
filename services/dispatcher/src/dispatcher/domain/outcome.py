"""What came of an attempt to deliver."""

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus


class Cause(StrEnum):
    """Why an attempt failed: one word, which the webhook's owner reads."""

    #: No complete answer within the time that an attempt may take.
    TIMEOUT = "timeout"
    #: The host's name has no address.
    DNS = "dns"
    #: The host's address is private, local or otherwise not to be called.
    BLOCKED_ADDRESS = "blocked_address"
    CONNECTION_REFUSED = "connection_refused"
    #: Closed by the receiver before its answer was complete.
    CONNECTION_RESET = "connection_reset"
    #: Any other way in which no connection could be made, such as no route to the host.
    CONNECTION_FAILED = "connection_failed"
    #: No TLS, a certificate that does not hold, or another name in it.
    TLS = "tls"
    #: The response is not HTTP, or too large before its status.
    INVALID_RESPONSE = "invalid_response"
    #: A redirect, which is not followed.
    REDIRECT = "redirect"
    #: Any other answer than 2xx.
    HTTP_STATUS = "http_status"


@dataclass(frozen=True, slots=True)
class Answered:
    """The receiver answered with this status."""

    status: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The receiver was not reached, or did not answer."""

    cause: Cause


Outcome = Answered | Unanswered


def cause_of(outcome: Outcome) -> Cause | None:
    """Why an attempt failed; None when the receiver has taken the delivery, with any 2xx."""
    match outcome:
        case Unanswered(cause):
            return cause
        case Answered(status) if 200 <= status < 300:
            return None
        case Answered(status) if 300 <= status < 400 and status != HTTPStatus.NOT_MODIFIED:
            return Cause.REDIRECT
        case Answered():
            return Cause.HTTP_STATUS


def status_of(outcome: Outcome) -> int | None:
    """The status that the receiver answered with, if it answered."""
    return outcome.status if isinstance(outcome, Answered) else None
