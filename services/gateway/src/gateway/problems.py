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
    code = "missing_parameter"
    status = HTTPStatus.BAD_REQUEST


class InvalidParameter(Problem):
    code = "invalid_parameter"
    status = HTTPStatus.BAD_REQUEST


class MultipleSearchParameters(Problem):
    code = "multiple_search_parameters"
    status = HTTPStatus.BAD_REQUEST


class InvalidBody(Problem):
    code = "invalid_body"
    status = HTTPStatus.BAD_REQUEST


class Unauthorized(Problem):
    code = "unauthorized"
    status = HTTPStatus.UNAUTHORIZED


class Forbidden(Problem):
    code = "forbidden"
    status = HTTPStatus.FORBIDDEN


class CompanyNotFound(Problem):
    code = "company_not_found"
    status = HTTPStatus.NOT_FOUND


class WebhookNotFound(Problem):
    code = "webhook_not_found"
    status = HTTPStatus.NOT_FOUND


class DeliveryNotFound(Problem):
    code = "delivery_not_found"
    status = HTTPStatus.NOT_FOUND


class EventNotFound(Problem):
    code = "event_not_found"
    status = HTTPStatus.NOT_FOUND


class CursorExpired(Problem):
    code = "cursor_expired"
    status = HTTPStatus.GONE

    def __init__(self, detail: str, *, oldest: str) -> None:
        """`oldest` is the oldest cursor from which reading can go on."""
        super().__init__(detail)
        self.oldest = oldest


class NotFound(Problem):
    code = "not_found"
    status = HTTPStatus.NOT_FOUND


class MethodNotAllowed(Problem):
    code = "method_not_allowed"
    status = HTTPStatus.METHOD_NOT_ALLOWED

    def __init__(self, detail: str, *, allowed: Iterable[str]) -> None:
        super().__init__(detail)
        self.allowed = tuple(sorted(allowed))


class WebhookDisabled(Problem):
    code = "webhook_disabled"
    status = HTTPStatus.CONFLICT


class WebhookLimitReached(Problem):
    code = "webhook_limit_reached"
    status = HTTPStatus.CONFLICT


class DeliveryPending(Problem):
    code = "delivery_pending"
    status = HTTPStatus.CONFLICT


class RotationPending(Problem):
    code = "rotation_pending"
    status = HTTPStatus.CONFLICT

    def __init__(self, detail: str, *, possible_from: datetime | None) -> None:
        """`possible_from` is the end of the overlap."""
        super().__init__(detail)
        self.possible_from = possible_from


class IdempotencyConflict(Problem):
    code = "idempotency_conflict"
    status = HTTPStatus.CONFLICT


class BodyTooLarge(Problem):
    code = "body_too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class BatchTooLarge(Problem):
    """Of one lookup, whose company no longer fits the answer of its batch."""

    code = "batch_too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    text = "the companies of this batch are too large for one answer; look this one up again"


class UnsupportedMediaType(Problem):
    code = "unsupported_media_type"
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def __init__(self, detail: str, *, accept_encoding: str | None = None) -> None:
        """`accept_encoding` lists the supported encodings, if the encoding is the error."""
        super().__init__(detail)
        self.accept_encoding = accept_encoding


class RateLimited(Problem):
    code = "rate_limited"
    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """`retry_after` is in whole seconds."""
        super().__init__(detail)
        self.retry_after = retry_after


class InternalError(Problem):
    code = "internal_error"
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    text = "an internal error"


class ServiceUnavailable(Problem):
    code = "service_unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    text = "a part of the service is unavailable; retry after the seconds in Retry-After"


class LookupTimeout(Problem):
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
