"""Errors of this package: one type for each problem code of the service."""

import json
from dataclasses import dataclass
from typing import Any

from company_registry.http import Response


class CompanyRegistryError(Exception):
    """Base of every error of this package."""


class NoResponse(CompanyRegistryError):
    """The service did not respond: the connection failed or timed out, after all retries."""


class InvalidResponse(CompanyRegistryError):
    """The response is not of the service, or of a release that this package cannot read."""


class ResponseTooLarge(InvalidResponse):
    """The response is larger than the client accepts; it was not read to its end."""


class InvalidSignature(CompanyRegistryError):
    """The delivery was not signed with the secret, or it is too old."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid parameter or field, and the valid values."""

    parameter: str
    message: str


class ApiError(CompanyRegistryError):
    """The service refused or failed the request; the base of the types below.

    A code that this package does not know raises ApiError itself.
    """

    code: str = ""

    def __init__(self, status: int, problem: dict[str, Any], *, retry_after: float | None) -> None:
        """`problem` is the RFC 9457 document, `retry_after` is in seconds."""
        self.status = status
        self.code = _text(problem, "code") or self.code
        self.detail = _text(problem, "detail")
        self.request_id = _text(problem, "request_id")
        #: The whole document, with members that only some codes have.
        self.problem = problem
        self.retry_after = retry_after
        self.errors = tuple(_field_errors(problem.get("errors")))
        super().__init__(f"{self.code}: {self.detail}")


class MissingParameter(ApiError):
    """The request lacks a required parameter."""

    code = "missing_parameter"


class InvalidParameter(ApiError):
    """A parameter has an invalid value or is unknown; `errors` names each."""

    code = "invalid_parameter"


class MultipleSearchParameters(ApiError):
    """The request has more than one search parameter."""

    code = "multiple_search_parameters"


class InvalidBody(ApiError):
    """The request's body is invalid; `errors` names each field."""

    code = "invalid_body"


class Unauthorized(ApiError):
    """The API key is missing, unknown, revoked or expired."""

    code = "unauthorized"


class Forbidden(ApiError):
    """The API key lacks the scope of the operation, or may not do this."""

    code = "forbidden"


class CompanyNotFound(ApiError):
    """No company in the register matches."""

    code = "company_not_found"


class CompanyRemoved(ApiError):
    """The company was removed by order of its register."""

    code = "company_removed"

    @property
    def removed_on(self) -> str:
        """The day of the removal, such as 2026-03-02."""
        return _text(self.problem, "removed_on")


class WebhookNotFound(ApiError):
    """The owner of the key has no webhook with this id."""

    code = "webhook_not_found"


class DeliveryNotFound(ApiError):
    """The webhook has no delivery with this id."""

    code = "delivery_not_found"


class EventNotFound(ApiError):
    """No event has this id, or it has expired."""

    code = "event_not_found"


class CursorExpired(ApiError):
    """The events after the cursor are no longer kept; reading can go on at `oldest`."""

    code = "cursor_expired"

    @property
    def oldest(self) -> str:
        """The cursor before the oldest event that is kept."""
        return _text(self.problem, "oldest")


class NotFound(ApiError):
    """The service has no such path."""

    code = "not_found"


class MethodNotAllowed(ApiError):
    """The path does not support the method."""

    code = "method_not_allowed"


class WebhookDisabled(ApiError):
    """The webhook is disabled, so nothing is sent to it."""

    code = "webhook_disabled"


class WebhookLimitReached(ApiError):
    """The owner has as many webhooks as are allowed."""

    code = "webhook_limit_reached"


class WatchlistNotFound(ApiError):
    """The watchlist does not exist, or belongs to another owner."""

    code = "watchlist_not_found"


class DigestNotFound(ApiError):
    """The watchlist has no digest with this id."""

    code = "digest_not_found"


class KeyNotFound(ApiError):
    """The owner has no key with this id, or no valid one to replace."""

    code = "key_not_found"


class KeyLimitReached(ApiError):
    """The owner has as many keys as are allowed, with those that ended in the last 30 days."""

    code = "key_limit_reached"


class CustomerFileNotFound(ApiError):
    """The owner has no file of customers with this id, or it has no such part."""

    code = "customer_file_not_found"


class CustomerFileLimitReached(ApiError):
    """The owner has as many files of customers, or as many bytes of them, as are allowed."""

    code = "customer_file_limit_reached"


class DigestsDisabled(ApiError):
    """The service sends no e-mail."""

    code = "digests_disabled"


class WatchlistLimitReached(ApiError):
    """The owner has as many watchlists, or companies or digests of them, as are allowed."""

    code = "watchlist_limit_reached"


class WatchlistInUse(ApiError):
    """Webhooks use the watchlist in their filter; `detail` names them."""

    code = "watchlist_in_use"


class DeliveryPending(ApiError):
    """An attempt of the delivery is still due, so it cannot be retried."""

    code = "delivery_pending"


class RotationPending(ApiError):
    """The secret was replaced recently, and the one before it still signs."""

    code = "rotation_pending"

    @property
    def possible_from(self) -> str:
        """The time from which the secret can be replaced again, such as 2026-03-02T12:00:00Z."""
        return _text(self.problem, "possible_from")


class IdempotencyConflict(ApiError):
    """The idempotency key was used for another request."""

    code = "idempotency_conflict"


class BodyTooLarge(ApiError):
    """The request's body is larger than the service accepts."""

    code = "body_too_large"


class BatchTooLarge(ApiError):
    """The company of one lookup no longer fits the answer of its batch."""

    code = "batch_too_large"


class UnsupportedMediaType(ApiError):
    """The request's body is of another media type than the service reads."""

    code = "unsupported_media_type"


class RateLimited(ApiError):
    """The rate limit is exceeded; `retry_after` is the time to wait."""

    code = "rate_limited"


class InternalError(ApiError):
    """The service failed unexpectedly."""

    code = "internal_error"


class ServiceUnavailable(ApiError):
    """A dependency of the service is unavailable."""

    code = "service_unavailable"


class LookupTimeout(ApiError):
    """The lookup took longer than the service allows."""

    code = "lookup_timeout"


#: By problem code.
ERRORS: dict[str, type[ApiError]] = {kind.code: kind for kind in ApiError.__subclasses__()}


def error_of(response: Response, *, retry_after: float | None = None) -> ApiError:
    """Returns the typed error of a response with a status of 400 or more."""
    try:
        problem = json.loads(response.content)
    except (ValueError, RecursionError):
        problem = None
    if not isinstance(problem, dict):
        # A proxy's error page, which is not repeated.
        problem = {"detail": f"the server responded with {response.status} and no problem document"}
    return problem_error(problem, status=response.status, retry_after=retry_after)


def problem_error(
    problem: dict[str, Any], *, status: int, retry_after: float | None = None
) -> ApiError:
    """Returns the typed error of a problem document."""
    kind = ERRORS.get(_text(problem, "code"), ApiError)
    return kind(status, problem, retry_after=retry_after)


def _text(problem: dict[str, Any], name: str) -> str:
    value = problem.get(name)
    return value if isinstance(value, str) else ""


def _field_errors(errors: object) -> list[FieldError]:
    listed = errors if isinstance(errors, list) else []
    return [
        FieldError(_text(error, "parameter"), _text(error, "message"))
        for error in listed
        if isinstance(error, dict)
    ]
