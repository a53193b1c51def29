"""Responses to clients."""

import orjson

from common.contracts.contract import Contract
from common.contracts.webhooks import (
    Webhook,
    WebhookReply,
    WebhookWithSecret,
)
from webhook_store.models import Registered

OK, CREATED, ACCEPTED, NO_CONTENT = 200, 201, 202, 204


def with_secret(registered: Registered) -> WebhookWithSecret:
    """Representation with the secret, which is shown once."""
    return WebhookWithSecret(
        **dict(registered.webhook), secret=registered.secret.get_secret_value()
    )


def location(webhook: Webhook) -> str:
    return f"/api/webhooks/{webhook.id}"


def reply(status: int, document: Contract, *, location: str | None = None) -> WebhookReply:
    return WebhookReply(status=status, body=rendered(document), location=location)


def rendered(document: Contract) -> bytes:
    """Renders JSON with the public field names."""
    return orjson.dumps(document.model_dump(mode="json", by_alias=True))
