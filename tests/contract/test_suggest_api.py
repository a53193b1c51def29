"""Suggestions as clients see them: status, headers, body; over a fake `Suggestions`."""

from common.contracts.lookup import SuggestReply, SuggestRequest
from tests.fakes.gateway import Gateway, code_of

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


async def test_an_invalid_query_is_a_problem_in_json(gateway: Gateway) -> None:
    answer = await gateway.get("/api/suggest?country=dk&q=%ff%fe")

    assert await code_of(answer) == (400, "invalid_parameter")
    assert gateway.suggestions.asked == []
