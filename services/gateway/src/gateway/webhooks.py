"""Webhooks over HTTP: each method and path is one operation of the registry."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Protocol
from uuid import UUID

import orjson
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from pydantic import Field

from common.contracts.company import CompanyKey
from common.contracts.customer_files import MAX_PART_SIZE
from common.contracts.events import EventType
from common.contracts.watchlists import DEFAULT_WATCHED, MAX_CHANGED, WatchedQuery
from common.contracts.webhook_api import (
    IDEMPOTENCY_KEY,
    LISTED,
    MAX_LISTED,
    DeliveryQuery,
    FilterWords,
    ListPosition,
    Operation,
    WebhookReply,
    WebhookRequest,
)
from common.contracts.webhooks import AttemptStatus
from common.domain.clients import Network
from common.domain.numbers import InvalidIdentifier, read_company
from gateway.access.clients import Caller
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import (
    JSON,
    Invalid,
    Parameters,
    Query,
    choice,
    number,
    once,
    read_moment,
)
from gateway.http.responses import (
    MAX_BODY_SIZE,
    NO_STORE,
    PUBLIC,
    json_body,
    json_response,
    public_address,
)

#: Of 10,000 companies, each with its quotes, a comma and a space.
MAX_WATCHED_BODY_SIZE = 256 * 1024

IDEMPOTENCY_REPLAYED = "Idempotency-Replayed"


class Webhooks(Protocol):
    """Carries out operations on webhooks; the registry checks the body and the owner."""

    async def do(self, request: WebhookRequest, *, caller: Caller) -> WebhookReply:
        """Returns the answer to one operation.

        Raises the Problem that the registry reports, ServiceUnavailable (broker, database or
        registry, or no answer in time) or InternalError; bounded by a timeout.
        """


class Explains(Protocol):
    """Says which codes the words in a webhook's filter mean."""

    async def __call__(self, body: bytes, *, caller: Caller) -> tuple[FilterWords, ...]:
        """Returns the words of a request's body; raises as `Finds.companies`."""


def _moment(value: str) -> datetime:
    return read_moment(value, "must be a time as in RFC 3339, such as 2026-03-02T05:00:00Z")


def _event_type(value: str) -> tuple[EventType, ...]:
    message = "must be an event type; GET /api/event-types lists them"
    return (choice(EventType, message)(value),)


def _list_position(value: str) -> ListPosition:
    try:
        return ListPosition.parse(value)
    except ValueError:
        raise Invalid("must be the cursor of an earlier answer") from None


_WATCHED_CURSOR = re.compile(r"([^~]+)(?:~([0-9]{1,9}))?")


def _watched_position(value: str) -> tuple[CompanyKey, int | None]:
    cursor = _WATCHED_CURSOR.fullmatch(value)
    key = None if cursor is None else CompanyKey.read(cursor[1])
    if cursor is None or key is None:
        raise Invalid("must be the cursor of an earlier answer")
    return key, int(cursor[2]) if cursor[2] else None


def _company(value: str) -> CompanyKey:
    try:
        return read_company(value)
    except InvalidIdentifier as invalid:
        form = "must be a country and a registration number, such as dk:12345674"
        raise Invalid(f"{form} ({invalid})") from None


class _DeliveriesQuery(Query):
    status: Annotated[
        AttemptStatus | None,
        once(choice(AttemptStatus, f"must be {', '.join(AttemptStatus)}, or left out")),
    ] = None
    types: Annotated[tuple[EventType, ...], once(_event_type)] = Field((), alias="type")
    since: Annotated[datetime | None, once(_moment)] = None
    until: Annotated[datetime | None, once(_moment)] = None
    limit: Annotated[int, number(1, MAX_LISTED)] = LISTED
    after: Annotated[ListPosition | None, once(_list_position)] = None


def _decision_number(value: str) -> int:
    if not re.fullmatch("0|[1-9][0-9]{0,5}", value):
        raise Invalid("must be the number of a decision")
    return int(value)


