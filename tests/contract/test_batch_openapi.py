"""Batches and suggestions match the OpenAPI document."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import jsonschema
import orjson
import pytest
import schemathesis
from hypothesis import assume
from schemathesis.checks import positive_data_acceptance

from common.contracts.lookup import LookupReply, LookupRequest
from gateway.adapters.http.openapi.batch import BATCH
from gateway.adapters.http.openapi.document import openapi_document
from gateway.domain.keys import Scope
from gateway.domain.problems import CompanyNotFound, LookupTimeout, ServiceUnavailable
from gateway.domain.rates import Rate
from tests.fakes.gateway import FakeLookups, Gateway
from tests.fakes.gateway import gateway as a_gateway

DOCUMENT = openapi_document()
SUGGEST = "/api/suggest?country=dk&q=ab"
#: A little less than the line that aiohttp takes.
LONGEST_QUERY = 8_000
PATHS = ["/api/batch", "/api/suggest"]


class FoundOrNot(FakeLookups):
    """Finds a company for every other length of the term."""

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        if len(request.questions[0].term) % 2:
            raise CompanyNotFound("nobody")
        return await super().find(request, request_id=request_id)


@dataclass(frozen=True)
class Cause:
    """The cause of one status of one path."""

    path: str
    status: int
    body: bytes = orjson.dumps(BATCH)
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
    Cause(SUGGEST, 503, failure=ServiceUnavailable("away")),
    Cause(SUGGEST, 504, failure=LookupTimeout("late")),
]


async def asked(gateway: Gateway, cause: Cause) -> Any:
    headers = gateway.issue(scopes=cause.scopes) | cause.headers
    if cause.failure is not None:
        gateway.lookups.answer = gateway.suggestions.answer = cause.failure
    if cause.path == "/api/batch":
        return await gateway.client.post(cause.path, data=cause.body, headers=headers)
    return await gateway.get(cause.path, headers=headers)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: f"{cause.path[:12]} {cause.status}")
async def test_every_described_answer_is_given_as_described(cause: Cause) -> None:
    async with a_gateway(key_rate=Rate(20, 60)) as gateway:
        answer = await asked(gateway, cause)

        [operation] = (
            node
            for method, node in DOCUMENT["paths"][cause.path.partition("?")[0]].items()
            if method in ("get", "post")
        )
        described = operation["responses"][str(answer.status)]
        assert answer.status == cause.status
        assert all(name in answer.headers for name in described["headers"])
        schema = described["content"][answer.content_type]["schema"]
        jsonschema.validate(
            orjson.loads(await answer.read()), {**schema, "components": DOCUMENT["components"]}
        )


def test_the_examples_match_their_schemas() -> None:
    nodes = [node for path in PATHS for node in DOCUMENT["paths"][path].values()]
    bodies = [
        body for node in nodes for body in (*node["responses"].values(), node.get("requestBody"))
    ]
    contents = [content for body in bodies if body for content in body.get("content", {}).values()]

    for content in contents:
        shown = [content["example"]] if "example" in content else content["examples"].values()
        for example in shown:
            value = example.get("value", example)
            jsonschema.validate(value, {**content["schema"], "components": DOCUMENT["components"]})


@pytest.fixture(scope="module", name="gateway_url")
def _gateway_url() -> Iterator[tuple[str, dict[str, str]]]:
    """A gateway in a separate thread, since schemathesis blocks, and a key."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    found: list[tuple[str, dict[str, str]]] = []
    started = asyncio.Event()

    async def serve() -> None:
        async with a_gateway(lookups=FoundOrNot(), key_rate=Rate(10**8, 60)) as gateway:
            found.append((str(gateway.client.make_url("/")), gateway.issue()))
            started.set()
            await stop.wait()

    thread = Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    asyncio.run_coroutine_threadsafe(started.wait(), loop).result(timeout=10)
    yield found[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


schema = schemathesis.openapi.from_dict(DOCUMENT).include(path=PATHS)


@schema.parametrize()
def test_schemathesis_finds_no_difference(
    case: Any, gateway_url: tuple[str, dict[str, str]]
) -> None:
    url, key = gateway_url
    # Longer request lines never reach the handler.
    assume(len(urlencode(case.query or {}, doseq=True)) < LONGEST_QUERY)
    # A text that is blank once it is trimmed fits the schema of `q` and may rightly be refused.
    case.call_and_validate(base_url=url, headers=key, excluded_checks=[positive_data_acceptance])
