"""Suggestions as clients see them: status, headers, body; over a fake `Suggestions`."""

import pytest
from structlog.testing import capture_logs

from common.contracts.lookup import SuggestReply, SuggestRequest
from gateway.domain.keys import Scope
from gateway.domain.rates import Rate
from tests.fakes.gateway import Gateway, code_of
from tests.fakes.gateway import gateway as a_gateway

SUGGEST = "/api/suggest?country=dk&q=Pr%C3%B8v"


async def test_the_list_is_passed_on_byte_by_byte(gateway: Gateway) -> None:
    gateway.suggestions.answer = SuggestReply(body=b'{"suggestions" : []}')

    answer = await gateway.get(SUGGEST)

    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "private, max-age=60"
    assert await answer.read() == b'{"suggestions" : []}'


async def test_the_lookup_service_receives_the_typed_text(gateway: Gateway) -> None:
    await gateway.get(SUGGEST + "&limit=5", headers={"X-Request-Id": "mine"})

    assert gateway.suggestions.asked == [SuggestRequest(country="dk", text="Prøv", limit=5)]
    assert gateway.suggestions.request_ids == ["mine"]


@pytest.mark.parametrize("parameter", ["format=xml", "vat=12345674", "unknown=1"])
async def test_other_parameters_are_ignored(gateway: Gateway, parameter: str) -> None:
    answer = await gateway.get(f"{SUGGEST}&{parameter}")

    assert answer.status == 200
    assert answer.content_type == "application/json"


@pytest.mark.parametrize(
    "query, expected",
    [
        ("country=dk", "missing_parameter"),
        ("country=se&q=ab", "invalid_parameter"),
        ("country=dk&q=%ff%fe", "invalid_parameter"),
        ("country=dk&q=a&format=xml", "invalid_parameter"),
    ],
)
async def test_an_invalid_query_is_a_problem_in_json(
    gateway: Gateway, query: str, expected: str
) -> None:
    answer = await gateway.get(f"/api/suggest?{query}")

    assert await code_of(answer) == (400, expected)
    assert gateway.suggestions.asked == []


async def test_head_has_the_headers_of_get_and_no_body(gateway: Gateway) -> None:
    whole = await gateway.get(SUGGEST)
    head = await gateway.client.head(SUGGEST)

    assert head.status == 200
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]


async def test_suggestions_are_open_to_cross_origin_scripts(gateway: Gateway) -> None:
    answer = await gateway.get(SUGGEST, headers={"Origin": "https://shop.example"})
    preflight = await gateway.client.options("/api/suggest")

    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert preflight.status == 204
    assert "GET" in preflight.headers["Access-Control-Allow-Methods"]


async def test_every_keystroke_counts_as_one_request() -> None:
    async with a_gateway(anonymous_rate=Rate(2, 60)) as gateway:
        answers = [await gateway.get(f"{SUGGEST}&limit=20") for _ in range(3)]

        assert [answer.status for answer in answers] == [200, 200, 429]
        assert answers[0].headers["RateLimit"] == '"anonymous";r=1;t=60'
        assert answers[2].headers["Retry-After"] == "60"


async def test_suggestions_need_the_same_access_as_lookups() -> None:
    async with a_gateway(anonymous_lookups=False) as gateway:
        without = await gateway.get(SUGGEST)
        other = await gateway.get(
            SUGGEST, headers=gateway.issue(scopes=frozenset({Scope.WEBHOOKS}))
        )
        good = await gateway.get(SUGGEST, headers=gateway.issue())

        assert await code_of(without) == (401, "unauthorized")
        assert await code_of(other) == (403, "forbidden")
        assert good.status == 200


async def test_the_typed_text_is_not_logged(gateway: Gateway) -> None:
    with capture_logs() as lines:
        await gateway.get("/api/suggest?country=dk&q=Testesen")

    assert [(line["event"], line["route"]) for line in lines] == [("request.done", "/api/suggest")]
    assert "Testesen" not in str(lines)
