"""Changes of a webhook."""

from datetime import datetime
from typing import Any

from common.contracts.failures import FieldError
from common.contracts.webhooks import DisabledReason, Webhook, WebhookStatus
from webhook_registry.replies import DISABLED_BY_OPERATOR, Rejected, Wrong, invalid_body
from webhook_registry.webhooks.bodies import Changes
from webhook_registry.webhooks.subscription import merged_filter, merged_headers


def changed(webhook: Webhook, changes: Changes, *, at: datetime) -> Webhook:
    """Returns the webhook with changes; the same object when nothing changes.

    Raises Rejected for enabling a webhook that an operator disabled, and as `merged` does.
    """
    after = webhook.model_copy(update=changes.fields | merged(webhook, changes))
    match changes.status:
        case WebhookStatus.ENABLED:
            if after.disabled_reason is DisabledReason.OPERATOR:
                raise Rejected(DISABLED_BY_OPERATOR)
            after = enabled(after, at=at)
        case WebhookStatus.DISABLED:
            after = disabled(after, DisabledReason.OWNER, at=at)
        case None:
            pass
    return webhook if after == webhook else after.model_copy(update={"updated_at": at})


def merged(before: Webhook | None, changes: Changes) -> dict[str, Any]:
    """Returns the filter and headers after a merge patch (RFC 7396), as fields of a `Webhook`.

    Raises Rejected for a filter that can never match, and for too many headers.
    """
    fields: dict[str, Any] = {}
    name = "filter"
    try:
        if "filter" in changes.given:
            fields["filter"] = merged_filter(before.filter if before else None, changes.filter)
        name = "headers"
        if "headers" in changes.given and changes.headers != {}:
            names, new = merged_headers(before.headers if before else (), changes.headers)
            fields |= {"headers": names, "new_headers": new}
    except Wrong as wrong:
        error = FieldError(parameter=name + wrong.at, message=str(wrong))
        raise invalid_body("the request body is invalid", error) from None
    return fields


def enabled(webhook: Webhook, *, at: datetime) -> Webhook:
    """Returns the webhook enabled, as a new generation that deliveries in flight cannot disable."""
    if webhook.enabled:
        return webhook
    return webhook.model_copy(
        update={
            "status": WebhookStatus.ENABLED,
            "disabled_at": None,
            "disabled_reason": None,
            "generation": webhook.generation + 1,
            "updated_at": at,
        }
    )


def disabled(webhook: Webhook, reason: DisabledReason, *, at: datetime) -> Webhook:
    """Returns the webhook disabled; if it was already, with its own time and reason."""
    if not webhook.enabled:
        return webhook
    return webhook.model_copy(
        update={
            "status": WebhookStatus.DISABLED,
            "disabled_at": at,
            "disabled_reason": reason,
            "generation": webhook.generation + 1,
            "updated_at": at,
        }
    )


def stopped_by_operator(webhook: Webhook, *, at: datetime) -> Webhook:
    """Returns the webhook disabled so that its owner cannot enable it."""
    stopped = disabled(webhook, DisabledReason.OPERATOR, at=at)
    return stopped.model_copy(update={"disabled_reason": DisabledReason.OPERATOR})
