"""Unknown query parameters are refused on every path, with the nearest that exists."""

from typing import Any

import pytest
from aiohttp import hdrs

from tests.fakes.gateway import Gateway, problem_of

LOOKUP = "/api?country=dk&vat=12345674"


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
    "path, name, meant",
    [
        (f"{LOOKUP}&inclde=owners", "inclde", "include"),
        ("/api?contry=dk&vat=12345674", "contry", "country"),
        ("/api?country=dk&VAT=12345674", "VAT", "vat"),
        ("/api/name?country=dk&q=x1&includes=roles", "includes", "include"),
        ("/api/suggest?country=dk&q=ab&limits=5", "limits", "limit"),
        ("/api/events?company=dk:12345674", "company", "companies"),
        ("/api/events?type=company.created", "type", "types"),
        ("/api/events/stream?type=company.created", "type", "types"),
        ("/api/webhooks/wh_1/deliveries?stauts=failed", "stauts", "status"),
    ],
)
async def test_a_misspelled_parameter_is_named_with_the_nearest(
    gateway: Gateway, path: str, name: str, meant: str
) -> None:
    assert await errors_of(gateway, path) == [(name, f"unknown parameter; did you mean {meant}?")]
    assert gateway.lookups.asked == []
    assert gateway.suggestions.asked == []
    assert gateway.webhooks.asked == []


async def test_one_that_is_near_to_none_lists_them_all(gateway: Gateway) -> None:
    path = "/api/address?country=dk&q=Vej+1&xyzzy=1"

    assert await errors_of(gateway, path) == [
        ("xyzzy", "unknown parameter; the parameters are country, q, include, format")
    ]
    assert await errors_of(gateway, "/api/me?limit=1") == [
        ("limit", "unknown parameter; there are none")
    ]


async def test_every_served_path_refuses_them(gateway: Gateway) -> None:
    for route in gateway.client.app.router.routes():
        assert route.resource is not None
        if route.method not in (hdrs.METH_HEAD, hdrs.METH_OPTIONS):
            path = route.resource.canonical.replace("{", "").replace("}", "")
            found = await errors_of(gateway, f"{path}?x=1", method=route.method, data=b"")
            assert [name for name, _ in found] == ["x"]


async def test_another_search_beside_q_keeps_its_problem(gateway: Gateway) -> None:
    answer = await gateway.get("/api/vat?country=dk&q=12345674&name=x")

    assert (await problem_of(answer))["code"] == "multiple_search_parameters"


async def test_a_preflight_has_the_query_of_its_request(gateway: Gateway) -> None:
    answer = await gateway.client.request("OPTIONS", f"{LOOKUP}&unknown=1")

    assert answer.status == 204


async def test_head_takes_the_parameters_of_get(gateway: Gateway) -> None:
    assert (await gateway.client.head(LOOKUP)).status == 200
    assert (await gateway.client.head(f"{LOOKUP}&unknown=1")).status == 400


async def test_an_unknown_path_is_not_found_whatever_its_parameters(gateway: Gateway) -> None:
    assert (await gateway.get("/api/nothing?unknown=1")).status == 404


async def test_the_problem_of_a_lookup_has_the_requested_format(gateway: Gateway) -> None:
    answer = await gateway.get(f"{LOOKUP}&unknown=1&format=xml")

    assert (answer.status, answer.content_type) == (400, "application/problem+xml")


async def test_many_and_long_names_cost_little(gateway: Gateway) -> None:
    names = "&".join(f"{'x' * 30}{number}=1" for number in range(200))

    assert len(await errors_of(gateway, f"/api/me?{names}")) == 10
    [(name, _)] = await errors_of(gateway, f"/api/me?{'n' * 4000}=1")
    assert name == "n" * 100
