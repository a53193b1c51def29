"""MongoDB documents of webhooks."""

from datetime import datetime
from typing import Any
from uuid import UUID

from common.contracts.company import CompanyKey, Country
from common.contracts.webhooks import DisabledReason, WebhookStatus
from webhook_store.matching import match_keys
from webhook_store.models import EventFilter, Webhook
from webhook_store.secrets import SealedSecret

Document = dict[str, Any]

#: The name of the database, unless a setting gives another.
DATABASE = "webhooks"

WEBHOOKS = "webhooks"
IDEMPOTENCY = "idempotency"

#: Projection of a `Webhook`: all but the secrets and the index keys.
WITHOUT_SECRETS = {"secrets": 0, "match_keys": 0}


def webhook_fields(webhook: Webhook) -> Document:
    """Mutable fields of a webhook, without its secrets."""
    return {
        "url": webhook.url,
        "host": webhook.host,
        "events": list(webhook.events),
        "filter": _filter_document(webhook.filter),
        "description": webhook.description,
        "status": webhook.status.value,
        "disabled_at": webhook.disabled_at,
        "disabled_reason": webhook.disabled_reason and webhook.disabled_reason.value,
        "updated_at": webhook.updated_at,
        "generation": webhook.generation,
        "match_keys": match_keys(webhook),
    }


def webhook_of(document: Document) -> Webhook:
    reason = document["disabled_reason"]
    return Webhook(
        id=document["_id"],
        owner=document["owner"],
        url=document["url"],
        host=document["host"],
        events=tuple(document["events"]),
        filter=_filter_of(document["filter"]),
        description=document["description"],
        created_at=document["created_at"],
        updated_at=document["updated_at"],
        status=WebhookStatus(document["status"]),
        disabled_at=document["disabled_at"],
        disabled_reason=None if reason is None else DisabledReason(reason),
        generation=document["generation"],
    )


def sealed_document(sealed: SealedSecret, *, call_id: UUID) -> Document:
    """Fields of a secret; `call_id` makes a redelivered call idempotent."""
    return {
        "key_id": sealed.key_id,
        "nonce": sealed.nonce,
        "ciphertext": sealed.ciphertext,
        "call": str(call_id),
    }


def sealed_of(document: Document) -> SealedSecret:
    return SealedSecret(document["key_id"], document["nonce"], document["ciphertext"])


def still_signs(previous: Document | None, at: datetime) -> bool:
    """Whether a replaced secret is still within its overlap."""
    return previous is not None and previous["until"] > at


def _filter_document(limits: EventFilter | None) -> Document | None:
    if limits is None:
        return None
    return {
        "countries": [country.value for country in limits.countries],
        "companies": list(limits.companies),
    }


def _filter_of(document: Document | None) -> EventFilter | None:
    if document is None:
        return None
    return EventFilter(
        countries=tuple(Country(country) for country in document["countries"]),
        companies=tuple(CompanyKey(key) for key in document["companies"]),
    )
