"""The operations of webhooks."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from common.contracts.webhooks import AttemptStatus, Operation
from gateway.adapters.http.openapi.responses import (
    headers,
    json_body,
    json_content,
    problem_answers,
    ref,
)
from gateway.adapters.http.openapi.webhook_examples import (
    ATTEMPT,
    DELIVERY_ID,
    EVENT_TYPE,
    NEW_WEBHOOK,
    WEBHOOK,
    WEBHOOK_WITH_SECRET,
)
from gateway.adapters.http.webhooks import (
    ENDPOINTS,
    IDEMPOTENCY_KEY,
    IDEMPOTENCY_REPLAYED,
    STATUS,
    Endpoint,
)
from gateway.domain import problems
from gateway.domain.problems import Problem

Node = dict[str, Any]

#: Problems of each operation with a key.
_ALWAYS = (
    problems.Unauthorized,
    problems.Forbidden,
    problems.RateLimited,
    problems.InternalError,
    problems.ServiceUnavailable,
)
_WITH_BODY = (problems.InvalidBody, problems.BodyTooLarge, problems.UnsupportedMediaType)


@dataclass(frozen=True, slots=True)
class About:
    """Description of an operation."""

    id: str
    summary: str
    status: int
    answer: str
    #: The schema of the answer, and an example; none where there is no body.
    schema: str | None = None
    example: Any = None
    problems: tuple[type[Problem], ...] = ()
    #: The schema of the body, and an example.
    body: str | None = None
    body_example: Any = None


_ABOUT: Final[Mapping[Operation, About]] = {
    Operation.CREATE: About(
        "createWebhook",
        "Register a URL for events",
        201,
        "The webhook with its secret, shown only once. A repeat under the same "
        "`Idempotency-Key` gets it without the secret.",
        "CreatedWebhook",
        WEBHOOK_WITH_SECRET,
        (
            problems.InvalidParameter,
            problems.WebhookLimitReached,
            problems.IdempotencyConflict,
            *_WITH_BODY,
        ),
        body="NewWebhook",
        body_example=NEW_WEBHOOK,
    ),
    Operation.LIST: About(
        "listWebhooks",
        "List your webhooks",
        200,
        "The webhooks, newest first.",
        "WebhookList",
        {"webhooks": [WEBHOOK]},
    ),
    Operation.GET: About(
        "showWebhook",
        "Show a webhook",
        200,
        "The webhook.",
        "Webhook",
        WEBHOOK,
        (problems.WebhookNotFound,),
    ),
    Operation.CHANGE: About(
        "changeWebhook",
        "Change a webhook, or disable it, or enable it again",
        200,
        "The updated webhook; fields missing from the body are unchanged.",
        "Webhook",
        WEBHOOK,
        (problems.WebhookNotFound, problems.WebhookDisabled, *_WITH_BODY),
        body="WebhookChanges",
        body_example={"status": "enabled"},
    ),
    Operation.DELETE: About(
        "deleteWebhook",
        "Delete a webhook",
        204,
        "Deleted; pending deliveries are not sent.",
        problems=(problems.WebhookNotFound,),
    ),
    Operation.ROTATE_SECRET: About(
        "rotateSecret",
        "Give a webhook a new secret",
        200,
        "The webhook, with the new secret that is shown this once. For 24 hours the old one signs "
        "too, in `X-Signature-Previous`.",
        "WebhookWithSecret",
        WEBHOOK_WITH_SECRET,
        (problems.WebhookNotFound,),
    ),
    Operation.TEST: About(
        "testWebhook",
        "Send a test event",
        202,
        "The test event is queued.",
        "AcceptedDelivery",
        {"delivery_id": DELIVERY_ID},
        (
            problems.InvalidParameter,
            problems.WebhookNotFound,
            problems.WebhookDisabled,
            problems.IdempotencyConflict,
            problems.BodyTooLarge,
            problems.UnsupportedMediaType,
        ),
    ),
    Operation.DELIVERIES: About(
        "listDeliveries",
        "List the last 50 attempts to deliver",
        200,
        "The attempts, newest first.",
        "AttemptList",
        {"deliveries": [ATTEMPT]},
        (problems.InvalidParameter, problems.WebhookNotFound),
    ),
    Operation.RETRY: About(
        "retryDelivery",
        "Retry a finished delivery",
        202,
        "One more attempt is queued, with the same id.",
        "AcceptedDelivery",
        {"delivery_id": DELIVERY_ID},
        (
            problems.WebhookNotFound,
            problems.DeliveryNotFound,
            problems.WebhookDisabled,
            problems.DeliveryPending,
        ),
    ),
    Operation.RECOVER: About(
        "recoverDeliveries",
        "Resend failed or cancelled deliveries",
        202,
        "The number of deliveries sent again, each with all its retries.",
        "Recovered",
        {"count": 7},
        (problems.WebhookNotFound, problems.WebhookDisabled, *_WITH_BODY),
        body="RecoverWindow",
        body_example={"since": "2026-03-01T00:00:00Z"},
    ),
    Operation.EVENT_TYPES: About(
        "listEventTypes",
        "List the event types",
        200,
        "The event types, each with the JSON Schema of its body.",
        "EventKindList",
        {"event_types": [EVENT_TYPE]},
    ),
}


def webhook_paths() -> Node:
    paths: defaultdict[str, Node] = defaultdict(dict)
    for endpoint in ENDPOINTS:
        paths[endpoint.path][endpoint.method.lower()] = _operation(endpoint)
    return dict(paths)


def webhook_parameters() -> Node:
    return {
        "webhook_id": _path_parameter("id", "The webhook's `id`.", WEBHOOK["id"]),
        "delivery_id": _path_parameter("delivery_id", "As in `X-Delivery-Id`.", DELIVERY_ID),
        IDEMPOTENCY_KEY: {
            "name": IDEMPOTENCY_KEY,
            "in": "header",
            "description": "Any text, such as a UUID, unique to each request. A repeat has no "
            "effect and gets the stored answer, which is kept for 24 hours.",
            "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        },
        STATUS: {
            "name": STATUS,
            "in": "query",
            "description": "List cancelled deliveries instead of attempts.",
            "schema": {"type": "string", "enum": [AttemptStatus.CANCELLED.value]},
        },
    }


def _operation(endpoint: Endpoint) -> Node:
    about = _ABOUT[endpoint.operation]
    is_open = endpoint.operation is Operation.EVENT_TYPES
    # Operations without a key have no 403.
    always = tuple(kind for kind in _ALWAYS if not (is_open and kind is problems.Forbidden))
    node: Node = {
        "operationId": about.id,
        "summary": about.summary,
        "tags": ["Webhooks"],
        "parameters": _parameters(endpoint),
        "responses": {
            str(about.status): _success(about, endpoint),
            **problem_answers(*always, *about.problems),
        },
    }
    if not is_open:
        node["security"] = [{"bearer": []}, {"header": []}]
    if about.body is not None:
        node["requestBody"] = json_body(about.body, about.body_example)
    return node


def _success(about: About, endpoint: Endpoint) -> Node:
    names = ["Cache-Control"]
    if endpoint.operation is Operation.CREATE:
        names.append("Location")
    if endpoint.takes_key:
        names.append(IDEMPOTENCY_REPLAYED)
    answer: Node = {"description": about.answer, "headers": headers(*names)}
    if about.schema is not None:
        answer["content"] = json_content(about.schema, about.example)
    return answer


def _parameters(endpoint: Endpoint) -> list[Node]:
    is_named = {
        "webhook_id": "{id}" in endpoint.path,
        "delivery_id": "{delivery_id}" in endpoint.path,
        IDEMPOTENCY_KEY: endpoint.takes_key,
        STATUS: endpoint.operation is Operation.DELIVERIES,
    }
    return [ref("parameters", name) for name, is_there in is_named.items() if is_there]


def _path_parameter(name: str, description: str, example: str) -> Node:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string"},
        "example": example,
    }
