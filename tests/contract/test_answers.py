"""Each request of the tables in `answers` has its answer, which the OpenAPI document describes.

A row is a request line with what is sent and what follows from it: the status, a problem or a body,
and what the services are asked, each of which is whole. `given` is what the services answer.
"""

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
import yaml
from aiohttp import ClientResponse
from pydantic import BaseModel

from common.contracts.company import Country
from common.contracts.find import FindReply
from common.contracts.lookup import LookupReply, PartReply, SourcesReply, SuggestReply
from common.contracts.match import MatchReply, WeighedRecord
from common.contracts.watchlists import ATOM_PATH, CONFIRM_PATH, UNSUBSCRIBE_PATH, LinkReply
from common.contracts.webhook_api import WebhookReply
from common.runtime.public_port.rates import Rate
from gateway.access.keys import Scope
from gateway.problems import (
    PROBLEMS,
    CompanyNotFound,
    CompanyRemoved,
    EventNotFound,
    InternalError,
    LookupTimeout,
    ServiceUnavailable,
)
from gateway.reconcile.service import RECONCILE_PATH
from gateway.routes import LOOKUP_PATHS
from tests.builders.openapi import DOCUMENT, assert_response, example, operations
from tests.builders.reconciliation import conforms
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway

Row = dict[str, Any]

REPLIES: Final[dict[str, type[BaseModel]]] = {
    "lookups": LookupReply,
    "suggestions": SuggestReply,
    "parts": PartReply,
    "finds": FindReply,
    "matches": MatchReply,
    "sources": SourcesReply,
    "webhooks": WebhookReply,
    "digest_links": LinkReply,
}
SERVICES: Final = (*REPLIES, "events", "exports")
FAILURES: Final[dict[str, Exception]] = {
    each.code: each
    for each in (
        CompanyNotFound("no company matches"),
        CompanyRemoved("it was removed", removed_on="2026-03-02"),
        EventNotFound("no such event"),
        LookupTimeout("no answer in time"),
        ServiceUnavailable("a dependency is unavailable"),
        InternalError("a fault"),
    )
}


def repeated(text: str) -> str:
    """The text with `<x*3>` as `xxx`."""
    return re.sub(r"<([^<>]+)\*([0-9]+)>", lambda match: match[1] * int(match[2]), text)


def tables() -> Iterator[tuple[str, str, Row]]:
    """The name, the request line and the rest of each row."""
    for file in sorted((Path(__file__).parent / "answers").glob("*.yaml")):
        for title, group in yaml.load(file.read_text(), Loader=yaml.CSafeLoader).items():
            for row in group["rows"]:
                [(line, rest)] = row.items()
                common = {name: value for name, value in group.items() if name != "rows"}
                yield f"{title}: {line[:100]}", repeated(line), {**common, **rest}


ROWS: Final = list(tables())


def prepare(gateway: Gateway, given: Row) -> None:
    """Makes the services answer as given."""
    for name, answer in given.items():
        if name == "failure":
            fail(gateway, FAILURES[answer])
        elif name == "expired":
            gateway.events.add(b"1", b"2")
            gateway.events.expired = 2
        elif name == "closed":
            gateway.notices.close()
        elif name == "events":
            gateway.events.add(*(each.encode() for each in answer))
        elif name == "finds":
            gateway.finds.of = {
                Country(country): FindReply.model_validate(reply)
                for country, reply in answer.items()
            }
        elif name == "matches":
            gateway.matches.of = {
                (Country(key[:2]), key[3:]): WeighedRecord.model_validate(record)
                for key, record in answer.items()
            }
        else:
            getattr(gateway, name).answer = REPLIES[name].model_validate(answer)


def fail(gateway: Gateway, failure: Exception) -> None:
    for name in REPLIES:
        getattr(gateway, name).answer = failure
    gateway.events.fault = failure
    gateway.exports.faults = [failure]


async def send(gateway: Gateway, line: str, row: Row, key: dict[str, str]) -> ClientResponse:
    method, _, path = line.partition(" ")
    body = row.get("send")
    headers = {**key, **row.get("headers", {})}
    if isinstance(body, dict):
        headers = {"Content-Type": "application/json", **headers}
    data = repeated(orjson.dumps(body).decode()) if isinstance(body, dict) else body
    if row.get("form"):
        data = {
            name: each if isinstance(each, str) else orjson.dumps(each).decode()
            for name, each in row["form"].items()
        }
    if "size" in row:
        headers, data = {"Content-Type": "application/json", **headers}, b" " * row["size"]
    return await gateway.client.request(
        method, path, data=data, headers=headers, allow_redirects=False
    )


