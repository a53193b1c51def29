"""MongoDB documents of webhooks."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from pydantic import SecretStr

from common.contracts.webhooks import DisabledReason, Webhook, WebhookId
from webhook_store.webhooks.matching import match_keys
from webhook_store.webhooks.secrets import SealedSecret, SecretKeys

Document = dict[str, Any]

#: The name of the database, unless a setting gives another.
DATABASE = "webhooks"

WEBHOOKS = "webhooks"
IDEMPOTENCY = "idempotency"
#: Ids of webhooks that were deleted, for the dispatchers that have them in memory.
DELETED = "deleted_webhooks"

#: Fields of a webhook: its notices, and whether there are any, for the index.
NOTICES, NOTICE_DUE = "notices", "notice_due"

#: Projection of a `Webhook`: all but the secrets and the index keys.
WITHOUT_SECRETS = {"secrets": 0, "match_keys": 0, "sealed_headers": 0, "notices": 0}


def webhook_fields(webhook: Webhook) -> Document:
    """Returns the mutable fields of a webhook, without its secrets."""
    return {
        "url": webhook.url,
        "host": webhook.host,
        "events": list(webhook.events),
        "filter": webhook.filter and webhook.filter.model_dump(mode="json"),
        "description": webhook.description,
        "headers": list(webhook.headers),
        "status": webhook.status.value,
        "disabled_at": webhook.disabled_at,
        "disabled_reason": webhook.disabled_reason and webhook.disabled_reason.value,
        "updated_at": webhook.updated_at,
        "generation": webhook.generation,
        "match_keys": match_keys(webhook),
    }


def webhook_of(document: Document) -> Webhook:
    """Returns the webhook of a stored document, without secrets or header values."""
    return Webhook.model_validate({**document, "id": document["_id"]})


def headers_id(webhook_id: WebhookId) -> WebhookId:
    """Returns the associated data of a webhook's headers, distinct from that of its secrets."""
    return WebhookId(f"{webhook_id}/headers")


def sealed_headers(headers: Mapping[str, str], keys: SecretKeys, webhook_id: WebhookId) -> Document:
    """Returns the stored fields of a webhook's custom headers, encrypted under the newest key."""
    sealed = keys.seal(SecretStr(orjson.dumps(headers).decode()), headers_id(webhook_id))
    return asdict(sealed)


def opened_headers(
    document: Document | None, keys: SecretKeys, webhook_id: WebhookId
) -> Mapping[str, SecretStr]:
    """Returns a webhook's decrypted custom headers; raises CannotUnseal."""
    if document is None:
        return {}
    opened = keys.unseal(sealed_of(document), headers_id(webhook_id))
    headers: dict[str, str] = orjson.loads(opened.get_secret_value())
    return {name: SecretStr(value) for name, value in headers.items()}


def sealed_document(sealed: SealedSecret, *, call_id: UUID) -> Document:
    """Returns the stored fields of a secret; `call_id` makes a redelivered call idempotent."""
    return {**asdict(sealed), "call": str(call_id)}


def sealed_of(document: Document) -> SealedSecret:
    """Returns the encrypted value in the stored fields of a secret or of headers."""
    return SealedSecret(document["key_id"], document["nonce"], document["ciphertext"])


def still_signs(previous: Document | None, at: datetime) -> bool:
    """Returns True if a replaced secret is still within its overlap."""
    return previous is not None and previous["until"] > at


def disabled_notice(reason: DisabledReason, at: datetime) -> Document:
    """Returns the fields to set when a webhook is disabled."""
    return {f"{NOTICES}.disabled": {"at": at, "reason": reason.value}, NOTICE_DUE: True}