class _DecisionsQuery(Query):
    after: Annotated[int, once(_decision_number)] = 0


class _WatchedQuery(Query):
    limit: Annotated[int, number(1, MAX_CHANGED)] = DEFAULT_WATCHED
    after: Annotated[tuple[CompanyKey, int | None], once(_watched_position)] | None = None


class _ListsQuery(Query):
    company: Annotated[CompanyKey | None, once(_company)] = None


def parse_deliveries(parameters: Parameters) -> DeliveryQuery:
    """Returns the selection of deliveries; raises InvalidParameter."""
    return DeliveryQuery(**dict(_DeliveriesQuery.parse(parameters)))


def parse_decisions(parameters: Parameters) -> int:
    """Returns the number of the last decision that a client has; raises InvalidParameter."""
    return _DecisionsQuery.parse(parameters).after


def parse_watched(parameters: Parameters) -> WatchedQuery:
    """Returns the selection of a watchlist's companies; raises InvalidParameter."""
    query = _WatchedQuery.parse(parameters)
    after, replaced = query.after or (None, None)
    return WatchedQuery(limit=query.limit, after=after, replaced=replaced)


def parse_lists(parameters: Parameters) -> WatchedQuery:
    """Returns the selection of watchlists; raises InvalidParameter."""
    return WatchedQuery(company=_ListsQuery.parse(parameters).company)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parts of a request that an operation reads, and whether its answer is cached."""

    operation: Operation
    #: True if the operation reads a JSON body.
    takes_json: bool = False
    #: True if that body may be left out.
    is_optional: bool = False
    #: True if the operation supports `Idempotency-Key`.
    takes_key: bool = False
    #: True if that body has a filter, whose words are explained.
    has_filter: bool = False
    #: Parses the query string, of an operation that has one.
    query: Callable[[Parameters], DeliveryQuery] | None = None
    #: Parses the query string that selects companies of a watchlist, or watchlists.
    watched: Callable[[Parameters], WatchedQuery] | None = None
    #: Parses the query string that selects decisions about a file of customers.
    decisions: Callable[[Parameters], int] | None = None
    #: Maximum bytes of the body.
    max_body: int = MAX_BODY_SIZE
    cache_control: str = NO_STORE
    #: True if the answer has a URL of this API.
    has_url: bool = False
    #: True if what is created names its key.
    has_author: bool = False


EVENT_TYPES_PATH = Operation.EVENT_TYPES.path
WEBHOOK_SOURCES_PATH = "/api/webhook-sources"

ENDPOINTS = (
    Endpoint(Operation.CREATE, takes_json=True, takes_key=True, has_filter=True),
    Endpoint(Operation.LIST),
    Endpoint(Operation.GET),
    Endpoint(Operation.CHANGE, takes_json=True, has_filter=True),
    Endpoint(Operation.DELETE),
    Endpoint(Operation.ROTATE_SECRET),
    Endpoint(Operation.TEST, takes_json=True, is_optional=True, takes_key=True),
    Endpoint(Operation.DELIVERIES, query=parse_deliveries),
    Endpoint(Operation.DELIVERY),
    Endpoint(Operation.RETRY),
    Endpoint(Operation.RECOVER, takes_json=True),
    Endpoint(Operation.EVENT_TYPES, cache_control=PUBLIC),
    Endpoint(Operation.CREATE_WATCHLIST, takes_json=True, takes_key=True),
    Endpoint(Operation.LIST_WATCHLISTS, watched=parse_lists),
    Endpoint(Operation.GET_WATCHLIST),
    Endpoint(Operation.CHANGE_WATCHLIST, takes_json=True),
    Endpoint(Operation.DELETE_WATCHLIST),
    Endpoint(Operation.RENEW_FEED, has_url=True),
    Endpoint(Operation.END_FEED),
    Endpoint(Operation.ADD_DIGEST, takes_json=True),
    Endpoint(Operation.LIST_DIGESTS),
    Endpoint(Operation.DELETE_DIGEST),
    Endpoint(Operation.LIST_WATCHED, watched=parse_watched),
    Endpoint(
        Operation.CHANGE_WATCHED, takes_json=True, takes_key=True, max_body=MAX_WATCHED_BODY_SIZE
    ),
    Endpoint(Operation.REPLACE_WATCHED, takes_json=True, max_body=MAX_WATCHED_BODY_SIZE),
    Endpoint(Operation.CREATE_FILE, takes_json=True, has_author=True),
    Endpoint(Operation.LIST_FILES),
    Endpoint(Operation.GET_FILE),
    Endpoint(Operation.DELETE_FILE),
    Endpoint(Operation.GET_PART),
    Endpoint(Operation.PUT_PART, takes_json=True, max_body=MAX_PART_SIZE),
    Endpoint(Operation.ADD_DECISION, takes_json=True, has_author=True),
    Endpoint(Operation.LIST_DECISIONS, decisions=parse_decisions),
)


def webhook_handler(
    webhooks: Webhooks,
    endpoint: Endpoint,
    explain: Explains,
    new_call_id: Callable[[], UUID],
    public_url: str = "",
) -> Handler:
    """Returns the handler of one operation; `public_url` is as for `public_address`."""

    async def handle(request: web.Request) -> web.Response:
        context = request[REQUEST_CONTEXT]
        body = await _body(request, endpoint)
        words = await explain(body, caller=context.caller) if endpoint.has_filter else ()
        webhook_request = WebhookRequest(
            operation=endpoint.operation,
            call_id=new_call_id(),
            owner="" if context.key is None else context.key.owner,
            webhook_id=request.match_info.get("id", ""),
            delivery_id=request.match_info.get("delivery_id", ""),
            watchlist_id=request.match_info.get("watchlist_id", ""),
            digest_id=request.match_info.get("digest_id", ""),
            file_id=request.match_info.get("file_id", ""),
            part=request.match_info.get("part", ""),
            after=endpoint.decisions(parameters_of(request)) if endpoint.decisions else 0,
            key_id=context.key.id if context.key and endpoint.has_author else "",
            body=body,
            words=words,
            idempotency_key=_idempotency_key(request) if endpoint.takes_key else None,
            query=endpoint.query(parameters_of(request)) if endpoint.query else DeliveryQuery(),
            watched=endpoint.watched(parameters_of(request))
            if endpoint.watched
            else WatchedQuery(),
            service=public_address(request, public_url) if endpoint.has_url else "",
        )
        reply = await webhooks.do(webhook_request, caller=context.caller)
        return web.Response(
            status=reply.status, body=reply.body or None, headers=_headers(reply, endpoint)
        )

    return handle


def _headers(reply: WebhookReply, endpoint: Endpoint) -> dict[str, str]:
    headers: dict[str, str] = {hdrs.CACHE_CONTROL: endpoint.cache_control}
    if reply.body:
        headers[hdrs.CONTENT_TYPE] = JSON
    if reply.location is not None:
        headers[hdrs.LOCATION] = reply.location
    if reply.replayed:
        headers[IDEMPOTENCY_REPLAYED] = "true"
    return headers


async def _body(request: web.Request, endpoint: Endpoint) -> bytes:
    if not endpoint.takes_json or (endpoint.is_optional and not request.body_exists):
        return b""
    return await json_body(request, max_size=endpoint.max_body)


def _idempotency_key(request: web.Request) -> str | None:
    if IDEMPOTENCY_KEY not in request.headers:
        return None
    # Two headers are joined to a value that the registry rejects. So are bytes that are not UTF-8
    # replaced; unchanged they could not be encoded in a message.
    text = ", ".join(request.headers.getall(IDEMPOTENCY_KEY))
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def webhook_sources_handler(networks: Sequence[Network]) -> Handler:
    """Returns the handler of the addresses of posts, which only change with the settings."""
    body = orjson.dumps({"addresses": [str(network) for network in networks]})

    async def addresses(_: web.Request) -> web.Response:
        return json_response(body, cache_control=PUBLIC)

    return addresses
