"""Problems for clients: one class per code, and one table of how clients see them.

`detail` and `errors` are sent to the client and never contain a library's message.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import ClassVar, Final, NamedTuple

from common.contracts.failures import Failure, FailureCode, FieldError


class PublicError(NamedTuple):
    """The public form of a problem."""

    status: HTTPStatus
    title: str
    #: The detail of a problem that is raised without one.
    text: str = ""


#: By code, as in spec/decisions.md section 1.
PUBLIC_ERRORS: Final[Mapping[str, PublicError]] = {
    "missing_parameter": PublicError(HTTPStatus.BAD_REQUEST, "Missing parameter"),
    "invalid_parameter": PublicError(HTTPStatus.BAD_REQUEST, "Invalid parameter"),
    "multiple_search_parameters": PublicError(HTTPStatus.BAD_REQUEST, "Multiple search parameters"),
    "invalid_body": PublicError(HTTPStatus.BAD_REQUEST, "Invalid body"),
    "unauthorized": PublicError(HTTPStatus.UNAUTHORIZED, "Unauthorized"),
    "forbidden": PublicError(HTTPStatus.FORBIDDEN, "Forbidden"),
    "company_not_found": PublicError(HTTPStatus.NOT_FOUND, "Company not found"),
    "webhook_not_found": PublicError(HTTPStatus.NOT_FOUND, "Webhook not found"),
    "delivery_not_found": PublicError(HTTPStatus.NOT_FOUND, "Delivery not found"),
    "event_not_found": PublicError(HTTPStatus.NOT_FOUND, "Event not found"),
    "cursor_expired": PublicError(HTTPStatus.GONE, "Cursor expired"),
    "not_found": PublicError(HTTPStatus.NOT_FOUND, "Not found"),
    "method_not_allowed": PublicError(HTTPStatus.METHOD_NOT_ALLOWED, "Method not allowed"),
    "webhook_disabled": PublicError(HTTPStatus.CONFLICT, "Webhook disabled"),
    "webhook_limit_reached": PublicError(HTTPStatus.CONFLICT, "Webhook limit reached"),
    "delivery_pending": PublicError(HTTPStatus.CONFLICT, "Delivery pending"),
    "idempotency_conflict": PublicError(HTTPStatus.CONFLICT, "Idempotency conflict"),
    "body_too_large": PublicError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Body too large"),
    "unsupported_media_type": PublicError(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Unsupported media type"
    ),
    "rate_limited": PublicError(HTTPStatus.TOO_MANY_REQUESTS, "Rate limited"),
    "internal_error": PublicError(
        HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error", "an internal error"
    ),
    "service_unavailable": PublicError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Service unavailable",
        "a part of the service is unavailable; retry after the seconds in Retry-After",
    ),
    "lookup_timeout": PublicError(
        HTTPStatus.GATEWAY_TIMEOUT, "Lookup timeout", "the lookup took too long; retry"
    ),
}


class Problem(Exception):
    """Base of every problem; its `code` is part of the public interface."""

    code: ClassVar[str]
    public: ClassVar[PublicError]

    def __init_subclass__(cls) -> None:
        cls.public = PUBLIC_ERRORS[cls.code]

    def __init__(self, detail: str = "", *, errors: tuple[FieldError, ...] = ()) -> None:
        self.detail = detail or self.public.text
        self.errors = errors
        super().__init__(self.detail)


class MissingParameter(Problem):
    code = "missing_parameter"


class InvalidParameter(Problem):
    code = "invalid_parameter"


class MultipleSearchParameters(Problem):
    code = "multiple_search_parameters"


class InvalidBody(Problem):
    code = "invalid_body"


class Unauthorized(Problem):
    code = "unauthorized"


class Forbidden(Problem):
    code = "forbidden"


class CompanyNotFound(Problem):
    code = "company_not_found"


class WebhookNotFound(Problem):
    code = "webhook_not_found"


class DeliveryNotFound(Problem):
    code = "delivery_not_found"


class EventNotFound(Problem):
    code = "event_not_found"


class CursorExpired(Problem):
    code = "cursor_expired"

    def __init__(self, detail: str, *, oldest: str) -> None:
        """`oldest` is the oldest cursor from which reading can go on."""
        super().__init__(detail)
        self.oldest = oldest


class NotFound(Problem):
    code = "not_found"


class MethodNotAllowed(Problem):
    code = "method_not_allowed"

    def __init__(self, detail: str, *, allowed: Iterable[str]) -> None:
        super().__init__(detail)
        self.allowed = tuple(sorted(allowed))


class WebhookDisabled(Problem):
    code = "webhook_disabled"


class WebhookLimitReached(Problem):
    code = "webhook_limit_reached"


class DeliveryPending(Problem):
    code = "delivery_pending"


class IdempotencyConflict(Problem):
    code = "idempotency_conflict"


class BodyTooLarge(Problem):
    code = "body_too_large"


class UnsupportedMediaType(Problem):
    code = "unsupported_media_type"

    def __init__(self, detail: str, *, accept_encoding: str | None = None) -> None:
        """`accept_encoding` lists the supported encodings, if the encoding is the error."""
        super().__init__(detail)
        self.accept_encoding = accept_encoding


class RateLimited(Problem):
    code = "rate_limited"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """`retry_after` is in whole seconds."""
        super().__init__(detail)
        self.retry_after = retry_after


class InternalError(Problem):
    code = "internal_error"


class ServiceUnavailable(Problem):
    code = "service_unavailable"


class LookupTimeout(Problem):
    code = "lookup_timeout"


KINDS: tuple[type[Problem], ...] = tuple(Problem.__subclasses__())

#: The problem of each failure that a service reports.
_OF_FAILURE: Final[Mapping[FailureCode, type[Problem]]] = {
    FailureCode.INVALID_PARAMETER: InvalidParameter,
    FailureCode.INVALID_BODY: InvalidBody,
    FailureCode.COMPANY_NOT_FOUND: CompanyNotFound,
    FailureCode.WEBHOOK_NOT_FOUND: WebhookNotFound,
    FailureCode.DELIVERY_NOT_FOUND: DeliveryNotFound,
    FailureCode.EVENT_NOT_FOUND: EventNotFound,
    FailureCode.WEBHOOK_DISABLED: WebhookDisabled,
    FailureCode.WEBHOOK_LIMIT_REACHED: WebhookLimitReached,
    FailureCode.DELIVERY_PENDING: DeliveryPending,
    FailureCode.IDEMPOTENCY_CONFLICT: IdempotencyConflict,
    FailureCode.UNAVAILABLE: ServiceUnavailable,
    FailureCode.INTERNAL: InternalError,
}


def problem_of(failure: Failure, *, deadline: type[Problem] = LookupTimeout) -> Problem:
    """The client's problem for the failure of a call; `deadline` is that of an exceeded one."""
    if failure.code is FailureCode.DEADLINE_EXCEEDED:
        return deadline()
    return _OF_FAILURE[failure.code](failure.detail, errors=failure.errors)
