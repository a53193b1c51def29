"""Batches as clients see them: status, headers, body; over a fake `Lookups`."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientResponse

from common.contracts.lookup import LookupReply, LookupRequest
from gateway.access.keys import Rate
from gateway.problems import CompanyNotFound, LookupTimeout, ServiceUnavailable
from tests.fakes.gateway import FakeLookups, Gateway, problem_of
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
    assert not any("errors" in problem for problem in problems[1:])


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
            problem = await problem_of(refused)
            assert problem["code"] == "rate_limited"
            assert problem["detail"].endswith("retry in 60 s, or send fewer lookups")
            assert refused.headers["Retry-After"] == "60"
            assert refused.headers["RateLimit"] == '"key";r=9;t=60'
            assert fitting.status == 200
            assert fitting.headers["RateLimit"] == '"key";r=0;t=60'
            assert len(gateway.lookups.asked) == 9

    async def test_faulty_lookups_count_and_faulty_bodies_count_once(self) -> None:
        async with a_gateway(key_rate=Rate(40, 60)) as gateway:
            key = gateway.issue()

            faulty = await post(gateway, *[{}, 7, {"contry": "dk"}], headers=key)
            no_batch = await post(gateway, headers=key)

            assert (faulty.status, no_batch.status) == (200, 400)
            assert faulty.headers["RateLimit"] == '"key";r=37;t=60'
            assert no_batch.headers["RateLimit"] == '"key";r=36;t=60'
