"""Ports of the gateway."""

from typing import Protocol

from common.contracts.feed import EventReply, EventRequest, FeedPage, FeedRequest
from common.contracts.lookup import (
    LookupReply,
    LookupRequest,
    SuggestReply,
    SuggestRequest,
    UnitsReply,
    UnitsRequest,
)
from common.contracts.webhooks import WebhookReply, WebhookRequest


class Lookups(Protocol):
    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        """The one company that answers the request.

        Raises CompanyNotFound, ServiceUnavailable (broker, database or lookup service),
        LookupTimeout, InvalidParameter or InternalError; bounded by a timeout.
        """


class Units(Protocol):
    async def units(self, request: UnitsRequest, *, request_id: str) -> UnitsReply:
        """A page of a company's production units; raises as `Lookups.find`."""


class Suggestions(Protocol):
    async def suggest(self, request: SuggestRequest, *, request_id: str) -> SuggestReply:
        """Companies whose names complete the text, best first; may be empty.

        Raises ServiceUnavailable (broker, database or lookup service, or its index is still
        being built), LookupTimeout or InternalError; bounded by a timeout.
        """


class Webhooks(Protocol):
    async def do(self, request: WebhookRequest, *, request_id: str) -> WebhookReply:
        """The answer to one operation.

        Raises the Problem that the registry reports, ServiceUnavailable (broker, database or
        registry, or no answer in time) or InternalError; bounded by a timeout.
        """


class Events(Protocol):
    """The event feed.

    Both methods raise ServiceUnavailable (broker, database or lookup service), LookupTimeout or
    InternalError, and are bounded by a timeout.
    """

    async def page(self, request: FeedRequest, *, request_id: str) -> FeedPage:
        """The events that follow a position; may be empty."""

    async def event(self, request: EventRequest, *, request_id: str) -> EventReply:
        """One event; raises EventNotFound, too."""
