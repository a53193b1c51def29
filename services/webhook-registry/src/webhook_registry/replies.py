"""Replies to clients: answers, and refusals with their public texts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import orjson

from common.contracts.contract import Contract
from common.contracts.failures import Failure, FailureCode, FieldError
from common.contracts.webhook_api import WebhookReply
from common.domain.sentences import counted

#: Webhooks that a refusal names.
MAX_SHOWN: Final = 10


class Rejected(Exception):
    """The operation was refused; its failure is shown to the client."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code, failure.detail)
        self.failure = failure


class InvalidValue(ValueError):
    """Invalid value; the message gives a hint."""

    def __init__(self, message: str, *, at: str = "") -> None:
        """`at` is the path of the error in the value, such as `[2]` or `.countries`."""
        super().__init__(message)
        self.at = at


def invalid_body(detail: str, *errors: FieldError) -> Rejected:
    """Returns the refusal of a request body; `errors` name its invalid fields."""
    return Rejected(Failure(code=FailureCode.INVALID_BODY, detail=detail, errors=errors))


def invalid_parameter(name: str, message: str) -> Rejected:
    """Returns the refusal of a parameter or header; `message` hints at a valid value."""
    error = FieldError(parameter=name, message=message)
    detail = f"{name} is not valid"
    return Rejected(Failure(code=FailureCode.INVALID_PARAMETER, detail=detail, errors=(error,)))


#: The same for another owner's webhook, so that ids cannot be probed.
WEBHOOK_NOT_FOUND: Final = Failure(
    code=FailureCode.WEBHOOK_NOT_FOUND, detail="you have no webhook with this id"
)
WATCHLIST_NOT_FOUND: Final = Failure(
    code=FailureCode.WATCHLIST_NOT_FOUND, detail="you have no watchlist with this id"
)
DIGEST_NOT_FOUND: Final = Failure(
    code=FailureCode.DIGEST_NOT_FOUND, detail="this watchlist has no digest with this id"
)
CUSTOMER_FILE_NOT_FOUND: Final = Failure(
    code=FailureCode.CUSTOMER_FILE_NOT_FOUND, detail="you have no file of customers with this id"
)
CUSTOMER_PART_NOT_FOUND: Final = Failure(
    code=FailureCode.CUSTOMER_FILE_NOT_FOUND, detail="this file of customers has no such part"
)
DIGESTS_DISABLED: Final = Failure(
    code=FailureCode.DIGESTS_DISABLED,
    detail="this service sends no e-mail; follow the watchlist's feed or use a webhook",
)
DELIVERY_NOT_FOUND: Final = Failure(
    code=FailureCode.DELIVERY_NOT_FOUND, detail="this webhook has no delivery with this id"
)
DELIVERY_PENDING: Final = Failure(
    code=FailureCode.DELIVERY_PENDING, detail="an attempt of this delivery is being made"
)
WEBHOOK_DISABLED: Final = Failure(
    code=FailureCode.WEBHOOK_DISABLED,
    detail='the webhook is disabled; PATCH it with {"status": "enabled"} first',
)
DISABLED_BY_OPERATOR: Final = Failure(
    code=FailureCode.WEBHOOK_DISABLED,
    detail="the operator of this service disabled the webhook; only they can enable it again",
)
IDEMPOTENCY_CONFLICT: Final = Failure(
    code=FailureCode.IDEMPOTENCY_CONFLICT,
    detail="this Idempotency-Key was used for a request with another body; use a new key",
)


def webhook_limit_reached(limit: int) -> Rejected:
    """Returns the refusal to create a webhook for an owner who has `limit` of them."""
    detail = f"you have {counted(limit, 'webhook')}, which is the maximum; delete one first"
    return Rejected(Failure(code=FailureCode.WEBHOOK_LIMIT_REACHED, detail=detail))


def watchlist_limit_reached(detail: str) -> Rejected:
    """Returns the refusal of a list, or of companies, beyond one of the owner's limits."""
    return Rejected(Failure(code=FailureCode.WATCHLIST_LIMIT_REACHED, detail=detail))


def customer_file_limit_reached(detail: str) -> Rejected:
    """Returns the refusal of a file of customers, or a part of one, beyond the owner's limits."""
    return Rejected(Failure(code=FailureCode.CUSTOMER_FILE_LIMIT_REACHED, detail=detail))


def watchlist_in_use(webhooks: Sequence[str]) -> Rejected:
    """Returns the refusal to delete a list that these webhooks use."""
    shown = ", ".join(webhooks[:MAX_SHOWN])
    more = f" and {len(webhooks) - MAX_SHOWN} more" if len(webhooks) > MAX_SHOWN else ""
    detail = f"{shown}{more} use this watchlist in their filter; change or delete them first"
    return Rejected(Failure(code=FailureCode.WATCHLIST_IN_USE, detail=detail))


def rotation_pending(until: datetime) -> Rejected:
    """Returns the refusal to rotate a secret before the last rotation's overlap has ended."""
    # Rounded up: shown in whole seconds, it must not be too early.
    until = (until + timedelta(microseconds=999_999)).replace(microsecond=0)
    return Rejected(
        Failure(
            code=FailureCode.ROTATION_PENDING,
            detail=(
                "the secret was replaced recently, and the one before it signs until "
                f"{until:%Y-%m-%dT%H:%M:%SZ}; from then on it can be replaced again"
            ),
            possible_from=until,
        )
    )


OK, CREATED, ACCEPTED, NO_CONTENT = 200, 201, 202, 204


def reply(status: int, document: Contract, *, location: str | None = None) -> WebhookReply:
    """Returns an answer with the document as its JSON body."""
    return WebhookReply(status=status, body=rendered(document), location=location)


def rendered(document: Contract) -> bytes:
    """Returns JSON with the public field names."""
    return orjson.dumps(document.model_dump(mode="json", by_alias=True))
