"""Responses: headers, the company, and the problems by status."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from gateway.adapters.http.bodies import JSON
from gateway.adapters.http.errors import MEDIA_TYPE as PROBLEM_TYPE
from gateway.adapters.http.errors import STATUS
from gateway.adapters.http.lookup import CACHE_CONTROL
from gateway.adapters.http.openapi.examples import COMPANY, WITH_EVERYTHING, example_problems
from gateway.adapters.http.openapi.guide import MEANING
from gateway.adapters.http.openapi.webhook_examples import WEBHOOK
from gateway.adapters.http.rendering import xml_document
from gateway.adapters.http.webhooks import IDEMPOTENCY_REPLAYED
from gateway.domain import problems
from gateway.domain.problems import Problem
from gateway.domain.query import Format

Node = dict[str, Any]

#: Problems of a lookup.
LOOKUP_PROBLEMS: tuple[type[Problem], ...] = (
    problems.MissingParameter,
    problems.InvalidParameter,
    problems.MultipleSearchParameters,
    problems.Unauthorized,
    problems.Forbidden,
    problems.CompanyNotFound,
    problems.NotFound,
    problems.RateLimited,
    problems.InternalError,
    problems.ServiceUnavailable,
    problems.LookupTimeout,
)
LOOKUP_STATUSES = tuple(sorted({STATUS[kind].value for kind in LOOKUP_PROBLEMS}))

HEADERS: dict[str, Node] = {
    "X-Request-Id": {
        "description": "Id of the request; the client's own, when it sent a valid one.",
        "schema": {"type": "string", "maxLength": 128},
    },
    "RateLimit-Policy": {
        "description": "The rate limit: `q` requests in a window of `w` seconds.",
        "schema": {"type": "string"},
        "example": '"key";q=1200;w=60',
    },
    "RateLimit": {
        "description": "The remaining quota: `r` requests, reset after `t` seconds.",
        "schema": {"type": "string"},
        "example": '"key";r=1199;t=60',
    },
    "ETag": {"schema": {"type": "string"}, "example": '"3f2a9c.json"'},
    "Cache-Control": {"schema": {"type": "string"}, "example": CACHE_CONTROL},
    "Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}, "example": 5},
    "WWW-Authenticate": {"schema": {"type": "string"}, "example": "Bearer"},
    "Allow": {"schema": {"type": "string"}, "example": "GET, HEAD, OPTIONS"},
    "Location": {
        "description": "The path of the created resource.",
        "schema": {"type": "string"},
        "example": f"/api/webhooks/{WEBHOOK['id']}",
    },
    IDEMPOTENCY_REPLAYED: {
        "description": "Only on a stored answer to an earlier request with the same key.",
        "required": False,
        "schema": {"type": "string", "const": "true"},
    },
}
ON_EVERY_ANSWER = ("X-Request-Id", "RateLimit-Policy", "RateLimit")
ON_STATUS = {
    200: ("ETag", "Cache-Control"),
    304: ("ETag", "Cache-Control"),
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}


def responses() -> Node:
    return {
        "Company": _company(),
        "NotModified": {
            "description": "The company has not changed since the given `ETag`.",
            "headers": headers(*ON_STATUS[304]),
        },
        **{problem_name(status): _problem(status, LOOKUP_PROBLEMS) for status in LOOKUP_STATUSES},
        problem_name(405): _problem(405, (problems.MethodNotAllowed,)),
    }


def problem_answers(*kinds: type[Problem]) -> Node:
    """Responses with these problems by status, in JSON only."""
    statuses = sorted({STATUS[kind].value for kind in kinds})
    return {str(status): _problem(status, kinds, has_xml=False) for status in statuses}


def problem_name(status: int) -> str:
    """Name of the response with that status, such as BadRequest."""
    return HTTPStatus(status).phrase.title().replace(" ", "")


def headers(*names: str) -> Node:
    """The headers of every answer, and these."""
    return {name: ref("headers", name) for name in (*ON_EVERY_ANSWER, *names)}


def ref(kind: str, name: str) -> Node:
    return {"$ref": f"#/components/{kind}/{name}"}


def json_content(schema: str, example: Any) -> Node:
    """Content of a JSON response or request body."""
    return {JSON: {"schema": ref("schemas", schema), "example": example}}


def json_body(schema: str, example: Any) -> Node:
    return {"required": True, "content": json_content(schema, example)}


def _company() -> Node:
    xml = xml_document("company", COMPANY).decode()
    return {
        "description": "The company.",
        "headers": headers(*ON_STATUS[200]),
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Company"},
                "examples": {
                    "company": {"summary": "A company", "value": COMPANY},
                    "everything": {"summary": "With every include", "value": WITH_EVERYTHING},
                },
            },
            "application/xml": {"schema": {"type": "string"}, "example": xml},
        },
    }


def _problem(status: int, kinds: Iterable[type[Problem]], *, has_xml: bool = True) -> Node:
    shown = example_problems()
    examples = {kind: shown[kind] for kind in kinds if STATUS[kind].value == status}
    content: Node = {
        PROBLEM_TYPE[Format.JSON]: {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": _named(examples),
        }
    }
    if has_xml:
        content[PROBLEM_TYPE[Format.XML]] = {
            "schema": {"type": "string"},
            "example": xml_document("problem", next(iter(examples.values()))).decode(),
        }
    return {
        "description": " ".join(MEANING[kind] for kind in examples),
        "headers": headers(*ON_STATUS.get(status, ())),
        "content": content,
    }


def _named(examples: dict[type[Problem], Node]) -> Node:
    return {
        kind.code: {"summary": MEANING[kind], "value": document}
        for kind, document in examples.items()
    }
