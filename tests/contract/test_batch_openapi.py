"""Batches and suggestions match the OpenAPI document."""

from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from gateway.domain.keys import Scope
from gateway.domain.problems import LookupTimeout, ServiceUnavailable
from gateway.domain.rates import Rate
from tests.builders.openapi import assert_response, example
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway

SUGGEST = "/api/suggest?country=dk&q=ab"


@dataclass(frozen=True)
class Cause:
    """The cause of one status of one path."""

    path: str
    status: int
    body: bytes = orjson.dumps(example("Batch"))
    scopes: frozenset[Scope] = frozenset({Scope.LOOKUP})
    failure: Exception | None = None
    headers: dict[str, str] = field(default_factory=dict)


JSON = {"Content-Type": "application/json"}
OTHER = frozenset({Scope.WEBHOOKS})
CAUSES = [
    Cause("/api/batch", 200, headers=JSON),
    Cause("/api/batch", 400, headers=JSON, body=b"{}"),
    Cause("/api/batch", 401, headers={"X-API-Key": "x"}),
    Cause("/api/batch", 403, scopes=OTHER),
    Cause("/api/batch", 413, headers=JSON, body=b" " * 65_537),
    Cause("/api/batch", 415, headers={"Content-Type": "text/csv"}),
    Cause("/api/batch", 429, headers=JSON, body=orjson.dumps({"lookups": [{}] * 21})),
    Cause("/api/batch", 500, headers=JSON, failure=RuntimeError("a fault")),
    Cause(SUGGEST, 200),
    Cause("/api/suggest", 400),
    Cause(SUGGEST, 401, headers={"X-API-Key": "x"}),
    Cause(SUGGEST, 403, scopes=OTHER),
    Cause(SUGGEST, 500, failure=RuntimeError("a fault")),
    Cause(SUGGEST, 503, failure=ServiceUnavailable("a dependency is unavailable")),
    Cause(SUGGEST, 504, failure=LookupTimeout("no answer in time")),
]


async def asked(gateway: Gateway, cause: Cause) -> Any:
    headers = gateway.issue(scopes=cause.scopes) | cause.headers
    if cause.failure is not None:
        gateway.lookups.answer = gateway.suggestions.answer = cause.failure
    if cause.path == "/api/batch":
        return await gateway.client.post(cause.path, data=cause.body, headers=headers)
    return await gateway.get(cause.path, headers=headers)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: f"{cause.path[:12]} {cause.status}")
async def test_it_responds_as_described(cause: Cause) -> None:
    async with a_gateway(key_rate=Rate(20, 60)) as gateway:
        answer = await asked(gateway, cause)

        await assert_response(answer, cause.path.partition("?")[0], cause.status)
