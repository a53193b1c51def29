"""JSON Schemas of webhooks: responses, generated from the contracts, and request bodies."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from common.contracts.company import Country
from common.contracts.contract import Contract
from common.contracts.events import EventType
from common.contracts.webhooks import (
    AcceptedDelivery,
    AttemptList,
    EventTypeList,
    PublicAttempt,
    PublicEventType,
    PublicWebhook,
    Recovered,
    WebhookFilter,
    WebhookList,
    WebhookStatus,
    WebhookWithSecret,
)
from gateway.adapters.http.openapi.schemas import REF, Schema, tidied

#: Contracts of the responses, by published name.
_ANSWERS: Final[Mapping[str, type[Contract]]] = {
    "Webhook": PublicWebhook,
    "WebhookWithSecret": WebhookWithSecret,
    "WebhookFilter": WebhookFilter,
    "WebhookList": WebhookList,
    "Attempt": PublicAttempt,
    "AttemptList": AttemptList,
    "AcceptedDelivery": AcceptedDelivery,
    "Recovered": Recovered,
    "EventKind": PublicEventType,
    "EventKindList": EventTypeList,
}

_PUBLISHED: Final = {kind.__name__: name for name, kind in _ANSWERS.items()}

_TIME: Final[Schema] = {"format": "date-time"}

#: Descriptions of fields.
_FIELDS: Final[Mapping[tuple[str, str], Schema]] = {
    ("Webhook", "events"): {"description": "Event types, families (`company.*`) or `*`."},
    ("Webhook", "disabled_at"): _TIME,
    ("Webhook", "created_at"): _TIME,
    ("Webhook", "updated_at"): _TIME,
    ("WebhookWithSecret", "secret"): {
        "description": "Signs the deliveries. It is shown only once.",
        "pattern": "^whsec_",
    },
    ("WebhookFilter", "countries"): {"description": "Empty: both."},
    ("WebhookFilter", "companies"): {
        "description": "Country and registration number, `dk:12345674`. Empty: all."
    },
    ("Attempt", "delivery_id"): {"description": "As in `X-Delivery-Id`.", "format": "uuid"},
    ("Attempt", "event_id"): {"format": "uuid"},
    ("Attempt", "attempt"): {"description": "Counts from 1.", "minimum": 0},
    ("Attempt", "response_code"): {"description": "The status that the receiver answered with."},
    ("Attempt", "error"): {
        "description": "Cause of the failure: `timeout`, `dns`, `connection_refused`, `tls`, "
        "`blocked_address`, `invalid_response`, `http_status`, `redirect`, `webhook_disabled`, …"
    },
    ("Attempt", "attempted_at"): _TIME,
    ("Attempt", "next_attempt_at"): _TIME,
    ("EventKind", "schema"): {"description": "JSON Schema of the delivery's body."},
}

_DESCRIPTION: Final[Schema] = {"type": ["string", "null"], "maxLength": 500}

_URL: Final[Schema] = {
    "type": "string",
    "description": "The receiver's URL: `https`, without credentials or fragment, a host "
    "that is neither local nor private.",
    "maxLength": 2048,
    "pattern": "^[hH][tT][tT][pP][sS]://",
}

#: Each event type, each family, and all of them.
_PATTERNS = (
    *EventType,
    *dict.fromkeys(f"{kind.partition('.')[0]}.*" for kind in EventType),
    "*",
)

_EVENTS: Final[Schema] = {
    "type": "array",
    "description": "Subscriptions: event types, families (`company.*`) or `*`.",
    "minItems": 1,
    "items": {"type": "string", "enum": list(_PATTERNS)},
}

_FILTER: Final[Schema] = {
    "type": ["object", "null"],
    "description": "Selects companies; both lists must match, and an empty one matches all.",
    "additionalProperties": False,
    "properties": {
        "countries": {
            "type": ["array", "null"],
            "items": {"type": "string", "enum": list(Country)},
        },
        "companies": {
            "type": ["array", "null"],
            "maxItems": 1000,
            "items": {"type": "string", "pattern": "^(dk:[0-9]{8}|no:[0-9]{9})$"},
        },
    },
}


def webhook_schemas() -> dict[str, Schema]:
    """Components by name: responses, bodies, and the delivered event."""
    return {**_answers(), **_bodies(), "Event": _event()}


def _answers() -> dict[str, Schema]:
    _, generated = models_json_schema(
        [(kind, "serialization") for kind in _ANSWERS.values()], ref_template=REF
    )
    named = {_PUBLISHED.get(name, name): part for name, part in generated["$defs"].items()}
    of_both = {field: words for (name, field), words in _FIELDS.items() if name == "Webhook"}
    about = {**_FIELDS, **{("WebhookWithSecret", field): of_both[field] for field in of_both}}
    answers = {name: tidied(name, _renamed(part), about) for name, part in named.items()}
    whole = answers["WebhookWithSecret"]
    # The answer to a repeated creation has no secret.
    return {**answers, "CreatedWebhook": {**whole, "required": answers["Webhook"]["required"]}}


def _renamed(node: Any) -> Any:
    """References to contracts by their published names."""
    match node:
        case {"$ref": str(target)}:
            name = target.rpartition("/")[2]
            return {"$ref": REF.format(model=_PUBLISHED.get(name, name))}
        case dict():
            return {key: _renamed(value) for key, value in node.items()}
        case list():
            return [_renamed(each) for each in node]
        case _:
            return node


def _bodies() -> dict[str, Schema]:
    given = {"url": _URL, "events": _EVENTS, "filter": _FILTER, "description": _DESCRIPTION}
    status = {"type": "string", "enum": list(WebhookStatus)}
    moment = {"type": "string", "format": "date-time"}
    return {
        "NewWebhook": _body(given, required=("url", "events")),
        "WebhookChanges": _body({**given, "status": status}),
        "RecoverWindow": _body(
            {
                "since": {
                    **moment,
                    "description": "Start of the period; at most 30 days ago.",
                },
                "until": {
                    "type": ["string", "null"],
                    "format": "date-time",
                    "description": "End of the period; now by default.",
                },
            },
            required=("since",),
        ),
    }


def _body(properties: dict[str, Schema], *, required: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def _event() -> Schema:
    fields: dict[str, Schema] = {
        "id": {"type": "string", "format": "uuid"},
        "type": {"type": "string", "enum": list(EventType)},
        "occurred_at": {"type": "string", "format": "date-time"},
        "country": {"anyOf": [{"$ref": REF.format(model="Country")}, {"type": "null"}]},
        "vat": {"type": ["string", "null"]},
        "revision": {
            "type": ["integer", "null"],
            "description": "Raised by each change of a company; the greater one is the newer.",
        },
        "data": {
            "type": "object",
            "description": "`GET /api/event-types` describes the fields of each type.",
        },
    }
    return {"type": "object", "required": list(fields), "properties": fields}
