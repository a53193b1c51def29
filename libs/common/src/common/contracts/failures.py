"""Failures that one process reports to another, and to the client: one code per cause."""

from enum import StrEnum

from common.contracts.contract import Contract, Timestamp


class Unavailable(Exception):
    """A broker, database or service cannot be reached now; the message names which.

    Any port may raise it; the RPC server reports it as `unavailable`, without the message.
    """


class FailureCode(StrEnum):
    """Codes of failed requests: those of the domain, which clients see, and neutral ones.

    A code unknown to this release is parsed as `internal`, so that during an upgrade it fails
    one request and not its whole batch.
    """

    INVALID_PARAMETER = "invalid_parameter"
    INVALID_BODY = "invalid_body"
    COMPANY_NOT_FOUND = "company_not_found"
    WEBHOOK_NOT_FOUND = "webhook_not_found"
    DELIVERY_NOT_FOUND = "delivery_not_found"
    WATCHLIST_NOT_FOUND = "watchlist_not_found"
    DIGEST_NOT_FOUND = "digest_not_found"
    CUSTOMER_FILE_NOT_FOUND = "customer_file_not_found"
    EVENT_NOT_FOUND = "event_not_found"
    WEBHOOK_DISABLED = "webhook_disabled"
    WEBHOOK_LIMIT_REACHED = "webhook_limit_reached"
    WATCHLIST_LIMIT_REACHED = "watchlist_limit_reached"
    CUSTOMER_FILE_LIMIT_REACHED = "customer_file_limit_reached"
    WATCHLIST_IN_USE = "watchlist_in_use"
    DIGESTS_DISABLED = "digests_disabled"
    DELIVERY_PENDING = "delivery_pending"
    ROTATION_PENDING = "rotation_pending"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    #: The answer is too long together with the others of its batch or message.
    BATCH_TOO_LARGE = "batch_too_large"
    #: Neutral: only the RPC server and client report these, and the gateway supplies their texts.
    DEADLINE_EXCEEDED = "deadline_exceeded"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"

    @classmethod
    def _missing_(cls, value: object) -> "FailureCode | None":
        return cls.INTERNAL if isinstance(value, str) else None


#: The neutral codes: the request was not carried out, or not known to be.
NEUTRAL = frozenset({FailureCode.DEADLINE_EXCEEDED, FailureCode.UNAVAILABLE, FailureCode.INTERNAL})


class FieldError(Contract):
    """An error in one field of the input, with the expected form."""

    parameter: str
    message: str


class Failure(Contract):
    """The failure of one request; `detail` is written for clients, and empty for neutral codes."""

    code: FailureCode
    detail: str = ""
    errors: tuple[FieldError, ...] = ()
    #: With `rotation_pending`: when the operation becomes possible.
    possible_from: Timestamp | None = None
    #: With `company_not_found`: the day on which the company with this number was removed, as
    #: `YYYY-MM-DD`. A gateway of the release before answers 404, one of this release 410.
    removed_on: str | None = None
