"""Retries of failed requests, and their delays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import SystemRandom

from company_registry.errors import NoResponse
from company_registry.http import Request, Response, Sleep, Steps, Unanswered

_RANDOM = SystemRandom()

#: The request was not carried out, so any method may be repeated.
REFUSED = 429
#: A dependency or a proxy failed, possibly after the request was carried out.
FAILED = (502, 503, 504)


@dataclass(frozen=True, slots=True)
class Retries:
    """Limits and delays of retries, in seconds."""

    #: Requests sent in all; 1 for no retries.
    attempts: int = 4
    #: Backoff before the first retry; it doubles, with jitter.
    first_delay: float = 0.25
    max_delay: float = 8.0
    #: A longer Retry-After is not waited for: the error is raised.
    max_retry_after: float = 90.0

    def delay(self, request: Request, outcome: Response | Unanswered, attempt: int) -> float | None:
        """Returns the seconds until the next attempt, counted from 1; None if there is none."""
        if attempt >= self.attempts or not _may_repeat(request, outcome):
            return None
        asked = None if isinstance(outcome, Unanswered) else retry_after(outcome.headers)
        if asked is not None:
            return asked if asked <= self.max_retry_after else None
        return self.backoff(attempt)

    def backoff(self, attempt: int) -> float:
        """Returns the next delay: doubling up to `max_delay`, with jitter."""
        # A bounded exponent: a reader of events may try for ever.
        ceiling = min(self.first_delay * 2.0 ** min(attempt - 1, 32), self.max_delay)
        return _RANDOM.uniform(ceiling / 2, ceiling)


def exchange(request: Request, retries: Retries, final: Sequence[int] = ()) -> Steps[Response]:
    """Sends a request until it is answered for good; raises NoResponse.

    A response with a status of `final` is one for good: the caller sends less.
    """
    attempt = 0
    while True:
        attempt += 1
        outcome = yield request
        assert isinstance(outcome, Response | Unanswered), "of a request"  # noqa: S101 (not an input)
        if isinstance(outcome, Response) and outcome.status in final:
            return outcome
        delay = retries.delay(request, outcome, attempt)
        if delay is not None:
            yield Sleep(delay)
        elif isinstance(outcome, Unanswered):
            raise NoResponse(outcome.reason)
        else:
            return outcome


def _may_repeat(request: Request, outcome: Response | Unanswered) -> bool:
    match outcome:
        case Unanswered(sent=sent):
            return request.repeatable or not sent
        case Response(status=status):
            return status == REFUSED or (status in FAILED and request.repeatable)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds of Retry-After, which is a number of seconds or a date."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # the latter for a year of many digits
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