def compact(problem: Row, request_id: str) -> Row:
    """The members of a problem that its code does not give."""
    code = problem.pop("code")
    assert problem.pop("type") == "urn:problem:" + code.replace("_", "-")
    assert problem.pop("title") == example(code)["title"]
    assert problem.pop("status") == PROBLEMS[code].status
    assert problem.pop("request_id") == request_id
    errors = [f"{each['parameter']}: {each['message']}" for each in problem.pop("errors", ())]
    if errors and problem["detail"] == errors[0]:
        del problem["detail"]
    return {"problem": code, **({"errors": errors} if errors else {}), **problem}


def written(requests: list[BaseModel]) -> list[Row]:
    """Requests without defaults; those to both registers are one, of the country `both`."""
    found = [each.model_dump(mode="json", exclude_defaults=True) for each in requests]
    both: list[Row] = []
    for request in found:
        if both and request == {**both[-1], "country": "no"} and both[-1]["country"] == "dk":
            both[-1] = {**both[-1], "country": "both"}
        else:
            both.append(request)
    return both


def settle(body: Row, request_id: str) -> None:
    """Removes what is random from a body, and what the codes of its problems give."""
    if "key" in body:
        for name in ("key", "key_id", "created_at"):
            assert body.pop(name)
    for result in body.get("results", ()):
        if "problem" in result:
            result |= compact(result["problem"], request_id)


async def outcome(gateway: Gateway, answer: ClientResponse, row: Row) -> Row:
    """The expected answer of a row."""
    found: Row = {"status": answer.status}
    body, request_id = await answer.read(), answer.headers["X-Request-Id"]
    if body and answer.content_type == "application/problem+json":
        assert answer.headers["Cache-Control"] == "no-store"
        found |= compact(orjson.loads(body), request_id)
    elif "page" in row:
        # The look around it is `common.domain.appearance`'s.
        found["page"] = (
            body.decode().partition('<div class="card">')[2].partition("</div></main>")[0]
        )
    elif "text" in row or (body and not answer.content_type.endswith("json")):
        found["text"] = body.decode()
    elif body:
        found["body"] = orjson.loads(body)
        if "serviceVersion" in found["body"]:
            assert found["body"].pop("serviceVersion") == version("gateway")
        settle(found["body"], request_id)
    asked = {
        name: written(requests) for name in SERVICES if (requests := getattr(gateway, name).asked)
    }
    if asked:
        found["asks"] = asked
    if "shows" in row:
        found["shows"] = {name: answer.headers.get(name) for name in row["shows"]}
    return found


EXPECTED: Final = ("status", "problem", "errors", "detail", "removed_on", "oldest", "text", "page",
                   "body", "asks", "shows")  # fmt: skip


