"""Problems for clients: one class per cause (spec/decisions.md section 1).

`detail` and `errors` are sent to the client and never contain a library's message.
"""

from collections.abc import Iterable
from typing import ClassVar

from common.contracts.failures import Failure, FieldError


class Problem(Exception):
    """Base of every problem; its `code` is part of the public interface."""

    code: ClassVar[str]

    def __init__(self, detail: str, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors


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

#: Problems with extra fields never come from another service's failure.
_OF_CODE = {kind.code: kind for kind in KINDS if "__init__" not in vars(kind)}


def problem_of(failure: Failure) -> Problem:
    """The client's problem for a failure that another service reported."""
    return _OF_CODE[failure.code](failure.detail, errors=failure.errors)
