"""The OpenAPI document matches the service's answers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from threading import Thread
from typing import Any

import jsonschema
import orjson
import pytest
import schemathesis
from openapi_spec_validator import validate
from schemathesis.checks import positive_data_acceptance

from common.contracts.company import CompanyAnswer
from common.contracts.lookup import LookupReply, LookupRequest
from gateway.adapters.http.openapi.document import openapi_document
from gateway.adapters.http.openapi.examples import COMPANY, WITH_EVERYTHING
from gateway.adapters.http.openapi.guide import MEANING
from gateway.adapters.http.routes import LOOKUP_PATHS
from gateway.domain.keys import Scope
from gateway.domain.problems import CompanyNotFound, LookupTimeout, ServiceUnavailable
from gateway.domain.rates import Rate
from tests.fakes.gateway import FakeLookups, Gateway
from tests.fakes.gateway import gateway as a_gateway

DOCUMENT = openapi_document()
LOOKUP = "/api?country=dk&vat=12345674"


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with a_gateway(anonymous_rate=Rate(20, 60)) as running:
        yield running


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        found: Any = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def schema_of(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}


def check(value: Any, schema: dict[str, Any]) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    jsonschema.validate(
        value, whole, format_checker=jsonschema.FormatChecker(formats=("date", "date-time"))
    )


def test_it_is_valid() -> None:
    validate(DOCUMENT)


async def test_it_is_served_as_it_is(gateway: Gateway) -> None:
    answer = await gateway.get("/openapi.json")

    assert answer.headers["Content-Type"] == "application/json"
    assert orjson.loads(await answer.read()) == DOCUMENT


async def test_every_public_path_and_method_is_described(gateway: Gateway) -> None:
    served = {
        (route.resource.canonical, route.method.lower())
        for route in gateway.client.app.router.routes()
        if route.resource is not None
    }
    described = {
        (path, method) for path, methods in DOCUMENT["paths"].items() for method in methods
    }
    # HEAD goes with GET by the rules of HTTP; the page's parts and the redirect are no interface.
    unsaid = {(path, "head") for path, _ in served}
    of_the_page = {("/", "get")} | {
        (path, "get") for path, _ in served if path.startswith("/docs/")
    }

    assert served - unsaid - of_the_page == described


@pytest.mark.parametrize("company", [COMPANY, WITH_EVERYTHING], ids=["bare", "everything"])
def test_the_example_companies_are_companies(company: dict[str, Any]) -> None:
    check(company, schema_of("Company"))
    read = CompanyAnswer.model_validate(company)

    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == company


def test_only_fields_not_included_may_be_absent() -> None:
    for field in COMPANY:
        with pytest.raises(jsonschema.ValidationError):
            check({name: COMPANY[name] for name in COMPANY if name != field}, schema_of("Company"))


def test_every_example_of_an_answer_fits_its_schema() -> None:
    for name, response in DOCUMENT["components"]["responses"].items():
        for media_type, content in response.get("content", {}).items():
            for example in content.get("examples", {}).values():
                check(example["value"], content["schema"])
            assert content.get("examples") or content.get("example"), (name, media_type)


def test_every_problem_has_a_meaning_and_an_example() -> None:
    operations = (each for methods in DOCUMENT["paths"].values() for each in methods.values())
    answers = [resolved(each) for node in operations for each in node["responses"].values()]
    shown = {
        example["value"]["code"]
        for response in (*answers, *DOCUMENT["components"]["responses"].values())
        for content in response.get("content", {}).values()
        for example in content.get("examples", {}).values()
        if "code" in example["value"]
    }

    assert shown == {kind.code for kind in MEANING}


@dataclass(frozen=True)
class Cause:
    """The cause of one status, and its request."""

    status: int
    path: str = LOOKUP
    failure: Exception | None = None
    key: dict[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    times: int = 1


CAUSES = [
    Cause(200),
    Cause(304, headers=(("If-None-Match", "*"),)),
    Cause(400, path="/api?country=dk"),
    Cause(401, headers=(("X-API-Key", "x"),)),
    Cause(403, key={"scopes": frozenset({Scope.WEBHOOKS})}),
    Cause(404, failure=CompanyNotFound("nobody")),
    Cause(429, times=21),
    Cause(500, failure=RuntimeError("a fault")),
    Cause(503, failure=ServiceUnavailable("away")),
    Cause(504, failure=LookupTimeout("late")),
]


@pytest.mark.parametrize("format_", ["json", "xml"])
@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: str(cause.status))
async def test_every_described_answer_is_given_as_described(
    gateway: Gateway, cause: Cause, format_: str
) -> None:
    gateway.lookups.answer = cause.failure or gateway.lookups.answer
    headers = dict(cause.headers) | (gateway.issue(**cause.key) if cause.key else {})

    for _ in range(cause.times):
        answer = await gateway.get(f"{cause.path}&format={format_}", headers=headers)

    described = resolved(DOCUMENT["paths"]["/api"]["get"]["responses"][str(answer.status)])
    assert answer.status == cause.status
    assert all(name in answer.headers for name in described["headers"])
    if "content" in described:
        content = described["content"][answer.content_type]
        text = await answer.text()
        check(text if format_ == "xml" else orjson.loads(text), content["schema"])


def test_every_described_status_has_a_cause_above() -> None:
    for path in LOOKUP_PATHS:
        described = {int(status) for status in DOCUMENT["paths"][path]["get"]["responses"]}
        assert described == {cause.status for cause in CAUSES}


class FoundOrNot(FakeLookups):
    """Finds a company for every other length of the term."""

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        if len(request.questions[0].term) % 2:
            raise CompanyNotFound("nobody")
        return await super().find(request, request_id=request_id)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """A gateway in a separate thread, since schemathesis blocks."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    urls: list[str] = []
    started = asyncio.Event()

    async def serve() -> None:
        async with a_gateway(lookups=FoundOrNot(), anonymous_rate=Rate(10**6, 60)) as gateway:
            urls.append(str(gateway.client.make_url("/")))
            started.set()
            await stop.wait()

    thread = Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    asyncio.run_coroutine_threadsafe(started.wait(), loop).result(timeout=10)
    yield urls[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


#: The others have keys and bodies, and tests of their own.
schema = (
    schemathesis.openapi.from_dict(DOCUMENT)
    .exclude(tag="Webhooks")
    .exclude(path=["/api/batch", "/api/suggest"])
)


@schema.parametrize()
def test_schemathesis_finds_no_difference(case: Any, base_url: str) -> None:
    # An OpenAPI document cannot express that exactly one search is given, or a number's length by
    # country: a request that fits the schemas may rightly be rejected.
    case.call_and_validate(base_url=base_url, excluded_checks=[positive_data_acceptance])
