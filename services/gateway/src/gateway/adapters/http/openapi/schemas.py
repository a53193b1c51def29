"""JSON Schemas of responses, generated from the contracts."""

from collections.abc import Mapping
from typing import Any

from common.contracts.company import CompanyAnswer, Include
from common.contracts.lookup import SearchType
from gateway.adapters.http.errors import STATUS

Schema = dict[str, Any]

REF = "#/components/schemas/{model}"

#: Descriptions of fields.
_FIELDS: Mapping[tuple[str, str], Schema] = {
    ("Company", "vat"): {
        "description": "Registration number: 8 digits in Denmark, 9 in Norway. Leading zeros "
        "count; never make it a number.",
        "pattern": "^[0-9]{8,9}$",
    },
    ("Company", "trade_names"): {"description": "Trade names (binavne)."},
    ("Company", "former_names"): {"description": "Former names."},
    ("Company", "status_text"): {"description": "The register's own word for the status."},
    ("Company", "founded"): {
        "description": "Null where the register has no date of foundation; see `registered`.",
        "format": "date",
    },
    ("Company", "registered"): {
        "description": "The day it was entered in the Norwegian register; null in Denmark.",
        "format": "date",
    },
    ("Company", "vat_registered"): {
        "description": "Whether it is in Norway's VAT register; null in Denmark, whose register "
        "does not record it."
    },
    ("Company", "accounts"): {
        "description": "The year of the last annual accounts that were filed, in Norway.",
        "examples": ["2024"],
    },
    ("Company", "parent"): {
        "description": "Registration number of the entity that it is a part of, such as a "
        "ministry; given in Norway only.",
    },
    ("Company", "ended"): {"format": "date"},
    ("Company", "advertising_protected"): {
        "description": "Whether it has opted out of advertising; null in Norway, whose "
        "register does not record it."
    },
    ("Company", "revision"): {"description": "Counts the stored changes of the company from 1."},
    ("Company", "owners"): {
        "description": "Only with `include=owners`; null where the register keeps none. Norway's "
        "has no shareholders, so an AS or ASA has null; it keeps sole proprietors, partners, "
        "co-owners and owning municipalities."
    },
    ("Company", "roles"): {
        "description": "Only with `include=roles`; null where none were read. The direction, the "
        "board, the auditor and, in Norway, the accountant."
    },
    ("Company", "production_units"): {
        "description": "Only with `include=production_units`; the main one comes first. Of a "
        "Danish unit that only the company's own record lists, everything but the number is null."
    },
    ("Company", "einvoicing"): {"description": "Only with `include=einvoicing`."},
    ("Company", "alternatives"): {
        "description": "Only with `include=alternatives`: other companies that match a search by "
        "name, address or phone number, best first; empty for other searches.",
        "maxItems": 5,
    },
    ("Alternative", "vat"): {"description": "Registration number.", "pattern": "^[0-9]{8,9}$"},
    ("Alternative", "name"): {"description": "The current name, also where another matches."},
    ("Alternative", "score"): {
        "description": "100 is an exact match.",
        "minimum": 0,
        "maximum": 100,
    },
    ("Address", "street"): {"description": "Street, house number, floor and door."},
    ("Address", "district"): {"description": "The supplementary town (CVR bynavn)."},
    ("Address", "country"): {"description": "ISO 3166 alpha-2, upper case."},
    ("Address", "text"): {"description": "The whole address on one line."},
    ("Employees", "max"): {"description": "Absent in an open class, such as 1000 or more."},
    ("Owner", "vat"): {"description": "Of an owner that is a company of the same register."},
    ("Owner", "role"): {"description": "Kind of ownership, the same codes in both countries."},
    ("Owner", "role_text"): {"description": "The register's own word."},
    ("Owner", "since"): {"format": "date"},
    ("Role", "role_text"): {"description": "The register's own word."},
    ("Role", "vat"): {"description": "Of a company of the same register."},
    ("Role", "since"): {"description": "Null in Norway.", "format": "date"},
    ("Share", "min"): {"description": "Percent, a decimal number."},
    ("Share", "max"): {"description": "Percent, a decimal number."},
    ("ProductionUnit", "started"): {"format": "date"},
    ("ProductionUnit", "ended"): {"format": "date"},
    ("EinvoicingEntry", "identifier"): {"description": "`<scheme>:<value>`."},
    ("EinvoicingEntry", "scheme"): {"description": "ISO 6523 code, such as 0184."},
    ("Match", "type"): {
        "description": "The search type that matched; with `search`, the inferred one.",
        "enum": [kind.value for kind in SearchType],
    },
    ("Match", "score"): {"description": "100 is an exact match.", "minimum": 0, "maximum": 100},
    ("Match", "matched_name"): {
        "description": "The name that matched, when it is a trade name or a former one."
    },
    ("Source", "updated_at"): {
        "description": "When the register last changed it, by the register's own word.",
        "format": "date-time",
    },
}

#: Included lists that are null where the register has no data.
_NULLABLE: frozenset[str] = frozenset({Include.OWNERS, Include.ROLES})


def schemas() -> dict[str, Schema]:
    """Components by name: the company, its parts, and the problem."""
    answer = CompanyAnswer.model_json_schema(mode="serialization", ref_template=REF)
    parts = answer.pop("$defs")
    parts["Company"] = answer
    named = {name: tidied(name, schema, _FIELDS) for name, schema in sorted(parts.items())}
    return {**named, "Problem": _problem()}


def tidied(name: str, schema: Schema, about: Mapping[tuple[str, str], Schema]) -> Schema:
    """A contract's published schema, with the descriptions `about` its fields."""
    kept = {key: value for key, value in schema.items() if key not in ("title", "description")}
    if "properties" in kept:
        kept["properties"] = {
            field: _field(part) | about.get((name, field), {})
            for field, part in schema["properties"].items()
        }
        # Every field is required, except those of `include`.
        asked_for = set(Include) if name == "Company" else set()
        kept["required"] = [field for field in schema["properties"] if field not in asked_for]
        for field in asked_for - _NULLABLE:
            kept["properties"][field]["type"] = "array"
    return kept


def _field(schema: Schema) -> Schema:
    kept = {key: value for key, value in schema.items() if key not in ("title", "default")}
    options = kept.get("anyOf", [])
    nullable = {"type": "null"} in options
    if nullable and len(options) == 2:
        (kind,) = (option for option in options if option != {"type": "null"})
        if "type" in kind and "enum" not in kind:
            del kept["anyOf"]
            kept |= {**kind, "type": [kind["type"], "null"]}
    return kept


def _problem() -> Schema:
    return {
        "type": "object",
        "description": "RFC 9457 problem details.",
        "required": ["type", "title", "status", "detail", "code", "request_id"],
        "properties": {
            "type": {"type": "string", "description": "`urn:problem:` and the code with dashes."},
            "title": {"type": "string"},
            "status": {"type": "integer", "description": "The HTTP status."},
            "detail": {"type": "string", "description": "Description for humans."},
            "code": {
                "type": "string",
                "description": "Machine-readable cause.",
                "enum": [kind.code for kind in STATUS],
            },
            "request_id": {"type": "string", "description": "As in `X-Request-Id`."},
            "errors": {
                "type": "array",
                "description": "Every error in the input.",
                "items": {
                    "type": "object",
                    "required": ["parameter", "message"],
                    "properties": {
                        "parameter": {"type": "string"},
                        "message": {"type": "string"},
                    },
                },
            },
        },
    }
