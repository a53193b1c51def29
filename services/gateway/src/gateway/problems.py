"""Problems for clients: one class per code, in the order of spec/decisions.md section 1.

`detail` and `errors` are sent to the client and never contain a library's message.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import ClassVar, Final

from common.contracts.failures import Failure, FailureCode, FieldError


class Problem(Exception):
    """Base of every problem; `code` and `status` are part of the public interface."""

    code: ClassVar[str]
    status: ClassVar[HTTPStatus]
    #: The detail of a problem that is raised without one.
    text: ClassVar[str] = ""

    def __init__(self, detail: str = "", *, errors: tuple[FieldError, ...] = ()) -> None:
        self.detail = detail or self.text
        self.errors = errors
        super().__init__(self.detail)


class MissingParameter(Problem):
    """A lookup or suggestion lacks a required parameter; answered with 400."""

    code = "missing_parameter"
    status = HTTPStatus.BAD_REQUEST


class InvalidParameter(Problem):
    """A parameter is unknown or invalid, or the URL or a header is invalid; answered with 400."""

    code = "invalid_parameter"
    status = HTTPStatus.BAD_REQUEST


class MultipleSearchParameters(Problem):
    """A lookup names more than one search; answered with 400."""

    code = "multiple_search_parameters"
    status = HTTPStatus.BAD_REQUEST


class InvalidBody(Problem):
    """The body or the request itself is malformed, late or invalid; answered with 400."""

    code = "invalid_body"
    status = HTTPStatus.BAD_REQUEST


class Unauthorized(Problem):
    """A key is required, or the given one is unknown, revoked or expired; answered with 401."""

    code = "unauthorized"
    status = HTTPStatus.UNAUTHORIZED


class Forbidden(Problem):
    """The key is valid but lacks the scope of the route; answered with 403."""

    code = "forbidden"
    status = HTTPStatus.FORBIDDEN


class CompanyNotFound(Problem):
    """No company matches, or too many have the words of the name; answered with 404."""

    code = "company_not_found"
    status = HTTPStatus.NOT_FOUND


class WebhookNotFound(Problem):
    """The webhook does not exist or belongs to another owner; answered with 404."""

    code = "webhook_not_found"
    status = HTTPStatus.NOT_FOUND


class DeliveryNotFound(Problem):
    """The webhook has no delivery with this id; answered with 404."""

    code = "delivery_not_found"
    status = HTTPStatus.NOT_FOUND


class EventNotFound(Problem):
    """No published event that the owner may see has this id; answered with 404."""

    code = "event_not_found"
    status = HTTPStatus.NOT_FOUND


class CursorExpired(Problem):
    """Events after the cursor have expired, so reading on would skip some; answered with 410."""

    code = "cursor_expired"
    status = HTTPStatus.GONE

    def __init__(self, detail: str, *, oldest: str) -> None:
        """`oldest` is the oldest cursor from which reading can go on."""
        super().__init__(detail)
        self.oldest = oldest


class NotFound(Problem):
    """No resource has this path; answered with 404."""

    code = "not_found"
    status = HTTPStatus.NOT_FOUND


class MethodNotAllowed(Problem):
    """The path exists but not for this method; answered with 405 and `Allow`."""

    code = "method_not_allowed"
    status = HTTPStatus.METHOD_NOT_ALLOWED

    def __init__(self, detail: str, *, allowed: Iterable[str]) -> None:
        super().__init__(detail)
        self.allowed = tuple(sorted(allowed))


class WebhookDisabled(Problem):
    """The webhook is disabled and the operation needs an enabled one; answered with 409.

    Also when the owner enables a webhook that the operator has disabled.
    """

    code = "webhook_disabled"
    status = HTTPStatus.CONFLICT


class WebhookLimitReached(Problem):
    """The owner has the maximum number of webhooks, so none is created; answered with 409."""

    code = "webhook_limit_reached"
    status = HTTPStatus.CONFLICT


class DeliveryPending(Problem):
    """A retry comes while an attempt of the delivery is being made; answered with 409."""

    code = "delivery_pending"
    status = HTTPStatus.CONFLICT


class RotationPending(Problem):
    """The replaced secret still signs, so its successor cannot be replaced; answered with 409."""

    code = "rotation_pending"
    status = HTTPStatus.CONFLICT

    def __init__(self, detail: str, *, possible_from: datetime | None) -> None:
        """`possible_from` is the end of the overlap."""
        super().__init__(detail)
        self.possible_from = possible_from


class IdempotencyConflict(Problem):
    """The `Idempotency-Key` was used with another body; answered with 409."""

    code = "idempotency_conflict"
    status = HTTPStatus.CONFLICT


class BodyTooLarge(Problem):
    """The body exceeds 64 KiB; answered with 413."""

    code = "body_too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class BatchTooLarge(Problem):
    """Of one lookup, whose company no longer fits the answer of its batch."""

    code = "batch_too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    text = "the companies of this batch are too large for one answer; look this one up again"


class UnsupportedMediaType(Problem):
    """The body is not JSON, or has a `Content-Encoding`; answered with 415."""

    code = "unsupported_media_type"
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def __init__(self, detail: str, *, accept_encoding: str | None = None) -> None:
        """`accept_encoding` lists the supported encodings, if the encoding is the error."""
        super().__init__(detail)
        self.accept_encoding = accept_encoding


class RateLimited(Problem):
    """The client's quota is used up; answered with 429 and `Retry-After`.

    Also when too many of its searches, suggestions or event readers wait at once.
    """

    code = "rate_limited"
    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """`retry_after` is in whole seconds."""
        super().__init__(detail)
        self.retry_after = retry_after


class InternalError(Problem):
    """The request failed unexpectedly, and the log has the cause; answered with 500."""

    code = "internal_error"
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    text = "an internal error"


class ServiceUnavailable(Problem):
    """A dependency is unavailable or a limit of capacity reached; answered with 503."""

    code = "service_unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    text = "a part of the service is unavailable; retry after the seconds in Retry-After"


class LookupTimeout(Problem):
    """The lookup service did not reply in time; answered with 504."""

    code = "lookup_timeout"
    status = HTTPStatus.GATEWAY_TIMEOUT
    text = "the lookup took too long; retry"


#: By code.
PROBLEMS: Final[Mapping[str, type[Problem]]] = {
    kind.code: kind for kind in Problem.__subclasses__()
}


def problem_of(failure: Failure, *, deadline: type[Problem] = LookupTimeout) -> Problem:
    """The client's problem for the failure of a call; `deadline` is that of an exceeded one."""
    match failure.code:
        case FailureCode.DEADLINE_EXCEEDED:
            return deadline()
        case FailureCode.UNAVAILABLE:
            return ServiceUnavailable()
        case FailureCode.INTERNAL:
            return InternalError()
        case FailureCode.ROTATION_PENDING:
            return RotationPending(failure.detail, possible_from=failure.possible_from)
        case code:
            # A failure of the domain has the code that clients see.
            return PROBLEMS[code](failure.detail, errors=failure.errors)
