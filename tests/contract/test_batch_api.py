"""Batches as clients see them: status, headers, body; over a fake `Lookups`."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientResponse
from structlog.testing import capture_logs

from common.contracts.lookup import LookupReply, LookupRequest
from gateway.domain.problems import CompanyNotFound, LookupTimeout, ServiceUnavailable
from gateway.domain.rates import Rate
from tests.fakes.gateway import FakeLookups, Gateway, code_of, problem_of
from tests.fakes.gateway import gateway as a_gateway

GOOD = {"country": "dk", "vat": "12345674"}

FAILURES = {
    "unknown": CompanyNotFound("no company in the register matches"),
    "late": LookupTimeout("the lookup service did not answer in time"),
    "away": ServiceUnavailable("the lookup service cannot be reached now"),
}


class ByName(FakeLookups):
    """Answers with the term in odd JSON, or fails as the name says."""

    async def find(self, request: LookupRequest, *, request_id: str) -> LookupReply:
        term = request.questions[0].term
        if term in FAILURES:
            raise FAILURES[term]
        await super().find(request, request_id=request_id)
        return LookupReply(body=b'{"vat" : "%b"}' % term.encode(), tag=term)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with a_gateway(lookups=ByName()) as running:
        yield running


async def post(gateway: Gateway, *lookups: Any, **options: Any) -> ClientResponse:
    headers = options.pop("headers", None) or gateway.issue()
    return await gateway.client.post(
        "/api/batch", json={"lookups": lookups}, headers=headers, **options
    )


def named(name: str) -> dict[str, str]:
    return {"country": "no", "name": name}


async def test_companies_are_passed_on_byte_by_byte_in_the_order_asked(gateway: Gateway) -> None:
    answer = await post(gateway, named("third"), GOOD, named("first"))

    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert await answer.read() == (
        b'{"results":[{"company":{"vat" : "third"}},{"company":{"vat" : "12345674"}},'
        b'{"company":{"vat" : "first"}}]}'
    )


async def test_each_lookup_may_have_its_own_country_search_and_include(gateway: Gateway) -> None:
    await post(gateway, {**GOOD, "include": ["owners"]}, {"country": "no", "address": "Vei 1"})

    assert [request.country for request in gateway.lookups.asked] == ["dk", "no"]
    assert [request.include for request in gateway.lookups.asked] == [("owners",), ()]
    assert gateway.lookups.terms() == [[("vat", "12345674")], [("address", "Vei 1")]]


async def test_a_failed_lookup_is_a_problem_in_the_results(gateway: Gateway) -> None:
    answer = await post(
        gateway, GOOD, {**GOOD, "vat": "1"}, *map(named, FAILURES), headers=gateway.issue()
    )

    [found, *others] = (await answer.json())["results"]
    problems = [other.pop("problem") for other in others]
    assert answer.status == 200
    assert found == {"company": {"vat": "12345674"}}
    assert not any(others)
    assert [(problem["status"], problem["code"]) for problem in problems] == [
        (400, "invalid_parameter"),
        (404, "company_not_found"),
        (504, "lookup_timeout"),
        (503, "service_unavailable"),
    ]
    assert all(p["request_id"] == answer.headers["X-Request-Id"] for p in problems)
    assert all(p["type"] == "urn:problem:" + p["code"].replace("_", "-") for p in problems)
    assert [error["parameter"] for error in problems[0]["errors"]] == ["vat"]


async def test_an_invalid_body_is_refused_with_every_error_named(gateway: Gateway) -> None:
    answer = await post(gateway, GOOD, {"country": "dk", "vat": 12345674}, "x")

    body = await problem_of(answer)
    assert (answer.status, body["code"]) == (400, "invalid_body")
    assert [error["parameter"] for error in body["errors"]] == ["lookups[1].vat", "lookups[2]"]
    assert gateway.lookups.asked == []


@pytest.mark.parametrize(
    "body, headers, status, code",
    [
        (b"", {}, 400, "invalid_body"),
        (b"{}", {"Content-Type": "application/json; charset=utf-8"}, 400, "invalid_body"),
        (
            b"{}",
            {"Content-Type": "application/json", "Content-Encoding": "gzip"},
            415,
            "unsupported_media_type",
        ),
    ],
)
async def test_another_kind_of_body_is_refused(
    gateway: Gateway, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    answer = await gateway.client.post(
        "/api/batch", data=body, headers={**headers, **gateway.issue()}
    )

    assert await code_of(answer) == (status, code)


async def test_other_expectations_are_ignored(gateway: Gateway) -> None:
    answer = await post(gateway, GOOD, headers={**gateway.issue(), "Expect": "miracles"})
    asked = await post(gateway, GOOD, headers={**gateway.issue(), "Expect": "100-continue"})

    assert (answer.status, asked.status) == (200, 200)


async def test_a_batch_needs_a_key(gateway: Gateway) -> None:
    answer = await gateway.client.post("/api/batch", json={"lookups": [GOOD]})

    assert await code_of(answer) == (401, "unauthorized")
    assert gateway.lookups.asked == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
async def test_a_batch_requires_post(gateway: Gateway, method: str) -> None:
    answer = await gateway.client.request(method, "/api/batch", headers=gateway.issue())

    assert await code_of(answer) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST"


async def test_scripts_of_other_sites_may_not_read_batches(gateway: Gateway) -> None:
    answer = await post(gateway, GOOD, headers={**gateway.issue(), "Origin": "https://a.example"})

    assert not any(name.startswith("Access-Control") for name in answer.headers)


class TestRates:
    async def test_a_batch_counts_by_its_lookups(self) -> None:
        async with a_gateway(key_rate=Rate(40, 60)) as gateway:
            key = gateway.issue()

            first = await post(gateway, *[GOOD] * 30, headers=key)
            single = await gateway.get("/api?country=dk&vat=12345674", headers=key)

            assert first.status == 200
            assert first.headers["RateLimit"] == '"key";r=10;t=60'
            assert single.headers["RateLimit"] == '"key";r=9;t=60'

    async def test_a_batch_over_the_quota_is_rejected_and_counts_as_one_request(self) -> None:
        async with a_gateway(key_rate=Rate(40, 60)) as gateway:
            key = gateway.issue()
            await post(gateway, *[GOOD] * 30, headers=key)
            gateway.lookups.asked.clear()

            refused = await post(gateway, *[GOOD] * 11, headers=key)
            fitting = await post(gateway, *[GOOD] * 9, headers=key)

            assert refused.status == 429
            assert (await problem_of(refused))["code"] == "rate_limited"
            assert refused.headers["Retry-After"] == "60"
            assert refused.headers["RateLimit"] == '"key";r=9;t=60'
            assert fitting.status == 200
            assert fitting.headers["RateLimit"] == '"key";r=0;t=60'
            assert len(gateway.lookups.asked) == 9

    async def test_a_batch_over_the_rate_limit_is_refused_with_a_hint(self) -> None:
        async with a_gateway(key_rate=Rate(40, 60)) as gateway:
            answer = await post(gateway, *[GOOD] * 41)

            assert answer.status == 429
            assert "fewer" in (await problem_of(answer))["detail"]

    async def test_faulty_lookups_count_and_faulty_bodies_count_once(self) -> None:
        async with a_gateway(key_rate=Rate(40, 60)) as gateway:
            key = gateway.issue()

            faulty = await post(gateway, *[{}] * 5, headers=key)
            no_batch = await post(gateway, *[7] * 5, headers=key)

            assert faulty.headers["RateLimit"] == '"key";r=35;t=60'
            assert no_batch.headers["RateLimit"] == '"key";r=34;t=60'


async def test_a_batch_is_one_log_line_without_its_terms(gateway: Gateway) -> None:
    with capture_logs() as lines:
        await post(gateway, GOOD, named("Testesen"))

    assert [(line["event"], line["route"]) for line in lines] == [("request.done", "/api/batch")]
    assert "Testesen" not in str(lines)