@pytest.mark.parametrize("line, row", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
async def test_a_request_is_answered(line: str, row: Row) -> None:
    policy: Row = {"key_rate": Rate(row["rate"], 60)} if "rate" in row else {}
    async with a_gateway(**policy) as gateway:
        prepare(gateway, row.get("given", {}))
        scopes = {"scopes": frozenset(map(Scope, row["scopes"]))} if "scopes" in row else {}
        key = gateway.issue(**scopes) if row.get("key", True) else {}
        answer = await send(gateway, line, row, key)

        expected = {name: row[name] for name in EXPECTED if name in row}
        if "example" in row:
            expected["body"] = example(row["example"])
        if "problem" in expected:
            expected["status"] = PROBLEMS[expected["problem"]].status
        assert await outcome(gateway, answer, row) == {"status": 200, **expected}
        if line.partition(" ")[2].startswith("/reconcile/") and "body" in expected:
            assert_conforms(line, row, expected["body"])
        described = operation_of(line)
        is_json = not answer.content_type.endswith("xml")
        if described and is_json and (answer.status >= 400 or "given" not in row):
            responses = DOCUMENT["paths"][described[0]][described[1]]["responses"]
            if str(answer.status) in responses and described[0] not in OTHER_BODIES:
                await assert_response(answer, described[0], answer.status)


#: The schemas of the protocol's specification, by path.
RECONCILIATION: Final = {
    "suggest/entity": "suggest-entities-response",
    "suggest/property": "suggest-properties-response",
    "suggest/type": "suggest-types-response",
    "properties": "data-extension-property-proposal",
}


def assert_conforms(line: str, row: Row, body: Any) -> None:
    """Asserts that an answer is as the protocol of reconciliation has it."""
    _, _, rest = line.partition("?")[0].partition(RECONCILE_PATH.partition("{")[0])
    if rest.partition("/")[2]:
        conforms(body, RECONCILIATION[rest.partition("/")[2]])
    elif row.get("form", {}).get("queries"):
        conforms(body, "reconciliation-result-batch")
    elif "?" not in line and "form" not in row:
        conforms({**body, "serviceVersion": "1"}, "manifest")


#: Not JSON, without an end, or whatever the lookup service responds.
OTHER_BODIES: Final = (
    "/docs",
    "/reconcile/{country}/preview",
    "/api/events/stream",
    "/api/events/{id}",
    "/api/export",
    CONFIRM_PATH,
    UNSUBSCRIBE_PATH,
)
PATTERNS: Final = [
    (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path, method)
    # Fixed paths first.
    for path, method, _ in sorted(operations(), key=lambda each: "{" in each[0])
]


def operation_of(line: str) -> tuple[str, str] | None:
    """Path and method of the operation that a request line is of."""
    method, _, target = line.partition(" ")
    path = target.partition("?")[0]
    for pattern, found, each in PATTERNS:
        if pattern.fullmatch(path) and each == method.lower():
            return found, each
    return None


# Failures that every operation describes

#: By tag.
SCOPES: Final = {
    "Lookups": Scope.LOOKUP,
    "Events": Scope.EVENTS,
    "Webhooks": Scope.WEBHOOKS,
    "Watchlists": Scope.WEBHOOKS,
    "Reconciliation": Scope.LOOKUP,
    "Exports": Scope.EXPORT,
    "Keys": Scope.KEYS,
    "Customer files": Scope.LOOKUP,
}
#: The cause of each status; 401 and 403 come from the key, 429 from its rate.
COMMON: Final[dict[int, Exception | None]] = {
    401: None,
    403: None,
    429: None,
    500: RuntimeError("a fault"),
    503: FAILURES["service_unavailable"],
    504: FAILURES["lookup_timeout"],
}
RATE: Final = 5


def requests_of_operations() -> dict[tuple[str, str], tuple[str, Row]]:
    """A row of each operation that succeeds, if there is one because a service answers."""
    return {
        operation: (line, row)
        for needs_service in (False, True)
        for _, line, row in reversed(ROWS)
        if (operation := operation_of(line)) is not None
        if "problem" not in row and row.get("status", 200) < 300
        if "asks" in row or not needs_service
    }


REQUESTS: Final = requests_of_operations()


@pytest.mark.parametrize("status", COMMON)
async def test_a_failure_is_answered_as_described(status: int, subtests: pytest.Subtests) -> None:
    described = [
        each
        for each in operations()
        if str(status) in each[2]["responses"]
        and (each[0] == "/api" or each[0] not in LOOKUP_PATHS)
    ]
    assert described
    async with a_gateway(key_rate=Rate(RATE, 60), anonymous_rate=Rate(RATE, 60)) as gateway:
        for path, method, operation in described:
            with subtests.test(path=path, method=method):
                # The rates begin anew.
                gateway.clock.now += 60
                await check_failure(gateway, path, method, operation, status)


async def check_failure(
    gateway: Gateway, path: str, method: str, operation: Row, status: int
) -> None:
    line, row = REQUESTS[path, method]
    lacking = {SCOPES[operation["tags"][0]]} if status == 403 else set()
    key = gateway.issue(scopes=frozenset(Scope) - lacking)
    if status == 401:
        is_required = {} not in operation.get("security", DOCUMENT["security"])
        key = {} if is_required else {"X-API-Key": "x"}
    for _ in range(RATE * (status == 429)):
        # Requests with a token are counted by it.
        has_token = path in (ATOM_PATH, CONFIRM_PATH, UNSUBSCRIBE_PATH)
        spent = (line, row) if has_token else ("GET /api/me", {})
        await send(gateway, *spent, key)
    failure = COMMON[status]
    if failure is not None:
        fail(gateway, failure)
        # Some depend on the keys alone, or have failures of lookups in their results.
        is_of_keys = isinstance(failure, RuntimeError) or path in KEYS_ALONE
        gateway.keys.fault = failure if is_of_keys else None

    await assert_response(await send(gateway, line, row, key), path, status)


KEYS_ALONE: Final = (
    "/api/batch",
    "/api/match",
    "/api/me",
    *(path for path in DOCUMENT["paths"] if path.startswith("/api/keys")),
    "/api/webhook-sources",
    "/docs",
    "/openapi.json",
    *(f"{RECONCILE_PATH}/{each}" for each in ("suggest/property", "suggest/type", "properties")),
)


def test_every_described_response_has_a_request() -> None:
    """Operations of webhooks, watchlists and keys are in tests of their own."""
    answered = {
        (
            *operation,
            PROBLEMS[row["problem"]].status if "problem" in row else row.get("status", 200),
        )
        for _, line, row in ROWS
        if (operation := operation_of(line))
    }
    described = {
        (path, method, int(status))
        for path, method, operation in operations()
        for status in operation["responses"]
        if not {"Webhooks", "Watchlists", "Customer files"}.intersection(operation["tags"])
        if not path.startswith("/api/keys")
        if path == "/api" or path not in LOOKUP_PATHS
        # The pages have tests of their own.
        if int(status) not in COMMON and path not in ("/docs", "/openapi.json")
    }

    assert described - answered == set()


def test_typed_lookups_have_the_responses_of_a_lookup() -> None:
    for path in LOOKUP_PATHS:
        responses = DOCUMENT["paths"][path]["get"]["responses"]
        assert responses.keys() == DOCUMENT["paths"]["/api"]["get"]["responses"].keys()
