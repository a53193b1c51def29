"""Failures that one process reports to another, and to the client: one code per cause."""

from enum import StrEnum

from common.contracts.contract import Contract


class Unavailable(Exception):
    """A broker, database or service cannot be reached now; the message names which.

    Any port may raise it; the RPC server reports it as `service_unavailable`.
    """


class FailureCode(StrEnum):
    """The problem codes (spec/decisions.md section 1) that a service behind the gateway gives."""

    INVALID_PARAMETER = "invalid_parameter"
    INVALID_BODY = "invalid_body"
    COMPANY_NOT_FOUND = "company_not_found"
    WEBHOOK_NOT_FOUND = "webhook_not_found"
    DELIVERY_NOT_FOUND = "delivery_not_found"
    WEBHOOK_DISABLED = "webhook_disabled"
    WEBHOOK_LIMIT_REACHED = "webhook_limit_reached"
    DELIVERY_PENDING = "delivery_pending"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    INTERNAL_ERROR = "internal_error"
    SERVICE_UNAVAILABLE = "service_unavailable"
    LOOKUP_TIMEOUT = "lookup_timeout"


class FieldError(Contract):
    """An error in one field of the input, with the expected form."""

    parameter: str
    message: str


class Failure(Contract):
    """A typed failure with a message for clients."""

    code: FailureCode
    detail: str
    errors: tuple[FieldError, ...] = ()
