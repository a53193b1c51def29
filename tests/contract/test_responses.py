"""Each described response comes, and is as described.

Responses that only webhooks and watchlists have are in `test_webhooks_openapi.py`.
"""

import re
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import pytest

from gateway.access.keys import Rate, Scope
from gateway.exports.handlers import EXPORT_PATH
from gateway.lookups.codes import CODES_PATH
from gateway.lookups.find import FIND_PATH
from gateway.lookups.lists import PART_PATHS
from gateway.lookups.lookup import COMPANY_PATH
from gateway.lookups.match import MATCH_PATH
from gateway.problems import (
    CompanyNotFound,
    CompanyRemoved,
    EventNotFound,
    LookupTimeout,
    ServiceUnavailable,
)
from gateway.reconcile.requests import MAX_QUERIES
from gateway.reconcile.service import (
    ENTITIES_PATH,
    NAMES_PATH,
    PREVIEW_PATH,
    PROPOSALS_PATH,
    RECONCILE_PATH,
    TYPES_PATH,
)
from gateway.routes import LOOKUP_PATHS
from tests.builders.openapi import DOCUMENT, assert_response, example, operations
from tests.fakes.gateway import Gateway
from tests.fakes.gateway import gateway as a_gateway

RATE = 5
LOOKUP = "/api"

#: By tag.
SCOPES = {
    "Lookups": Scope.LOOKUP,
    "Events": Scope.EVENTS,
    "Webhooks": Scope.WEBHOOKS,
    "Watchlists": Scope.WEBHOOKS,
    "Reconciliation": Scope.LOOKUP,
    "Exports": Scope.EXPORT,
}
SUGGESTED_PATHS = (ENTITIES_PATH, NAMES_PATH, TYPES_PATH)
ONE = quote('{"q0": {"query": "Alfa"}}')
TOO_MANY = quote(orjson.dumps({str(n): {} for n in range(MAX_QUERIES + 1)}))
AT_RECONCILE = {
    "path": "/reconcile/dk",
    "headers": {"Content-Type": "application/x-www-form-urlencoded"},
}
#: The query, path or body of a request that succeeds, by path.
REQUESTS: dict[str, dict[str, Any]] = {
    "/api": {"query": "?country=dk&vat=12345674"},
    "/api/suggest": {"query": "?country=dk&q=ab"},
    EXPORT_PATH: {"query": "?country=dk"},
    COMPANY_PATH: {"path": "/api/companies/dk/12345674"},
    CODES_PATH: {"path": "/api/codes/forms"},
    **{path: {"path": path.format(country="dk", vat="12345674")} for path in PART_PATHS.values()},
    "/api/batch": {"data": orjson.dumps(example("Batch"))},
    MATCH_PATH: {"data": orjson.dumps(example("MatchRecords"))},
    RECONCILE_PATH: {**AT_RECONCILE, "data": urlencode(example("ReconciliationForm")).encode()},
    ENTITIES_PATH: {"path": "/reconcile/dk/suggest/entity", "query": "?prefix=ab"},
    NAMES_PATH: {"path": "/reconcile/dk/suggest/property", "query": "?prefix="},
    TYPES_PATH: {"path": "/reconcile/dk/suggest/type", "query": "?prefix="},
    PROPOSALS_PATH: {"path": "/reconcile/dk/properties"},
    PREVIEW_PATH: {"path": "/reconcile/dk/preview", "query": "?id=12345674"},
}
#: The cause of a status in every operation.
COMMON: dict[int, dict[str, Any]] = {
    400: {"query": "?unknown=1"},
    401: {},  # there is no key, or a bad one where none is needed
    403: {},  # the key has every other scope
    429: {"sent_before": RATE},
    500: {"failure": RuntimeError("a fault")},
    503: {"failure": ServiceUnavailable("a dependency is unavailable")},
    504: {"failure": LookupTimeout("no answer in time")},
}
#: The cause of a status in one operation.
CAUSES: dict[tuple[str, int], dict[str, Any]] = {
    ("/api", 400): {"query": "?country=dk"},
    ("/api", 404): {"failure": CompanyNotFound("no company matches")},
    **{
        (path, 410): {"failure": CompanyRemoved("it was removed", removed_on="2026-03-02")}
        for path in ("/api", PREVIEW_PATH, *PART_PATHS.values())
    },
    **{
        (path, 404): {"failure": CompanyNotFound("no company matches")}
        for path in PART_PATHS.values()
    },
    (CODES_PATH, 404): {"path": "/api/codes/colours"},
    ("/api/batch", 400): {"data": b"{}"},
    ("/api/batch", 413): {"data": b" " * 65_537},
    ("/api/batch", 415): {"headers": {"Content-Type": "text/csv"}},
    (MATCH_PATH, 400): {"data": b"{}"},
    (MATCH_PATH, 413): {"data": b" " * 65_537},
    (MATCH_PATH, 415): {"headers": {"Content-Type": "text/csv"}},
    (EXPORT_PATH, 400): {"query": ""},
    (FIND_PATH, 400): {"query": "?sort=size"},
    ("/api/suggest", 400): {"query": ""},
    (RECONCILE_PATH, 400): {"query": "?queries=x&extend=x", "data": b"queries=x"},
    (RECONCILE_PATH, 413): {
        "query": f"?queries={TOO_MANY}",
        "data": f"queries={TOO_MANY}".encode(),
    },
    (RECONCILE_PATH, 415): {"headers": {"Content-Type": "text/csv"}},
    **{
        (RECONCILE_PATH, status): {**COMMON[status], "query": f"?queries={ONE}"}
        for status in (500, 503, 504)
    },
    **{(path, 400): {"query": "?prefix=a&cursor=x"} for path in SUGGESTED_PATHS},
    (PROPOSALS_PATH, 400): {"query": "?limit=0"},
    **{
        (path, 404): {"path": path.replace("{country}", "se")}
        for path in (RECONCILE_PATH, PROPOSALS_PATH, *SUGGESTED_PATHS)
    },
    (PREVIEW_PATH, 400): {"query": ""},
    (PREVIEW_PATH, 404): {"failure": CompanyNotFound("no company matches")},
    ("/api/events", 400): {"query": "?after=x"},
    ("/api/events", 404): {"query": f"?watchlist=wl_{'0' * 32}"},
    ("/api/events/stream", 404): {"query": f"?watchlist=wl_{'0' * 32}"},
    ("/api/events", 410): {"query": "?after=000000000001"},
    ("/api/events/stream", 400): {"query": "?after=x"},
    ("/api/events/stream", 410): {"query": "?after=000000000001"},
    ("/api/events/{id}", 404): {"failure": EventNotFound("no such event")},
}
#: The keys are all that these depend on.
KEYS_ALONE = (
    NAMES_PATH,
    TYPES_PATH,
    PROPOSALS_PATH,
    "/api/me",
    "/api/webhook-sources",
    "/docs",
    "/openapi.json",
)
#: Not JSON, without an end, and whatever the lookup service responds.
OTHER_BODIES = {
    ("/docs", 200),
    (PREVIEW_PATH, 200),
    ("/api/events/stream", 200),
    ("/api/events/{id}", 200),
    (EXPORT_PATH, 200),
}


