"""Batches, quotas, codes, keys and parameters, as clients see them.

Single requests and their answers are in the tables of `answers`.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse, hdrs
from hypothesis import given
from hypothesis import strategies as st

from common.contracts.company import Country, OwnerRole, RoleCode, Status
from common.contracts.find import CodeText, Facet, FindPosition, FindReply, FindSort
from common.contracts.lookup import TYPED_SEARCHES, LookupReply, LookupRequest, SearchType
from common.contracts.watchlists import WatchedReply, WatchedRequest
from common.domain.code_texts import DIVISIONS, FORMS, ROLES, STATUSES
from common.domain.known_values import is_known
from common.runtime.public_port.rates import Rate
from gateway.access.clients import Caller
from gateway.access.keys import Scope
from gateway.lookups.batch import FIELDS, MAX_LOOKUPS, parse_batch
from gateway.lookups.find import CURSOR, cursor_of, read_cursor
from gateway.lookups.lookup import parse_lookup
from gateway.problems import (
    CompanyNotFound,
    InvalidBody,
    LookupTimeout,
    Problem,
    ServiceUnavailable,
)
from gateway.reconcile.service import RECONCILE_PATH
from tests.builders.openapi import assert_response
from tests.fakes.gateway import FakeLookups, Gateway, problem_of
from tests.fakes.gateway import gateway as a_gateway

GOOD = {"country": "dk", "vat": "12345674"}
LOOKUP = "/api?country=dk&vat=12345674"
UNITS = "/api/companies/dk/12345674/production_units"
ME, SOURCES = "/api/me", "/api/webhook-sources"

FAILURES = {
    "unknown": CompanyNotFound("no company in the register matches"),
    "late": LookupTimeout("the lookup service did not answer in time"),
    "away": ServiceUnavailable("the lookup service cannot be reached now"),
}


class ByName(FakeLookups):
    """Answers with the term in odd JSON, or fails as the name says."""

    async def look_up(
        self, request: LookupRequest, *, caller: Caller, **_options: Any
    ) -> LookupReply:
        term = request.questions[0].term
        if term in FAILURES:
            raise FAILURES[term]
        await super().look_up(request, caller=caller)
        return LookupReply(body=b'{"vat" : "%b"}' % term.encode(), tag=term)


@pytest.fixture
async def limited() -> AsyncIterator[Gateway]:
    """A key may ask 40 times a minute."""
    async with a_gateway(key_rate=Rate(40, 60)) as running:
        yield running


async def post(gateway: Gateway, *lookups: Any, **headers: str) -> ClientResponse:
    return await gateway.client.post(
        "/api/batch", json={"lookups": lookups}, headers=headers or gateway.issue()
    )


async def test_lookups_of_a_batch_succeed_and_fail_alone_and_in_their_order() -> None:
    names = [{"country": "no", "name": name} for name in ("third", *FAILURES)]
    async with a_gateway(lookups=ByName()) as gateway:
        body = await (await post(gateway, *names, GOOD)).read()

    third, *problems, found = orjson.loads(body)["results"]
    assert body.startswith(b'{"results":[{"company":{"vat" : "third"}},{"problem"')
    assert (third, found) == ({"company": {"vat": "third"}}, {"company": {"vat": "12345674"}})
    assert [each["problem"]["code"] for each in problems] == [
        problem.code for problem in FAILURES.values()
    ]


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


async def test_a_request_takes_the_turn_of_its_key_or_of_its_address(gateway: Gateway) -> None:
    first, second = gateway.issue(), gateway.issue()

    for headers in (first, second, {}, {"X-API-Key": "wrong"}, first):
        await gateway.get(UNITS, headers=headers)

    one, two, address, again = gateway.parts.clients
    assert {one, two} == gateway.keys.keys.keys()
    assert (address, again) == ("127.0.0.1", one)


async def test_a_hundred_records_are_asked_in_parts_and_answered_in_order(
    gateway: Gateway,
) -> None:
    records = [{"id": str(n), "name": f"Nr {n}"} for n in range(100)]

    answer = await gateway.client.post(
        "/api/match", json={"records": records}, headers=gateway.issue()
    )

    found = (await answer.json())["results"]
    assert [one["id"] for one in found] == [str(n) for n in range(100)]
    assert max(len(request.records) for request in gateway.matches.asked) == 8
    assert sum(len(request.records) for request in gateway.matches.asked) == 200


async def test_only_words_need_the_texts_of_codes_which_are_kept(gateway: Gateway) -> None:
    gateway.finds.answer = FindReply(
        total=1,
        has_more=False,
        facets={Facet.INDUSTRY: {"620100": 1}, Facet.FORM: {"80": 1}},
        texts={Facet.FORM: {"80": CodeText(text="Anpartsselskab")}},
    )
    counts = []
    for query in ("industry=62&form=ApS", "industry=IT", "form=anpartsselskab", "industry=IT"):
        await gateway.get(f"/api/companies?country=dk&{query}")
        counts.append(sum(not one.limit for one in gateway.finds.asked))
    gateway.clock.now += 601
    await gateway.get("/api/codes/forms?country=dk")

    assert counts == [0, 1, 1, 1]
    assert sum(not one.limit for one in gateway.finds.asked) == 2


def test_every_status_and_role_has_texts_and_every_english_form_exists() -> None:
    assert STATUSES.keys() == set(Status)
    assert ROLES.keys() == {*OwnerRole, *RoleCode}
    assert all(is_known("industries", code) for code in DIVISIONS)
    for country, forms in FORMS.items():
        assert [code for code in forms if not is_known("forms", code, [country])] == []


@pytest.mark.parametrize(
    "sort, key", [("name", "ÿ" * 60), ("-name", "ÿ" * 60), ("relevance", (1 << 64) - 1)]
)
def test_the_longest_cursors_are_read_again(sort: str, key: int | str) -> None:
    position = FindPosition(key=key, country=Country.NO, number=999_999_999)

    cursor = cursor_of(position, FindSort(sort))

    assert read_cursor(cursor, FindSort(sort)) == position
    assert len(cursor) <= int(CURSOR.rpartition(",")[2].rstrip("}$"))


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


# Parameters and bodies


async def test_every_served_path_but_those_of_reconciliation_refuses_unknown_parameters(
    gateway: Gateway,
) -> None:
    for route in gateway.client.app.router.routes():
        assert route.resource is not None
        is_open = route.resource.canonical.startswith(RECONCILE_PATH)
        if not is_open and route.method not in (hdrs.METH_HEAD, hdrs.METH_OPTIONS):
            path = route.resource.canonical.replace("{list}", "forms").replace("{guide}", "lookups")
            path = path.replace("{", "").replace("}", "")
            answer = await gateway.client.request(
                route.method, f"{path}?x=1", headers=gateway.issue(), data=b""
            )
            problem = await problem_of(answer)
            assert (answer.status, problem["code"]) == (400, "invalid_parameter")
            assert [error["parameter"] for error in problem["errors"]] == ["x"]


NAMES = st.sampled_from(["country", "vat", "name", "q", "search", "include", "format", "ean"])
VALUES = st.lists(st.text(max_size=12) | st.sampled_from(["dk", "no", "xml"]), min_size=1)


@given(st.dictionaries(NAMES, VALUES), st.none() | st.sampled_from(TYPED_SEARCHES))
def test_any_query_is_a_lookup_or_a_problem_with_errors(
    query: dict[str, list[str]], typed: SearchType | None
) -> None:
    try:
        outcome: Sequence[object] = parse_lookup(query, typed=typed)[0].questions
    except Problem as problem:
        outcome = problem.errors

    assert len(outcome) > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4))
def test_any_list_of_lookups_is_parsed_or_rejected(lookups: list[Any]) -> None:
    with suppress(InvalidBody):
        assert len(parse_batch(json.dumps({"lookups": lookups}).encode())) == len(lookups)


def test_a_batch_has_at_most_a_hundred_lookups() -> None:
    whole = parse_batch(orjson.dumps({"lookups": [GOOD] * MAX_LOOKUPS}))
    with pytest.raises(InvalidBody) as refused:
        parse_batch(orjson.dumps({"lookups": [GOOD] * (MAX_LOOKUPS + 1)}))

    assert len(whole) == 100
    [error] = refused.value.errors
    assert (error.parameter, "1 to 100" in error.message) == ("lookups", True)


class _EarlierRegistry:
    """A registry of a release that knows no numbers: it ignores the field."""

    async def watched(
        self,
        request: WatchedRequest,  # noqa: ARG002
        *,
        caller: Caller,  # noqa: ARG002
    ) -> WatchedReply:
        return WatchedReply(companies=())


async def test_a_list_of_a_watchlist_is_refused_by_a_registry_of_an_earlier_release() -> None:
    async with a_gateway(ports={"watchlists": _EarlierRegistry()}) as gateway:
        answer = await gateway.get(
            f"/api/companies?watchlist=wl_{'0' * 32}", headers=gateway.issue()
        )

        assert answer.status == 503
        assert gateway.finds.asked == []
