"""The public interface as an OpenAPI 3.1 document."""

from importlib.metadata import version
from typing import Any

from gateway.adapters.http.openapi.batch import batch_paths, batch_schemas
from gateway.adapters.http.openapi.delivery import delivery
from gateway.adapters.http.openapi.guide import introduction
from gateway.adapters.http.openapi.lookups import lookup_parameters, lookup_paths
from gateway.adapters.http.openapi.responses import (
    HEADERS,
    ON_STATUS,
    headers,
    problem_answers,
    responses,
)
from gateway.adapters.http.openapi.schemas import schemas
from gateway.adapters.http.openapi.suggesting import suggestion_paths, suggestion_schemas
from gateway.adapters.http.openapi.webhook_schemas import webhook_schemas
from gateway.adapters.http.openapi.webhooks import webhook_parameters, webhook_paths
from gateway.domain import problems

Node = dict[str, Any]

PAGE_PROBLEMS = (
    problems.Unauthorized,
    problems.RateLimited,
    problems.InternalError,
    problems.ServiceUnavailable,
)


def openapi_document() -> Node:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Company lookup",
            "version": version("gateway"),
            "summary": "Look up one company in the Danish or the Norwegian register, and "
            "receive changes by webhook.",
            "description": introduction(),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}, {"header": []}],
        "tags": [
            {"name": "Lookups", "description": "Look up one company."},
            {"name": "Webhooks", "description": "Receive changes at a URL of yours."},
            {"name": "Documentation", "description": "This description."},
        ],
        "paths": {
            **lookup_paths(),
            **batch_paths(),
            **suggestion_paths(),
            **webhook_paths(),
            "/openapi.json": {"get": _page("openapi", "This document", "application/json")},
            "/docs": {"get": _page("docs", "This document as a web page", "text/html")},
        },
        "webhooks": {"delivery": {"post": delivery()}},
        "components": _components(),
    }


def _page(operation: str, summary: str, media_type: str) -> Node:
    return {
        "operationId": operation,
        "summary": summary,
        "tags": ["Documentation"],
        "responses": {
            "200": {
                "description": f"{summary}. It is compressed for clients that accept gzip.",
                "headers": headers(*ON_STATUS[200]),
                "content": {media_type: {}},
            },
            "304": {
                "description": "The document has not changed since the given `ETag`.",
                "headers": headers(*ON_STATUS[304]),
            },
            **problem_answers(*PAGE_PROBLEMS),
        },
    }


def _components() -> Node:
    return {
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer", "description": "`<id>.<secret>`"},
            "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        },
        "parameters": {**lookup_parameters(), **webhook_parameters()},
        "headers": HEADERS,
        "schemas": {
            **schemas(),
            **batch_schemas(),
            **suggestion_schemas(),
            **webhook_schemas(),
        },
        "responses": responses(),
    }
