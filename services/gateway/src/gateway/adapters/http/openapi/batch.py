"""OpenAPI of batch lookups: operation and schemas."""

from typing import Any, Final

from common.contracts.company import Country, Include
from gateway.adapters.http.batch import BATCH_PATH
from gateway.adapters.http.bodies import JSON
from gateway.adapters.http.errors import problem_document
from gateway.adapters.http.openapi.examples import COMPANY, REQUEST_ID
from gateway.adapters.http.openapi.lookups import TERMS
from gateway.adapters.http.openapi.responses import headers, problem_answers, ref
from gateway.adapters.http.openapi.schemas import Schema
from gateway.domain import problems
from gateway.domain.batch import LOOKUPS, MAX_LOOKUPS
from gateway.domain.query import INCLUDE, SEARCH
from gateway.domain.reading import COUNTRY

Node = dict[str, Any]

_PROBLEMS: Final = (
    problems.InvalidBody,
    problems.Unauthorized,
    problems.Forbidden,
    problems.BodyTooLarge,
    problems.UnsupportedMediaType,
    problems.RateLimited,
    problems.InternalError,
    problems.ServiceUnavailable,
)

BATCH: Final[Node] = {
    LOOKUPS: [
        {COUNTRY: Country.DK.value, "vat": COMPANY["vat"], INCLUDE: [Include.OWNERS.value]},
        {COUNTRY: Country.NO.value, "name": "Ingen Testesen"},
    ]
}

_NOT_FOUND = problems.CompanyNotFound("no company in the register matches")

RESULTS: Final[Node] = {
    "results": [
        {"company": {**COMPANY, "owners": []}},
        {"problem": problem_document(_NOT_FOUND, REQUEST_ID)},
    ]
}


def batch_paths() -> Node:
    operation = {
        "operationId": "lookUpAll",
        "summary": "Look up many companies at once",
        "tags": ["Lookups"],
        "security": [{"bearer": []}, {"header": []}],
        "requestBody": {"required": True, "content": _content("Batch", BATCH)},
        "responses": {
            "200": {
                "description": "A result for each lookup, in their order: the company, or the "
                "problem of that lookup.",
                "headers": headers("Cache-Control"),
                "content": _content("BatchResults", RESULTS),
            },
            **problem_answers(*_PROBLEMS),
        },
    }
    return {BATCH_PATH: {"post": operation}}


def batch_schemas() -> dict[str, Schema]:
    return {
        "Batch": {
            "type": "object",
            "additionalProperties": False,
            "required": [LOOKUPS],
            "properties": {LOOKUPS: _listed("BatchLookup") | {"maxItems": MAX_LOOKUPS}},
        },
        "BatchLookup": {
            "type": "object",
            "description": "Parameters as of a single lookup; `null` members are ignored. "
            "`country` and exactly one search are needed. An invalid value "
            "is a problem of this lookup alone.",
            "additionalProperties": False,
            "properties": _parameters(),
        },
        "BatchResults": {
            "type": "object",
            "required": ["results"],
            "properties": {"results": _listed("BatchResult")},
        },
        "BatchResult": {
            "type": "object",
            "description": "One of the two.",
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {
                "company": ref("schemas", "Company"),
                "problem": ref("schemas", "Problem"),
            },
        },
    }


def _parameters() -> Schema:
    searches = {kind.value: about for kind, (about, _) in TERMS.items()}
    texts = {
        COUNTRY: "The register to search: `dk` or `no`.",
        **searches,
        SEARCH: "Any of the above; its type is inferred.",
    }
    include = "Additional fields of the answer: " + ", ".join(f"`{each}`" for each in Include) + "."
    return {
        **{
            name: {"type": ["string", "null"], "description": about}
            for name, about in texts.items()
        },
        INCLUDE: {
            "description": include + " A list, or one text with commas.",
            "type": ["array", "string", "null"],
            "items": {"type": "string"},
        },
    }


def _listed(name: str) -> Schema:
    return {"type": "array", "minItems": 1, "items": ref("schemas", name)}


def _content(schema: str, example: Node) -> Node:
    return {JSON: {"schema": ref("schemas", schema), "example": example}}
