"""Event types with the JSON Schemas of their bodies, and an invented event of each."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson
from pydantic.json_schema import models_json_schema

from common.contracts.accounts import AnnualAccounts
from common.contracts.company import Country, ProductionUnit
from common.contracts.events import (
    Change,
    EventCompany,
    EventType,
    EventWebhook,
    FailedDelivery,
    RegistryEvent,
)
from common.contracts.webhooks import EventTypeList, PublicEventType
from common.domain.countries import FORMATS

Schema = dict[str, Any]

DESCRIPTIONS: Final[Mapping[EventType, str]] = {
    EventType.COMPANY_CREATED: "A company is in the register for the first time.",
    EventType.COMPANY_UPDATED: "Facts about a company changed, such as its name or address.",
    EventType.COMPANY_STATUS_CHANGED: (
        "A company's status changed, also by bankruptcy or by its end."
    ),
    EventType.COMPANY_REMOVED: (
        "The register ordered a company removed: it is no longer kept, and data.company is null."
    ),
    EventType.COMPANY_ACCOUNTS_PUBLISHED: (
        "Annual accounts of a company were published or corrected; data.accounts has them."
    ),
    EventType.OWNERS_CHANGED: "The owners of a company changed; data.changes has both lists.",
    EventType.PRODUCTION_UNIT_CREATED: "A company has a new production unit.",
    EventType.PRODUCTION_UNIT_UPDATED: "Facts about a production unit changed.",
    EventType.PRODUCTION_UNIT_ENDED: "A production unit ended.",
    EventType.EINVOICING_CHANGED: (
        "The e-invoicing identifiers of a company changed; data.changes has both lists."
    ),
    EventType.WEBHOOK_TEST: "A test requested by the owner of the webhook; data is empty.",
    EventType.WEBHOOK_FAILING: (
        "A delivery of another webhook of yours failed three times; at most one a day for each."
    ),
    EventType.WEBHOOK_DISABLED: "Another webhook of yours was disabled by its failures or a 410.",
}

#: A member that is absent unless it says something.
_OPTIONAL: Final = {"Change": {"partial"}}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Types that are about a webhook and no company.
_OF_WEBHOOKS: Final = frozenset(
    {EventType.WEBHOOK_TEST, EventType.WEBHOOK_FAILING, EventType.WEBHOOK_DISABLED}
)
_DIGITS: Final = sorted(formats.vat_digits for formats in FORMATS.values())
_VAT: Final = f"^[0-9]{{{_DIGITS[0]},{_DIGITS[-1]}}}$"
_NULL: Final[Schema] = {"type": "null"}


def event_types() -> EventTypeList:
    """Returns all event types, in the specification's order."""
    examples = _examples()
    return EventTypeList(
        event_types=tuple(
            PublicEventType(
                name=event_type,
                description=DESCRIPTIONS[event_type],
                body_schema=_body(event_type),
                example=examples[event_type],
            )
            for event_type in EventType
        )
    )


def _body(event_type: EventType) -> Schema:
    of_company = event_type not in _OF_WEBHOOKS
    schema = {
        "$schema": _DIALECT,
        "title": event_type.value,
        **_object(
            id={"type": "string", "format": "uuid"},
            type={"const": event_type.value},
            occurred_at={"type": "string", "format": "date-time"},
            country={"enum": [country.value for country in Country]} if of_company else _NULL,
            vat={"type": "string", "pattern": _VAT} if of_company else _NULL,
            revision={"type": "integer", "minimum": 1} if of_company else _NULL,
            data=_data(event_type),
        ),
    }
    used = _used(schema, _definitions())
    return {**schema, "$defs": used} if used else schema


def _data(event_type: EventType) -> Schema:
    match event_type:
        case EventType.WEBHOOK_TEST:
            return _object()
        case EventType.WEBHOOK_FAILING:
            return _object(
                webhook=_reference("EventWebhook"), delivery=_reference("FailedDelivery")
            )
        case EventType.WEBHOOK_DISABLED:
            return _object(webhook=_reference("EventWebhook"))
        case _:
            return _data_of_company(event_type)


def _data_of_company(event_type: EventType) -> Schema:
    is_removed = event_type is EventType.COMPANY_REMOVED
    parts = {
        "company": _NULL if is_removed else _reference("EventCompany"),
        "changes": {"type": "array", "items": _reference("Change")},
    }
    if event_type.startswith("production_unit."):
        parts["production_unit"] = _reference("ProductionUnit")
    if event_type is EventType.COMPANY_ACCOUNTS_PUBLISHED:
        parts["accounts"] = _reference("AnnualAccounts")
    return _object(**parts)


def _used(schema: Schema, definitions: Schema) -> Schema:
    used: Schema = {}
    texts = [str(schema)]
    while texts:
        text = texts.pop()
        for name, part in definitions.items():
            if name not in used and f"'#/$defs/{name}'" in text:
                used[name] = part
                texts.append(str(part))
    return used


@cache
def _definitions() -> Schema:
    _, schemas = models_json_schema(
        [
            (model, "serialization")
            for model in (
                EventCompany,
                Change,
                ProductionUnit,
                AnnualAccounts,
                EventWebhook,
                FailedDelivery,
            )
        ],
        ref_template="#/$defs/{model}",
    )
    return {
        name: {**part, "required": _required(name, part)} if "properties" in part else part
        for name, part in schemas["$defs"].items()
    }


def _required(name: str, part: Schema) -> list[str]:
    return [each for each in part["properties"] if each not in _OPTIONAL.get(name, ())]


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _examples() -> Mapping[EventType, dict[str, Any]]:
    folder = files("webhook_registry") / "examples"
    return {
        event_type: orjson.loads((folder / f"{event_type.value}.json").read_bytes())
        for event_type in EventType
    }


def example_events() -> Mapping[EventType, RegistryEvent]:
    """Returns an invented event of each type, read from the package's files."""
    return {
        # Without data, `data` is an empty object.
        event_type: RegistryEvent.model_validate({**document, "data": document["data"] or None})
        for event_type, document in _examples().items()
    }
