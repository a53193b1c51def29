"""Batches, suggestions, units, the key of a request and unknown parameters, as clients see them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse, hdrs

from common.contracts.company import Country
from common.contracts.lookup import (
    ListedPart,
    LookupReply,
    LookupRequest,
    PartReply,
    PartRequest,
    SuggestReply,
    SuggestRequest,
)
from gateway.access.clients import Caller
from gateway.access.keys import Rate, Scope
from gateway.problems import CompanyNotFound, LookupTimeout, ServiceUnavailable
from gateway.reconcile.service import RECONCILE_PATH
from tests.builders.openapi import assert_response
from tests.fakes.gateway import FakeLookups, Gateway, code_of, problem_of
from tests.fakes.gateway import gateway as a_gateway

GOOD = {"country": "dk", "vat": "12345674"}
LOOKUP = "/api?country=dk&vat=12345674"
SUGGEST = "/api/suggest?country=dk&q=Pr%C3%B8v"
UNITS = "/api/companies/dk/12345674/production_units"
ME, SOURCES = "/api/me", "/api/webhook-sources"
MINE = {"X-Request-Id": "mine"}

# Batches

FAILURES = {
    "unknown": CompanyNotFound("no company in the register matches"),
    "late": LookupTimeout("the lookup service did not answer in time"),
    "away": ServiceUnavailable("the lookup service cannot be reached now"),
}


class ByName(FakeLookups):
    """Answers with the term in odd JSON, or fails as the name says."""

    async def look_up(self, request: LookupRequest, *, caller: Caller) -> LookupReply:
        term = request.questions[0].term
        if term in FAILURES:
            raise FAILURES[term]
        await super().look_up(request, caller=caller)
        return LookupReply(body=b'{"vat" : "%b"}' % term.encode(), tag=term)


@pytest.fixture
async def by_name() -> AsyncIterator[Gateway]:
    async with a_gateway(lookups=ByName()) as running:
        yield running


@pytest.fixture
async def limited() -> AsyncIterator[Gateway]:
    """A key may ask 40 times a minute."""
    async with a_gateway(key_rate=Rate(40, 60)) as running:
        yield running


async def post(gateway: Gateway, *lookups: Any, **headers: str) -> ClientResponse:
    return await gateway.client.post(
        "/api/batch", json={"lookups": lookups}, headers=headers or gateway.issue()
    )


def named(name: str) -> dict[str, str]:
    return {"country": "no", "name": name}


async def test_companies_are_passed_on_byte_by_byte_in_the_order_asked(by_name: Gateway) -> None:
    answer = await post(by_name, named("third"), GOOD, named("first"))

    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert await answer.read() == (
        b'{"results":[{"company":{"vat" : "third"}},{"company":{"vat" : "12345674"}},'
        b'{"company":{"vat" : "first"}}]}'
    )


async def test_a_failed_lookup_is_a_problem_in_the_results(by_name: Gateway) -> None:
    answer = await post(by_name, GOOD, {**GOOD, "vat": "1"}, *map(named, FAILURES))

    [found, *others] = (await answer.json())["results"]
    problems = [other.pop("problem") for other in others]
    assert (answer.status, found) == (200, {"company": {"vat": "12345674"}})
    assert not any(others)
    assert [(problem["status"], problem["code"]) for problem in problems] == [
        (400, "invalid_parameter"),
        (404, "company_not_found"),
        (504, "lookup_timeout"),
        (503, "service_unavailable"),
    ]
    for problem in problems:
        assert problem["request_id"] == answer.headers["X-Request-Id"]
        assert problem["type"] == "urn:problem:" + problem["code"].replace("_", "-")
    assert [error["parameter"] for error in problems[0]["errors"]] == ["vat"]
    assert not any("errors" in problem for problem in problems[1:])


async def test_scripts_of_other_sites_may_not_read_batches(gateway: Gateway) -> None:
    answer = await post(gateway, GOOD, **gateway.issue(), Origin="https://a.example")

    assert not any(name.startswith("Access-Control") for name in answer.headers)


async def test_a_batch_counts_by_its_lookups(limited: Gateway) -> None:
    key = limited.issue()

    answers = [
        await post(limited, *[GOOD] * 30, **key),
        await limited.get(LOOKUP, headers=key),
        # Of another shape, but lookups; then a body that is no batch.
        await post(limited, {}, 7, {"contry": "dk"}, **key),
        await post(limited, **key),
    ]

    assert [(answer.status, answer.headers["RateLimit"]) for answer in answers] == [
        (200, '"key";r=10;t=60'),
        (200, '"key";r=9;t=60'),
        (200, '"key";r=6;t=60'),
        (400, '"key";r=5;t=60'),
    ]


async def test_a_batch_over_the_quota_is_rejected_and_counts_as_one_request(
    limited: Gateway,
) -> None:
    key = limited.issue()
    await post(limited, *[GOOD] * 30, **key)
    limited.lookups.asked.clear()

    refused = await post(limited, *[GOOD] * 11, **key)
    fitting = await post(limited, *[GOOD] * 9, **key)

    problem = await problem_of(refused)
    assert (refused.status, problem["code"]) == (429, "rate_limited")
    assert problem["detail"].endswith("retry in 60 s, or send fewer lookups")
    assert refused.headers["Retry-After"] == "60"
    assert refused.headers["RateLimit"] == '"key";r=9;t=60'
    assert (fitting.status, fitting.headers["RateLimit"]) == (200, '"key";r=0;t=60')
    assert len(limited.lookups.asked) == 9


# Suggestions and the lists of a company


@pytest.mark.parametrize("path", [SUGGEST, UNITS])
async def test_a_list_is_passed_on_byte_by_byte(gateway: Gateway, path: str) -> None:
    gateway.suggestions.answer = SuggestReply(body=b'{"listed" : []}')
    gateway.parts.answer = PartReply(body=b'{"listed" : []}')

    answer = await gateway.get(path)

    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "private, max-age=60"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert await answer.read() == b'{"listed" : []}'


async def test_the_lookup_service_receives_the_typed_text(gateway: Gateway) -> None:
    await gateway.get(f"{SUGGEST}&limit=5", headers=MINE)

    assert gateway.suggestions.asked == [SuggestRequest(country="dk", text="Prøv", limit=5)]
    assert gateway.suggestions.request_ids == ["mine"]


async def test_the_lookup_service_receives_the_company_and_the_page(gateway: Gateway) -> None:
    await gateway.get(UNITS)
    await gateway.get("/api/companies/no/974%20760%20673/einvoicing?limit=5&after=01")

    assert gateway.parts.asked == [
        PartRequest(country=Country.DK, vat="12345674", limit=100),
        PartRequest(
            country=Country.NO, vat="974760673", part=ListedPart.EINVOICING, limit=5, after="01"
        ),
    ]


@pytest.mark.parametrize(
    "path, parameters",
    [
        ("/api/companies/se/12345674/production_units", ["country"]),
        ("/api/companies/dk/1234567/production_units", ["vat"]),
        (f"{UNITS}?limit=101", ["limit"]),
        (f"{UNITS}?advertising_protected=no", ["advertising_protected"]),
        (
            "/api/companies/no/974760673/production_units?advertising_protected=true",
            ["advertising_protected"],
        ),
        ("/api/companies/dk/1234567/owners?limit=101", ["vat", "limit"]),
        (f"{UNITS}?limit=0&after=", ["limit", "after"]),
        (f"{UNITS}?after=1&after=2", ["after"]),
        (f"{UNITS}?vat=12345674", ["vat"]),
        ("/api/suggest?country=dk&q=%ff%fe", ["q"]),
    ],
)
async def test_an_invalid_parameter_is_named(
    gateway: Gateway, path: str, parameters: list[str]
) -> None:
    problem = await problem_of(await gateway.get(path))

    assert (problem["status"], problem["code"]) == (400, "invalid_parameter")
    assert [error["parameter"] for error in problem["errors"]] == parameters
    assert (gateway.parts.asked, gateway.suggestions.asked) == ([], [])


async def test_a_request_takes_the_turn_of_its_key_or_of_its_address(gateway: Gateway) -> None:
    first, second = gateway.issue(), gateway.issue()

    for headers in (first, second, {}, {"X-API-Key": "wrong"}, first):
        await gateway.get(UNITS, headers=headers)

    one, two, address, again = gateway.parts.clients
    assert {one, two} == gateway.keys.keys.keys()
    assert (address, again) == ("127.0.0.1", one)


# The key of a request, and the sources of deliveries


async def test_a_key_shows_its_owner_scopes_and_rate(gateway: Gateway) -> None:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    key = gateway.issue(
        scopes=frozenset({Scope.EVENTS, Scope.LOOKUP}), expires_at=end, rate=Rate(7, 3600)
    )

    await gateway.get(ME, headers=key)
    response = await gateway.get(ME, headers=key)

    await assert_response(response, ME, 200)
    assert orjson.loads(await response.read()) == {
        "key_id": "000000000000000000000001",
        "name": "nightly sync",
        "owner": "acme",
        "scopes": ["events", "lookup"],
        "created_at": "2026-03-02T12:00:00Z",
        "expires_at": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "rate": {"count": 7, "window_seconds": 3600, "remaining": 5, "reset_seconds": 3600},
    }


async def test_a_key_without_a_rate_has_that_of_the_settings(gateway: Gateway) -> None:
    response = await gateway.get(ME, headers=gateway.issue())

    rate = orjson.loads(await response.read())["rate"]
    assert (rate["count"], rate["window_seconds"]) == (1000, 60)


async def test_keys_have_their_own_rates(gateway: Gateway) -> None:
    slow, fast = gateway.issue(rate=Rate(1, 60)), gateway.issue()

    statuses = [(await gateway.get(ME, headers=key)).status for key in (slow, slow, fast, fast)]

    assert statuses == [200, 429, 200, 200]


async def test_the_sources_are_the_configured_networks() -> None:
    networks = (ip_network("203.0.113.0/28"), ip_network("2001:db8::/64"))
    async with a_gateway(webhook_sources=networks) as gateway:
        response = await gateway.get(SOURCES)

        await assert_response(response, SOURCES, 200)

    assert response.headers["Cache-Control"] == "public, max-age=300"
    assert await response.json() == {"addresses": ["203.0.113.0/28", "2001:db8::/64"]}


# Unknown parameters


async def errors_of(gateway: Gateway, path: str, **options: Any) -> list[tuple[str, str]]:
    """Parameters and messages of the 400 that a request with any key gets."""
    method = options.pop("method", "GET")
    answer = await gateway.client.request(method, path, headers=gateway.issue(), **options)
    problem = await problem_of(answer)

    assert (answer.status, problem["code"]) == (400, "invalid_parameter")
    first = problem["errors"][0]
    assert problem["detail"] == f"{first['parameter']}: {first['message']}"
    return [(error["parameter"], error["message"]) for error in problem["errors"]]


@pytest.mark.parametrize(
    "path, name, hint",
    [
        (f"{LOOKUP}&inclde=owners", "inclde", "did you mean include?"),
        ("/api?contry=dk&vat=12345674", "contry", "did you mean country?"),
        ("/api?country=dk&VAT=12345674", "VAT", "did you mean vat?"),
        ("/api/name?country=dk&q=x1&includes=roles", "includes", "did you mean include?"),
        ("/api/suggest?country=dk&q=ab&limits=5", "limits", "did you mean limit?"),
        ("/api/events?company=dk:12345674", "company", "did you mean companies?"),
        ("/api/events?type=company.created", "type", "did you mean types?"),
        ("/api/events/stream?type=company.created", "type", "did you mean types?"),
        ("/api/webhooks/wh_1/deliveries?stauts=failed", "stauts", "did you mean status?"),
        (
            "/api/address?country=dk&q=Vej+1&xyzzy=1",
            "xyzzy",
            "the parameters are country, q, include, format",
        ),
        ("/api/me?limit=1", "limit", "there are none"),
    ],
)
async def test_an_unknown_parameter_is_named_with_the_nearest_or_all(
    gateway: Gateway, path: str, name: str, hint: str
) -> None:
    assert await errors_of(gateway, path) == [(name, f"unknown parameter; {hint}")]
    assert gateway.lookups.asked == []
    assert gateway.suggestions.asked == []
    assert gateway.webhooks.asked == []


async def test_every_served_path_but_those_of_reconciliation_refuses_them(
    gateway: Gateway,
) -> None:
    for route in gateway.client.app.router.routes():
        assert route.resource is not None
        is_open = route.resource.canonical.startswith(RECONCILE_PATH)
        if not is_open and route.method not in (hdrs.METH_HEAD, hdrs.METH_OPTIONS):
            path = route.resource.canonical.replace("{list}", "forms").replace("{guide}", "lookups")
            path = path.replace("{", "").replace("}", "")
            found = await errors_of(gateway, f"{path}?x=1", method=route.method, data=b"")
            assert [name for name, _ in found] == ["x"]


async def test_another_search_beside_q_keeps_its_problem(gateway: Gateway) -> None:
    answer = await gateway.get("/api/vat?country=dk&q=12345674&name=x")

    assert await code_of(answer) == (400, "multiple_search_parameters")


async def test_head_takes_the_parameters_of_get(gateway: Gateway) -> None:
    assert (await gateway.client.head(LOOKUP)).status == 200
    assert (await gateway.client.head(f"{LOOKUP}&unknown=1")).status == 400


async def test_many_and_long_names_cost_little(gateway: Gateway) -> None:
    names = "&".join(f"{'x' * 30}{number}=1" for number in range(200))

    assert len(await errors_of(gateway, f"/api/me?{names}")) == 10
    [(name, _)] = await errors_of(gateway, f"/api/me?{'n' * 4000}=1")
    assert name == "n" * 100
