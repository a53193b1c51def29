"""Event types with the JSON Schemas of their bodies."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from common.contracts.company import Country, ProductionUnit
from common.contracts.events import Change, EventCompany, EventType
from common.contracts.webhooks import EventTypeList, PublicEventType

Schema = dict[str, Any]

DESCRIPTIONS: Final[Mapping[EventType, str]] = {
    EventType.COMPANY_CREATED: "A company is in the register for the first time.",
    EventType.COMPANY_UPDATED: "Facts about a company changed, such as its name or address.",
    EventType.COMPANY_STATUS_CHANGED: (
        "A company's status changed, also by bankruptcy or by its end."
    ),
    EventType.COMPANY_REMOVED: (
        "The register ordered a company removed: it is no longer kept, and `data.company` is null."
    ),
    EventType.OWNERS_CHANGED: "The owners of a company changed; `data.changes` has both lists.",
    EventType.PRODUCTION_UNIT_CREATED: "A company has a new production unit.",
    EventType.PRODUCTION_UNIT_UPDATED: "Facts about a production unit changed.",
    EventType.PRODUCTION_UNIT_ENDED: "A production unit ended.",
    EventType.EINVOICING_CHANGED: (
        "The e-invoicing identifiers of a company changed; `data.changes` has both lists."
    ),
    EventType.WEBHOOK_TEST: "A test that the webhook's owner asked for; `data` is empty.",
}

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NULL: Final[Schema] = {"type": "null"}


def event_types() -> EventTypeList:
    """All event types, in the specification's order."""
    return EventTypeList(
        event_types=tuple(
            PublicEventType(name=kind, description=DESCRIPTIONS[kind], body_schema=_body(kind))
            for kind in EventType
        )
    )


def _body(kind: EventType) -> Schema:
    is_test = kind is EventType.WEBHOOK_TEST
    schema = {
        "$schema": _DIALECT,
        "title": kind.value,
        **_object(
            id={"type": "string", "format": "uuid"},
            type={"const": kind.value},
            occurred_at={"type": "string", "format": "date-time"},
            country=_NULL if is_test else {"enum": [country.value for country in Country]},
            vat=_NULL if is_test else {"type": "string", "pattern": "^[0-9]{8,9}$"},
            revision=_NULL if is_test else {"type": "integer", "minimum": 1},
            data=_object() if is_test else _data(kind),
        ),
    }
    return schema if is_test else {**schema, "$defs": _definitions()}


def _data(kind: EventType) -> Schema:
    is_removed = kind is EventType.COMPANY_REMOVED
    parts = {
        "company": _NULL if is_removed else _reference("EventCompany"),
        "changes": {"type": "array", "items": _reference("Change")},
    }
    if kind.startswith("production_unit."):
        parts["production_unit"] = _reference("ProductionUnit")
    return _object(**parts)


@cache
def _definitions() -> Schema:
    """Schemas of the body parts, in which every field is required."""
    _, schemas = models_json_schema(
        [(model, "serialization") for model in (EventCompany, Change, ProductionUnit)],
        ref_template="#/$defs/{model}",
    )
    return {
        name: {**part, "required": list(part["properties"])} if "properties" in part else part
        for name, part in schemas["$defs"].items()
    }


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
