"""Webhook examples of the OpenAPI document; all data is invented."""

from typing import Any

WEBHOOK: dict[str, Any] = {
    "id": "wh_0e9d6c8f8a0e4f4c9d575a3c8f2b1d10",
    "url": "https://hooks.example.com/registry",
    "events": ["company.updated", "owners.*"],
    "filter": {"countries": ["dk"], "companies": ["dk:12345674"]},
    "description": "nightly sync",
    "status": "enabled",
    "disabled_at": None,
    "disabled_reason": None,
    "created_at": "2026-03-02T12:00:00.000Z",
    "updated_at": "2026-03-02T12:00:00.000Z",
}

WEBHOOK_WITH_SECRET = {
    **WEBHOOK,
    "secret": "whsec_aW52ZW50ZWQgZm9yIHRoaXMgZXhhbXBsZSBhbG9uZSE=",
}

NEW_WEBHOOK = {name: WEBHOOK[name] for name in ("url", "events", "filter", "description")}

DELIVERY_ID = "9b1d6c8f-8a0e-5f4c-9d57-5a3c8f2b1d10"

ATTEMPT: dict[str, Any] = {
    "delivery_id": DELIVERY_ID,
    "event_id": "7e9d6c8f-8a0e-5f4c-9d57-5a3c8f2b1d10",
    "event_type": "company.updated",
    "attempt": 2,
    "status": "failed",
    "response_code": 500,
    "error": "http_status",
    "duration_ms": 12,
    "attempted_at": "2026-03-02T12:01:00.000Z",
    "next_attempt_at": "2026-03-02T12:06:00.000Z",
}

EVENT: dict[str, Any] = {
    "id": "7e9d6c8f-8a0e-5f4c-9d57-5a3c8f2b1d10",
    "type": "webhook.test",
    "occurred_at": "2026-03-02T12:00:00.000Z",
    "country": None,
    "vat": None,
    "revision": None,
    "data": {},
}

EVENT_TYPE: dict[str, Any] = {
    "name": "webhook.test",
    "description": "A test that the webhook's owner asked for; `data` is empty.",
    "schema": {"type": "object"},
}
