"""Client of the Company Registry Lookup Service: Danish and Norwegian companies, and their changes.

`Client` blocks and `AsyncClient` is for asyncio; both have the same methods. `verify` checks the
signature of a webhook delivery.
"""

from company_registry.client import AsyncClient, Client
from company_registry.errors import (
    ApiError,
    BodyTooLarge,
    CompanyNotFound,
    CompanyRegistryError,
    CursorExpired,
    DeliveryNotFound,
    DeliveryPending,
    EventNotFound,
    Forbidden,
    IdempotencyConflict,
    InternalError,
    InvalidBody,
    InvalidParameter,
    InvalidResponse,
    InvalidSignature,
    LookupTimeout,
    MethodNotAllowed,
    MissingParameter,
    MultipleSearchParameters,
    NoResponse,
    NotFound,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
    UnsupportedMediaType,
    WebhookDisabled,
    WebhookLimitReached,
    WebhookNotFound,
)
from company_registry.models import Company, CompanySummary, Event, EventPage
from company_registry.retries import Retries
from company_registry.signatures import verify
from company_registry.streams import BatchResult, CursorStore, FileCursor, Lookup
from company_registry.webhook_models import Attempt, NewWebhook, Webhook, WebhookFilter

__all__ = [
    "ApiError",
    "AsyncClient",
    "Attempt",
    "BatchResult",
    "BodyTooLarge",
    "Client",
    "Company",
    "CompanyNotFound",
    "CompanyRegistryError",
    "CompanySummary",
    "CursorExpired",
    "CursorStore",
    "DeliveryNotFound",
    "DeliveryPending",
    "Event",
    "EventNotFound",
    "EventPage",
    "FileCursor",
    "Forbidden",
    "IdempotencyConflict",
    "InternalError",
    "InvalidBody",
    "InvalidParameter",
    "InvalidResponse",
    "InvalidSignature",
    "Lookup",
    "LookupTimeout",
    "MethodNotAllowed",
    "MissingParameter",
    "MultipleSearchParameters",
    "NewWebhook",
    "NoResponse",
    "NotFound",
    "RateLimited",
    "Retries",
    "ServiceUnavailable",
    "Unauthorized",
    "UnsupportedMediaType",
    "Webhook",
    "WebhookDisabled",
    "WebhookFilter",
    "WebhookLimitReached",
    "WebhookNotFound",
    "verify",
]
