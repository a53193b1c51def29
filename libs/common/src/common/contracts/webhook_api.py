"""The API of webhooks between gateway and registry: operations with their paths and queries.

A request carries the client's body unchanged; the registry owns the rules and validates it. A reply
carries the ready JSON, which the gateway passes through.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Final, NamedTuple, Self
from uuid import UUID

from pydantic import ConfigDict, Field, PlainSerializer, PlainValidator

from common.contracts.contract import Contract, Timestamp
from common.contracts.events import EventType
from common.contracts.watchlists import WatchedQuery
from common.contracts.webhooks import AttemptStatus


class Operation(StrEnum):
    """Operations on webhooks and watchlists, each with its method and path in the public API."""

    method: str
    path: str

    CREATE = "create", "POST", "/api/webhooks"
    LIST = "list", "GET", "/api/webhooks"
    GET = "get", "GET", "/api/webhooks/{id}"
    CHANGE = "change", "PATCH", "/api/webhooks/{id}"
    DELETE = "delete", "DELETE", "/api/webhooks/{id}"
    ROTATE_SECRET = "rotate_secret", "POST", "/api/webhooks/{id}/rotate-secret"
    TEST = "test", "POST", "/api/webhooks/{id}/test"
    DELIVERIES = "deliveries", "GET", "/api/webhooks/{id}/deliveries"
    DELIVERY = "delivery", "GET", "/api/webhooks/{id}/deliveries/{delivery_id}"
    RETRY = "retry", "POST", "/api/webhooks/{id}/deliveries/{delivery_id}/retry"
    RECOVER = "recover", "POST", "/api/webhooks/{id}/recover"
    EVENT_TYPES = "event_types", "GET", "/api/event-types"
    CREATE_WATCHLIST = "create_watchlist", "POST", "/api/watchlists"
    LIST_WATCHLISTS = "list_watchlists", "GET", "/api/watchlists"
    GET_WATCHLIST = "get_watchlist", "GET", "/api/watchlists/{watchlist_id}"
    CHANGE_WATCHLIST = "change_watchlist", "PATCH", "/api/watchlists/{watchlist_id}"
    DELETE_WATCHLIST = "delete_watchlist", "DELETE", "/api/watchlists/{watchlist_id}"
    RENEW_FEED = "renew_feed", "POST", "/api/watchlists/{watchlist_id}/feed"
    END_FEED = "end_feed", "DELETE", "/api/watchlists/{watchlist_id}/feed"
    ADD_DIGEST = "add_digest", "POST", "/api/watchlists/{watchlist_id}/digests"
    LIST_DIGESTS = "list_digests", "GET", "/api/watchlists/{watchlist_id}/digests"
    DELETE_DIGEST = (
        "delete_digest",
        "DELETE",
        "/api/watchlists/{watchlist_id}/digests/{digest_id}",
    )
    LIST_WATCHED = "list_watched", "GET", "/api/watchlists/{watchlist_id}/companies"
    CHANGE_WATCHED = "change_watched", "PATCH", "/api/watchlists/{watchlist_id}/companies"
    REPLACE_WATCHED = "replace_watched", "PUT", "/api/watchlists/{watchlist_id}/companies"
    CREATE_FILE = "create_file", "POST", "/api/customer-files"
    LIST_FILES = "list_files", "GET", "/api/customer-files"
    GET_FILE = "get_file", "GET", "/api/customer-files/{file_id}"
    DELETE_FILE = "delete_file", "DELETE", "/api/customer-files/{file_id}"
    GET_PART = "get_part", "GET", "/api/customer-files/{file_id}/parts/{part}"
    PUT_PART = "put_part", "PUT", "/api/customer-files/{file_id}/parts/{part}"
    ADD_DECISION = "add_decision", "POST", "/api/customer-files/{file_id}/decisions"
    LIST_DECISIONS = "list_decisions", "GET", "/api/customer-files/{file_id}/decisions"

    def __new__(cls, value: str, method: str, path: str) -> Self:
        member = str.__new__(cls, value)
        member._value_, member.method, member.path = value, method, path
        return member


#: Operations on files of customers.
FILE_OPERATIONS: Final = frozenset(
    operation for operation in Operation if operation.path.startswith("/api/customer-files")
)
#: Operations on watchlists and files, which share a queue: those of an owner wait for one another.
WATCHLIST_OPERATIONS: Final = FILE_OPERATIONS | frozenset(
    operation for operation in Operation if operation.path.startswith("/api/watchlists")
)
#: Operations that change many companies, and may take seconds.
LONG_OPERATIONS: Final = frozenset({Operation.CHANGE_WATCHED, Operation.REPLACE_WATCHED})

#: The header under which an operation takes effect once.
IDEMPOTENCY_KEY = "Idempotency-Key"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_POSITION = re.compile(r"(?P<at>[0-9]{1,14}) (?P<id>[0-9a-f:-]{36,60})")


class ListPosition(NamedTuple):
    """The position of an entry in a list, newest first; clients have it as a cursor."""

    at: datetime
    id: str

    @property
    def cursor(self) -> str:
        """The text that clients pass back as `after`."""
        milliseconds = (self.at - _EPOCH) // timedelta(milliseconds=1)
        return urlsafe_b64encode(f"{milliseconds} {self.id}".encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, cursor: str) -> Self:
        """Returns the position that a cursor encodes; raises ValueError for an invalid one."""
        decoded = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        match = _POSITION.fullmatch(decoded)
        if match is not None:
            position = cls(_EPOCH + timedelta(milliseconds=int(match["at"])), match["id"])
            # Decoding skips characters that are not base64.
            if position.cursor == cursor:
                return position
        raise ValueError("not the cursor of a list")


def _position(value: ListPosition | str) -> ListPosition:
    return value if isinstance(value, ListPosition) else ListPosition.parse(value)


#: Attempts listed by default (docs/decisions.md, *Attempts*), and at most.
LISTED, MAX_LISTED = 50, 100


class DeliveryQuery(Contract):
    """Selects the attempts to list, newest first."""

    #: None lists attempts made, `cancelled` the cancelled deliveries.
    status: AttemptStatus | None = None
    #: Empty: all.
    types: tuple[EventType, ...] = ()
    #: Bounds of `attempted_at`, or of a cancelled delivery's event; both inclusive.
    since: Timestamp | None = None
    until: Timestamp | None = None
    limit: int = Field(default=LISTED, ge=1, le=MAX_LISTED)
    #: The last entry of the previous page; a cursor in JSON.
    after: (
        Annotated[
            ListPosition,
            PlainValidator(_position),
            PlainSerializer(attrgetter("cursor"), return_type=str, when_used="json"),
        ]
        | None
    ) = None


class FilterWords(Contract):
    """Words in a filter, with the codes that they mean."""

    #: `industries` or `forms`.
    part: str
    words: str
    codes: tuple[str, ...] = ()
    #: Words of the same list that are most like them, if they mean none.
    near: tuple[str, ...] = ()


class WebhookRequest(Contract):
    """One operation of one owner."""

    operation: Operation
    #: New for each HTTP request. Ids of created objects derive from it, so that a
    #: redelivered message creates nothing twice. Never the client's `X-Request-Id`.
    call_id: UUID
    #: The API key's owner; empty only where an operation has no owner (event types).
    owner: str = ""
    #: Unvalidated path segment, like the other ids.
    webhook_id: str = ""
    delivery_id: str = ""
    watchlist_id: str = ""
    digest_id: str = ""
    file_id: str = ""
    part: str = ""
    #: The number of the last decision that the client has.
    after: int = 0
    #: The id of the API key.
    key_id: str = ""
    #: The request body unchanged; empty when there was none.
    body: bytes = b""
    #: The codes that the words of the body's filter mean, by the registers' texts.
    words: tuple[FilterWords, ...] = ()
    #: The `Idempotency-Key` header.
    idempotency_key: str | None = None
    query: DeliveryQuery = DeliveryQuery()
    watched: WatchedQuery = WatchedQuery()
    #: The public address of the API, for an answer with a URL; empty otherwise.
    service: str = ""


class WebhookReply(Contract):
    """A ready answer. Failures travel as `Failure`."""

    # The body of three operations holds a secret: it is kept out of every text of the object.
    model_config = ConfigDict(hide_input_in_errors=True)

    #: The HTTP status.
    status: int
    #: The JSON document; empty with 204.
    body: bytes = Field(default=b"", repr=False)
    #: The path of the created resource.
    location: str | None = None
    #: True if it is the stored answer to an earlier request with the same `Idempotency-Key`.
    replayed: bool = False
