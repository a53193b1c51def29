"""OpenAPI of suggestions: operation and schemas."""

from collections.abc import Mapping
from typing import Any, Final

from common.contracts.lookup import MAX_SUGGESTIONS, SuggestionList
from gateway.adapters.http.openapi.examples import COMPANY
from gateway.adapters.http.openapi.lookups import options
from gateway.adapters.http.openapi.responses import headers, problem_answers, ref
from gateway.adapters.http.openapi.schemas import REF, Schema, tidied
from gateway.adapters.http.suggesting import SUGGEST_PATH
from gateway.domain import problems
from gateway.domain.query import TERM
from gateway.domain.reading import COUNTRY
from gateway.domain.search import NAME_LENGTH
from gateway.domain.suggesting import DEFAULT_LIMIT, LIMIT

Node = dict[str, Any]

_PROBLEMS: Final = (
    problems.MissingParameter,
    problems.InvalidParameter,
    problems.Unauthorized,
    problems.Forbidden,
    problems.RateLimited,
    problems.InternalError,
    problems.ServiceUnavailable,
    problems.LookupTimeout,
)

SUGGESTION: Final[Node] = {
    "vat": COMPANY["vat"],
    "name": COMPANY["name"],
    "city": COMPANY["address"]["city"],
    "status": COMPANY["status"],
    "score": 95,
}

_FIELDS: Final[Mapping[tuple[str, str], Schema]] = {
    ("SuggestionList", "suggestions"): {
        "description": "Best first, each company once.",
        "maxItems": MAX_SUGGESTIONS,
    },
    ("Suggestion", "vat"): {"description": "Registration number.", "pattern": "^[0-9]{8,9}$"},
    ("Suggestion", "name"): {
        "description": "The current name, also where a trade name or a former one fits."
    },
    ("Suggestion", "score"): {
        "description": "How the text matches: 100 a whole name, 95 its beginning, 85 the "
        "beginnings of its words, below that all but a typo. A little less for names that are not "
        "the current one.",
        "minimum": 0,
        "maximum": 100,
    },
}


def suggestion_paths() -> Node:
    operation = {
        "operationId": "suggest",
        "summary": "Suggest companies while a name is typed",
        "tags": ["Lookups"],
        "parameters": [ref("parameters", COUNTRY), _typed(), _limit()],
        "responses": {
            "200": {
                "description": "The matching companies; may be empty.",
                "headers": headers("Cache-Control"),
                "content": {
                    "application/json": {
                        "schema": ref("schemas", "SuggestionList"),
                        "example": {"suggestions": [SUGGESTION]},
                    }
                },
            },
            **problem_answers(*_PROBLEMS),
        },
    }
    return {SUGGEST_PATH: {"get": operation, "options": options()}}


def suggestion_schemas() -> dict[str, Schema]:
    whole = SuggestionList.model_json_schema(mode="serialization", ref_template=REF)
    parts = {"Suggestion": whole.pop("$defs")["Suggestion"], "SuggestionList": whole}
    return {name: tidied(name, schema, _FIELDS) for name, schema in parts.items()}


def _typed() -> Node:
    shortest, longest = NAME_LENGTH
    return {
        "name": TERM,
        "in": "query",
        "required": True,
        "description": "The part of a name typed so far, 2 to 200 characters. It may begin "
        "the name, or each word of it one of the name's words; one typo is forgiven from four "
        "letters on, two from eight.",
        "schema": {"type": "string", "minLength": shortest, "maxLength": longest},
        "example": "Prøvef",
    }


def _limit() -> Node:
    return {
        "name": LIMIT,
        "in": "query",
        "description": "Maximum number of companies.",
        "schema": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_SUGGESTIONS,
            "default": DEFAULT_LIMIT,
        },
        "example": DEFAULT_LIMIT,
    }
