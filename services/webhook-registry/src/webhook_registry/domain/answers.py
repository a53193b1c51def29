"""Responses to clients."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from common.contracts.contract import Contract
from common.contracts.webhooks import (
    PublicWebhook,
    WebhookFilter,
    WebhookList,
    WebhookReply,
    WebhookWithSecret,
)
from webhook_store.models import KeptAnswer, Registered, Webhook

OK, CREATED, ACCEPTED, NO_CONTENT = 200, 201, 202, 204


def public(webhook: Webhook) -> PublicWebhook:
    """Public representation of a webhook."""
    limits = webhook.filter
    return PublicWebhook(
        id=webhook.id,
        url=webhook.url,
        events=webhook.events,
        filter=None
        if limits is None
        else WebhookFilter(countries=limits.countries, companies=limits.companies),
        description=webhook.description,
        status=webhook.status,
        disabled_at=None if webhook.disabled_at is None else rfc3339(webhook.disabled_at),
        disabled_reason=webhook.disabled_reason,
        created_at=rfc3339(webhook.created_at),
        updated_at=rfc3339(webhook.updated_at),
    )


def with_secret(registered: Registered) -> WebhookWithSecret:
    """Representation with the secret, which is shown once."""
    return WebhookWithSecret(
        **dict(public(registered.webhook)), secret=registered.secret.get_secret_value()
    )


def listed(webhooks: Sequence[Webhook]) -> WebhookList:
    return WebhookList(webhooks=tuple(public(webhook) for webhook in webhooks))


def location(webhook: Webhook) -> str:
    return f"/api/webhooks/{webhook.id}"


def reply(status: int, document: Contract, *, location: str | None = None) -> WebhookReply:
    return WebhookReply(status=status, body=rendered(document), location=location)


def repeated(answer: KeptAnswer) -> WebhookReply:
    """Stored answer to an earlier request with the same key."""
    return WebhookReply(
        status=answer.status, body=answer.body, location=answer.location, replayed=True
    )


def rendered(document: Contract) -> bytes:
    """Renders JSON with the public field names."""
    return orjson.dumps(document.model_dump(mode="json", by_alias=True))


def rfc3339(moment: datetime) -> str:
    """Truncates to UTC milliseconds, the database's precision."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
