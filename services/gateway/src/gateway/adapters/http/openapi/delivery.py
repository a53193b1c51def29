"""OpenAPI of the request to a webhook's receiver."""

from typing import Any

from gateway.adapters.http.openapi.responses import json_body
from gateway.adapters.http.openapi.webhook_examples import EVENT

Node = dict[str, Any]


def delivery() -> Node:
    """The webhook request of the OpenAPI document."""
    return {
        "operationId": "delivery",
        "summary": "An event, sent to the webhook's URL",
        "tags": ["Webhooks"],
        "security": [{}],
        "parameters": [
            _header("X-Timestamp", "Unix seconds, new for each attempt.", "^[0-9]{10}$"),
            _header("X-Delivery-Id", "The same for every attempt.", "^[0-9a-f-]{36}$"),
            _header(
                "X-Signature",
                "HMAC-SHA256 of timestamp, delivery id and body, with the secret as key.",
                "^[0-9a-f]{64}$",
            ),
            _header(
                "X-Signature-Previous",
                "The same with the secret that was replaced in the last 24 hours.",
                "^[0-9a-f]{64}$",
                required=False,
            ),
        ],
        "requestBody": json_body("Event", EVENT),
        "responses": {
            "2XX": {"description": "Received."},
            "410": {"description": "Gone: the webhook is disabled."},
            "default": {"description": "Failed: the delivery is retried."},
        },
    }


def _header(name: str, description: str, pattern: str, *, required: bool = True) -> Node:
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": {"type": "string", "pattern": pattern},
    }
