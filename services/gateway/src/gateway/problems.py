"""Problems for clients: one class per code, in the order of docs/decisions.md.

`detail` and `errors` are sent to the client and never contain a library's message.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import ClassVar, Final

from common.contracts.failures import Failure, FailureCode, FieldError


class Problem(Exception):
    """Base of every problem; `code` and `status` are part of the public interface."""

    #: The name of the class in snake case.
    code: ClassVar[str]
    status: ClassVar[HTTPStatus]
    #: The detail of a problem that is raised without one.
    text: ClassVar[str] = ""

    def __init_subclass__(cls, *, status: HTTPStatus) -> None:
        cls.code = re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.status = status

    def __init__(self, detail: str = "", *, errors: tuple[FieldError, ...] = ()) -> None:
        self.detail = detail or self.text
        self.errors = errors
        super().__init__(self.detail)


class MissingParameter(Problem, status=HTTPStatus.BAD_REQUEST):
    """A lookup or suggestion lacks a required parameter; answered with 400."""


class InvalidParameter(Problem, status=HTTPStatus.BAD_REQUEST):
    """A parameter is unknown or invalid, or the URL or a header is invalid; answered with 400."""


class MultipleSearchParameters(Problem, status=HTTPStatus.BAD_REQUEST):
    """A lookup names more than one search; answered with 400."""


class InvalidBody(Problem, status=HTTPStatus.BAD_REQUEST):
    """The body or the request itself is malformed, late or invalid; answered with 400."""


class Unauthorized(Problem, status=HTTPStatus.UNAUTHORIZED):
    """A key is required, or the given one is unknown, revoked or expired; answered with 401."""


class Forbidden(Problem, status=HTTPStatus.FORBIDDEN):
    """The key is valid and may not do this; answered with 403.

    It lacks the scope of the route, creates a key with more rights than its own, or is a
    publishable one that is used elsewhere.
    """


class CompanyNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """No company matches, or too many have the words of the name; answered with 404."""


class CompanyRemoved(Problem, status=HTTPStatus.GONE):
    """The company was removed by order of its register; 410 with the day alone."""

    def __init__(self, detail: str, *, removed_on: str) -> None:
        """`removed_on` is the day of the removal, `YYYY-MM-DD`."""
        super().__init__(detail)
        self.removed_on = removed_on


class WebhookNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """The webhook does not exist or belongs to another owner; answered with 404."""


class DeliveryNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """The webhook has no delivery with this id; answered with 404."""


class WatchlistNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """The watchlist does not exist or belongs to another owner; answered with 404."""


class DigestNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """The watchlist has no digest with this id; answered with 404."""


class KeyNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """The owner has no key with this id, or no valid one to replace; answered with 404."""


class CustomerFileNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """The owner has no file of customers with this id, or it has no such part; 404."""


class EventNotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """No published event that the owner may see has this id; answered with 404."""


class CursorExpired(Problem, status=HTTPStatus.GONE):
    """Events after the cursor have expired, so reading on would skip some; answered with 410."""

    def __init__(self, detail: str, *, oldest: str) -> None:
        """`oldest` is the oldest cursor from which reading can go on."""
        super().__init__(detail)
        self.oldest = oldest


class NotFound(Problem, status=HTTPStatus.NOT_FOUND):
    """No resource has this path; answered with 404."""


class MethodNotAllowed(Problem, status=HTTPStatus.METHOD_NOT_ALLOWED):
    """The path exists but not for this method; answered with 405 and `Allow`."""

    def __init__(self, detail: str, *, allowed: Iterable[str]) -> None:
        super().__init__(detail)
        self.allowed = tuple(sorted(allowed))


class WebhookDisabled(Problem, status=HTTPStatus.CONFLICT):
    """The webhook is disabled and the operation needs an enabled one; answered with 409.

    Also when the owner enables a webhook that the operator has disabled.
    """


class WebhookLimitReached(Problem, status=HTTPStatus.CONFLICT):
    """The owner has the maximum number of webhooks, so none is created; answered with 409."""


class WatchlistLimitReached(Problem, status=HTTPStatus.CONFLICT):
    """The owner has too many watchlists, or companies or digests of them; answered with 409."""


class KeyLimitReached(Problem, status=HTTPStatus.CONFLICT):
    """The owner has too many keys, so none is created; answered with 409."""


class CustomerFileLimitReached(Problem, status=HTTPStatus.CONFLICT):
    """The owner has too many files of customers, or too many bytes of them; answered with 409."""


class WatchlistInUse(Problem, status=HTTPStatus.CONFLICT):
    """Webhooks use the watchlist, so it is not deleted; answered with 409."""


class DigestsDisabled(Problem, status=HTTPStatus.CONFLICT):
    """This deployment sends no e-mail, so no digest is added; answered with 409."""


class DeliveryPending(Problem, status=HTTPStatus.CONFLICT):
    """A retry comes while an attempt of the delivery is being made; answered with 409."""


class RotationPending(Problem, status=HTTPStatus.CONFLICT):
    """The replaced secret still signs, so its successor cannot be replaced; answered with 409."""

    def __init__(self, detail: str, *, possible_from: datetime | None) -> None:
        """`possible_from` is the end of the overlap."""
        super().__init__(detail)
        self.possible_from = possible_from


class IdempotencyConflict(Problem, status=HTTPStatus.CONFLICT):
    """The `Idempotency-Key` was used with another body; answered with 409."""


class BodyTooLarge(Problem, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
    """The body exceeds 64 KiB, or 256 of a watchlist's companies; answered with 413."""


