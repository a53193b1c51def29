"""What the gateway needs of the world, in its own words."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from common.contracts.lookup import LookupReply, LookupRequest, SuggestReply, SuggestRequest
from common.contracts.webhooks import WebhookReply, WebhookRequest
from gateway.domain.keys import ApiKey


class Lookups(Protocol):
    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        """The one company that answers the request.

        Raises CompanyNotFound, ServiceUnavailable (broker, database or lookup service away),
        LookupTimeout, InvalidParameter or InternalError; never waits longer than its limit.
        """


class Suggestions(Protocol):
    async def suggest(self, request: SuggestRequest, *, request_id: str) -> SuggestReply:
        """Companies that a name typed so far may become, best first; an empty list for none.

        Raises ServiceUnavailable (broker, database or lookup service away, or its index still
        being built), LookupTimeout or InternalError; never waits longer than its limit.
        """


class Webhooks(Protocol):
    async def do(self, request: WebhookRequest, *, request_id: str) -> WebhookReply:
        """The answer to one operation.

        Raises the Problem that the registry reports, ServiceUnavailable (broker, database or
        registry away, or no answer in time) or InternalError; never waits longer than its limit.
        """


class ApiKeys(Protocol):
    async def find(self, key_id: str) -> ApiKey | None:
        """The key of that id, a revoked one too; None when there is none.

        Raises ServiceUnavailable within 2 s when that cannot be known now.
        """


class KeyStore(ApiKeys, Protocol):
    """Where keys are kept, for those who manage them."""

    async def add(self, key: ApiKey) -> None:
        """Keeps a new key."""

    async def all(self) -> Sequence[ApiKey]:
        """Every key, the newest first."""

    async def revoke(self, key_id: str, *, at: datetime) -> bool:
        """Ends a key; one that had ended keeps its time. False when there is no such key."""


class Renderer(Protocol):
    async def company(self, body: bytes) -> bytes:
        """The XML document of a company given as JSON; raises ServiceUnavailable when too busy."""