def described() -> list[tuple[str, str, int]]:
    """Path, method and status of each response; the typed lookups have those of `/api`."""
    return [
        (path, method, status)
        for path, method, operation in operations()
        for status in map(int, operation["responses"])
        if path == LOOKUP or path not in LOOKUP_PATHS
        if status in COMMON or not {"Webhooks", "Watchlists"}.intersection(operation["tags"])
        if (path, status) not in OTHER_BODIES
    ]


def fail(gateway: Gateway, failure: Exception, path: str) -> None:
    # A lookup that fails is a problem in the results of its batch.
    of_a_batch = path in ("/api/batch", MATCH_PATH) and isinstance(failure, ServiceUnavailable)
    if path in KEYS_ALONE or of_a_batch:
        gateway.keys.fault = failure
    gateway.lookups.answer = gateway.suggestions.answer = gateway.webhooks.answer = failure
    gateway.parts.answer = gateway.finds.answer = gateway.matches.answer = failure
    gateway.events.fault = failure
    gateway.exports.faults = [failure]


@pytest.mark.parametrize("path, method, status", described())
async def test_a_response_is_as_described(path: str, method: str, status: int) -> None:
    cause = CAUSES.get((path, status)) or COMMON.get(status, {})
    request = {
        "path": path,
        "query": "",
        "data": b"{}",
        "headers": {},
        **REQUESTS.get(path, {}),
        **cause,
    }
    async with a_gateway(key_rate=Rate(RATE, 60)) as gateway:
        gateway.events.add(*map(orjson.dumps, example("EventPage")["events"] * 3))
        gateway.events.expired = 2
        operation = DOCUMENT["paths"][path][method]
        [tag] = operation["tags"]
        lacking = {SCOPES[tag]} if status == 403 else set()
        key = gateway.issue(scopes=frozenset(Scope) - lacking)
        if status == 401:
            is_required = {} not in operation.get("security", DOCUMENT["security"])
            key = {} if is_required else {"X-API-Key": "x"}
        for _ in range(cause.get("sent_before", 0)):
            await gateway.get("/api/me", headers=key)
        if "failure" in cause:
            fail(gateway, cause["failure"], path)

        concrete = request["path"]
        response = await gateway.client.request(
            method,
            re.sub(r"\{\w+\}", "x", concrete) + request["query"],
            data=None if method == "get" else request["data"],
            headers={"Content-Type": "application/json"} | key | request["headers"],
        )

        await assert_response(response, path, status)


def test_typed_lookups_have_the_responses_of_a_lookup() -> None:
    for path in LOOKUP_PATHS:
        responses = DOCUMENT["paths"][path]["get"]["responses"]
        assert responses.keys() == DOCUMENT["paths"][LOOKUP]["get"]["responses"].keys()