class BatchTooLarge(Problem, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
    """The company of one lookup no longer fits the answer of its batch."""

    text = "the companies of this batch are too large for one answer; look this one up again"


class UnsupportedMediaType(Problem, status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE):
    """The body is not JSON, or has a `Content-Encoding`; answered with 415."""

    def __init__(self, detail: str, *, accept_encoding: str | None = None) -> None:
        """`accept_encoding` lists the supported encodings, if the encoding is the error."""
        super().__init__(detail)
        self.accept_encoding = accept_encoding


class RateLimited(Problem, status=HTTPStatus.TOO_MANY_REQUESTS):
    """The client's quota is used up; answered with 429 and `Retry-After`.

    Also when too many of its searches, suggestions or event readers wait at once.
    """

    def __init__(self, detail: str, *, retry_after: int) -> None:
        """`retry_after` is in whole seconds."""
        super().__init__(detail)
        self.retry_after = retry_after


class InternalError(Problem, status=HTTPStatus.INTERNAL_SERVER_ERROR):
    """The request failed unexpectedly, and the log has the cause; answered with 500."""

    text = "an internal error"


class ServiceUnavailable(Problem, status=HTTPStatus.SERVICE_UNAVAILABLE):
    """A dependency is unavailable or a limit of capacity reached; answered with 503."""

    text = "a part of the service is unavailable; retry after the seconds in Retry-After"


class LookupTimeout(Problem, status=HTTPStatus.GATEWAY_TIMEOUT):
    """The lookup service did not reply in time; answered with 504."""

    text = "the lookup took too long; retry"


#: By code.
PROBLEMS: Final[Mapping[str, type[Problem]]] = {
    problem.code: problem for problem in Problem.__subclasses__()
}


def problem_of(failure: Failure, *, deadline: type[Problem] = LookupTimeout) -> Problem:
    """Returns the client's problem for a failed call; `deadline` is the one of a late call."""
    match failure.code:
        case FailureCode.DEADLINE_EXCEEDED:
            return deadline()
        case FailureCode.UNAVAILABLE:
            return ServiceUnavailable()
        case FailureCode.INTERNAL:
            return InternalError()
        case FailureCode.COMPANY_NOT_FOUND if failure.removed_on is not None:
            return CompanyRemoved(failure.detail, removed_on=failure.removed_on)
        case FailureCode.ROTATION_PENDING:
            return RotationPending(failure.detail, possible_from=failure.possible_from)
        case code:
            # A failure of the domain has the code that clients see.
            return PROBLEMS[code](failure.detail, errors=failure.errors)
