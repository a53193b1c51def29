"""The operations on webhooks and their deliveries."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Unpack

from company_registry.arguments import moment, texts
from company_registry.http import Request
from company_registry.models import Model
from company_registry.operations import Operation, get, idempotency, segment
from company_registry.webhook_models import (
    AcceptedDelivery,
    Attempts,
    AttemptStatus,
    Delivery,
    NewWebhook,
    Recovered,
    Webhook,
    WebhookChanges,
    WebhookFilter,
    Webhooks,
    WebhookSources,
)

_WEBHOOKS: Final = "/api/webhooks"


def list_webhooks() -> Operation[tuple[Webhook, ...]]:
    """Returns the key owner's webhooks, newest first."""
    return Operation(get(_WEBHOOKS), lambda body: Webhooks.model_validate_json(body).webhooks)


def get_webhook(webhook_id: str) -> Operation[Webhook]:
    """Returns a webhook. Raises WebhookNotFound."""
    return Operation(get(_webhook(webhook_id)), Webhook.model_validate_json)


def create_webhook(  # noqa: PLR0913 (named options)
    url: str,
    events: Sequence[str] = ("*",),
    *,
    filter: WebhookFilter | None = None,
    description: str | None = None,
    headers: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Operation[NewWebhook]:
    """Creates a webhook; `secret` of the answer is shown only this once.

    `headers` are sent with each delivery, such as a token that your endpoint checks.
    A request that is repeated with the same `idempotency_key` within 24 h creates nothing.
    """
    fields: dict[str, Any] = {
        "url": url,
        "events": list(texts(events)),
        "filter": filter,
        "description": description,
    }
    if headers:
        fields["headers"] = dict(headers)
    request = Request("POST", _WEBHOOKS, body=_body(fields), headers=idempotency(idempotency_key))
    return Operation(request, NewWebhook.model_validate_json)


def update_webhook(webhook_id: str, **changes: Unpack[WebhookChanges]) -> Operation[Webhook]:
    """Changes the given fields; `status` enables or disables. Raises WebhookNotFound.

    Of a `filter` the parts that were given to it change: an empty part clears, the others stay.
    """
    request = Request("PATCH", _webhook(webhook_id), body=_body(changes))
    return Operation(request, Webhook.model_validate_json)


def delete_webhook(webhook_id: str) -> Operation[None]:
    """Deletes a webhook and cancels its waiting deliveries. Raises WebhookNotFound."""
    return Operation(Request("DELETE", _webhook(webhook_id)), lambda _body: None)


def rotate_secret(webhook_id: str) -> Operation[NewWebhook]:
    """Makes a new secret, shown only this once; the old one signs too for 24 hours.

    Raises RotationPending within these hours.
    """
    # Repeated, it would replace the secret that the lost answer showed.
    request = Request("POST", f"{_webhook(webhook_id)}/rotate-secret", repeatable=False)
    return Operation(request, NewWebhook.model_validate_json)


def send_test(
    webhook_id: str, type: str | None = None, *, idempotency_key: str | None = None
) -> Operation[AcceptedDelivery]:
    """Sends a `webhook.test`, or an invented event of another type. Raises WebhookDisabled."""
    request = Request(
        "POST",
        f"{_webhook(webhook_id)}/test",
        body=None if type is None else {"type": type},
        headers=idempotency(idempotency_key),
    )
    return Operation(request, AcceptedDelivery.model_validate_json)


def list_attempts(  # noqa: PLR0913 (named options)
    webhook_id: str,
    *,
    status: AttemptStatus | None = None,
    type: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: str | None = None,
    limit: int | None = None,
) -> Operation[Attempts]:
    """Returns a page of attempts, newest first: by default the last 50.

    `after` is the cursor of an earlier page; `limit` is at most 100. `status` may be `cancelled`
    for deliveries that were cancelled.
    """
    query = {
        "status": status or "",
        "type": type or "",
        "since": moment("since", since),
        "until": moment("until", until),
        "after": after or "",
        "limit": "" if limit is None else str(limit),
    }
    request = get(f"{_webhook(webhook_id)}/deliveries", query)
    return Operation(request, Attempts.model_validate_json)


def get_delivery(webhook_id: str, delivery_id: str) -> Operation[Delivery]:
    """Returns a delivery with its body, headers and attempts. Raises DeliveryNotFound."""
    path = f"{_webhook(webhook_id)}/deliveries/{segment(delivery_id)}"
    return Operation(get(path), Delivery.model_validate_json)


def retry_delivery(webhook_id: str, delivery_id: str) -> Operation[AcceptedDelivery]:
    """Attempts a delivery once more. Raises DeliveryNotFound, DeliveryPending, WebhookDisabled."""
    path = f"{_webhook(webhook_id)}/deliveries/{segment(delivery_id)}/retry"
    return Operation(Request("POST", path, repeatable=False), AcceptedDelivery.model_validate_json)


def recover(
    webhook_id: str, since: datetime, until: datetime | None = None
) -> Operation[Recovered]:
    """Sends again what failed for good or was cancelled, by the time of the event.

    `since` is at most 30 days back; `until` is now by default. A time without an offset is taken
    as local time. Raises WebhookDisabled.
    """
    body = {"since": moment("since", since)}
    body |= {} if until is None else {"until": moment("until", until)}
    request = Request("POST", f"{_webhook(webhook_id)}/recover", body=body, repeatable=False)
    return Operation(request, Recovered.model_validate_json)


def webhook_sources() -> Operation[tuple[str, ...]]:
    """Returns the networks that deliveries come from, in CIDR notation; may be empty."""
    return Operation(
        get("/api/webhook-sources"),
        lambda body: WebhookSources.model_validate_json(body).addresses,
    )


def _webhook(webhook_id: str) -> str:
    return f"{_WEBHOOKS}/{segment(webhook_id)}"


def _body(fields: Any) -> dict[str, Any]:
    # Of a model only what was set is sent: an empty list is a value.
    return {
        name: value.model_dump(mode="json", exclude_unset=True)
        if isinstance(value, Model)
        else value
        for name, value in fields.items()
    }
