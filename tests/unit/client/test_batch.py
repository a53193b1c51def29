"""A batch of any number is split, paced by the rate limit, and complete."""

from collections.abc import Sequence
from typing import Any

import pytest

from company_registry import InvalidResponse, Lookup, Retries
from company_registry.http import Response
from company_registry.streams import batch
from tests.builders.companies import a_company
from tests.fakes.client import FakeTransport, answer, problem

LOOKUPS = [Lookup("dk", f"{number:08}") for number in range(250)]


def company(vat: str) -> dict[str, Any]:
    return {
        "company": {
            **a_company(vat=vat).model_dump(mode="json"),
            "revision": 1,
            "match": {"type": "vat", "score": 100},
            "source": {"register": "cvr"},
        }
    }


def found(lookups: Sequence[Lookup], *, left: int = 1000, quota: int = 1200) -> Response:
    return answer(
        {"results": [company(each.term) for each in lookups]},
        ratelimit_policy=f'"key";q={quota};w=60',
        ratelimit=f'"key";r={left};t=17',
    )


def failed(code: str, status: int) -> dict[str, Any]:
    return {"problem": {"code": code, "status": status, "detail": "…"}}


def sizes(transport: FakeTransport) -> list[int]:
    return [len(request.body["lookups"]) for request in transport.requests]


def test_lookups_are_split_into_requests_of_a_hundred_and_answered_in_order() -> None:
    transport = FakeTransport([found(LOOKUPS[:100]), found(LOOKUPS[100:200]), found(LOOKUPS[200:])])

    results = list(transport.iterate(batch(Retries(), LOOKUPS)))

    assert sizes(transport) == [100, 100, 50]
    assert [result.company and result.company.vat for result in results] == [
        lookup.term for lookup in LOOKUPS
    ]
    assert transport.slept == []


def test_the_next_request_waits_for_the_window_when_the_quota_is_used_up() -> None:
    transport = FakeTransport([found(LOOKUPS[:100], left=99), found(LOOKUPS[100:200])])

    list(transport.iterate(batch(Retries(), LOOKUPS[:200])))

    assert transport.slept == [17]


def test_requests_shrink_to_a_quota_below_a_hundred() -> None:
    refused = problem(
        "rate_limited",
        429,
        retry_after="3600",
        ratelimit_policy='"key";q=40;w=60',
        ratelimit='"key";r=39;t=17',
    )
    parts = [found(LOOKUPS[:40], left=0, quota=40), found(LOOKUPS[40:80], left=0, quota=40)]
    last = found(LOOKUPS[80:90], left=30, quota=40)
    transport = FakeTransport([refused, *parts, last])

    results = list(transport.iterate(batch(Retries(), LOOKUPS[:90])))

    assert sizes(transport) == [90, 40, 40, 10]
    assert transport.slept == [17, 17, 17]
    assert len(results) == 90


def test_a_lookup_that_failed_for_a_moment_is_repeated_alone() -> None:
    first = answer({"results": [company("00000000"), failed("lookup_timeout", 504)]})
    transport = FakeTransport([first, found([LOOKUPS[1]])])

    results = list(transport.iterate(batch(Retries(), LOOKUPS[:2])))

    assert sizes(transport) == [2, 1]
    assert [result.company and result.company.vat for result in results] == ["00000000", "00000001"]


def test_a_lookup_that_finds_nothing_has_its_error_and_is_not_repeated() -> None:
    transport = FakeTransport([answer({"results": [failed("company_not_found", 404)]})])

    [result] = transport.iterate(batch(Retries(), LOOKUPS[:1]))

    assert result.error is not None
    assert result.error.code == "company_not_found"


def test_results_arrive_before_all_lookups_are_read() -> None:
    taken = []

    def lookups() -> Any:
        for lookup in LOOKUPS:
            taken.append(lookup)
            yield lookup

    stream = iter(FakeTransport([found(LOOKUPS[:100])]).iterate(batch(Retries(), lookups())))
    next(stream)

    assert len(taken) == 100


def test_a_term_that_is_too_long_fails_alone() -> None:
    refused = problem("body_too_large", 413)
    transport = FakeTransport(
        [refused, refused, found(LOOKUPS[:1]), refused, found(LOOKUPS[2:4], left=99)]
    )

    results = list(transport.iterate(batch(Retries(), LOOKUPS[:4])))

    assert sizes(transport) == [4, 2, 1, 1, 2]
    assert [result.error and result.error.code for result in results] == [
        *(None, "body_too_large", None, None),
    ]
    assert [result.lookup for result in results] == LOOKUPS[:4]


@pytest.mark.parametrize("body", [{}, [], {"results": []}, {"results": [{}]}, {"results": [5]}])
def test_an_answer_of_another_shape_is_an_invalid_response(body: Any) -> None:
    with pytest.raises(InvalidResponse):
        list(FakeTransport([answer(body)]).iterate(batch(Retries(), LOOKUPS[:1])))
