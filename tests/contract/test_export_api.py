"""Copies of a register as clients see them: rows, resumption, ends; over a fake `Exports`."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import ClientResponse
from prometheus_client import REGISTRY

from common.contracts.company import CompanyKey, Country, Include, Status
from common.contracts.failures import Unavailable
from common.contracts.find import FindRequest
from gateway import exports
from gateway.access.keys import Scope
from gateway.exports import EXPORT_PATH
from gateway.problems import LookupTimeout, ServiceUnavailable
from tests.builders.keys import NOON
from tests.builders.openapi import DOCUMENT, resolved
from tests.delivery.waiting import SOON, eventually
from tests.fakes.gateway import Gateway, code_of, problem_of

NUMBERS = ["10000009", "10000017", "10000025", "10000033", "10000041"]


@pytest.fixture
def key(gateway: Gateway) -> dict[str, str]:
    gateway.exports.numbers = NUMBERS
    return gateway.issue(scopes=frozenset({Scope.EXPORT}))


async def exported(gateway: Gateway, key: dict[str, str], query: str = "") -> ClientResponse:
    return await gateway.get(f"{EXPORT_PATH}?country=dk{query}", headers=key)


async def rows(answer: ClientResponse) -> list[Any]:
    return [orjson.loads(line) for line in (await answer.read()).splitlines()]


async def until(condition: Callable[[], bool]) -> None:
    async def look() -> bool:
        return condition()

    await eventually(look, bool)


async def test_every_company_is_a_line_and_the_head_has_the_place_in_the_feed(
    gateway: Gateway, key: dict[str, str]
) -> None:
    answer = await exported(gateway, key)

    assert answer.status == 200
    assert await rows(answer) == NUMBERS
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.headers["Events-Cursor"] == "00000000002a"
    assert answer.headers["Transfer-Encoding"] == "chunked"
    described = DOCUMENT["paths"][EXPORT_PATH]["get"]["responses"]["200"]["headers"]
    required = [
        name for name, header in described.items() if resolved(header).get("required", True)
    ]
    assert all(name in answer.headers for name in required)


async def test_each_page_follows_the_last_number_of_the_one_before(
    gateway: Gateway, key: dict[str, str]
) -> None:
    await (await exported(gateway, key)).read()

    assert [asked.after for asked in gateway.exports.asked] == ["", "10000017", "10000033"]


async def test_an_export_resumes_behind_a_number(gateway: Gateway, key: dict[str, str]) -> None:
    answer = await exported(gateway, key, "&after=DK10000025")

    assert await rows(answer) == NUMBERS[3:]


async def test_it_is_compressed_for_clients_that_accept_it(
    gateway: Gateway, key: dict[str, str]
) -> None:
    plain = await gateway.get(
        f"{EXPORT_PATH}?country=dk", headers={**key, "Accept-Encoding": "identity"}
    )
    assert "Content-Encoding" not in plain.headers
    whole = await plain.read()

    async with aiohttp.ClientSession(auto_decompress=False) as session:
        url = gateway.client.make_url(f"{EXPORT_PATH}?country=dk")
        answer = await session.get(url, headers={**key, "Accept-Encoding": "gzip"})
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(await answer.read()) == whole


async def test_without_filters_a_copy_has_every_company(
    gateway: Gateway, key: dict[str, str]
) -> None:
    await (await exported(gateway, key, "&include=owners,roles")).read()
    await (await exported(gateway, key, "&status=any")).read()

    assert {request.filter for request in gateway.exports.asked} == {None}
    assert gateway.exports.asked[0].include == (Include.OWNERS, Include.ROLES)


async def test_a_watchlist_needs_a_lookup_service_that_compares_numbers(gateway: Gateway) -> None:
    key = gateway.issue(scopes=frozenset({Scope.EXPORT, Scope.WEBHOOKS}))
    gateway.exports.is_limited = False

    answer = await exported(gateway, key, f"&watchlist=wl_{'a' * 32}")

    assert (await answer.json())["code"] == "service_unavailable"


async def test_a_request_carries_some_of_the_numbers_of_a_long_watchlist(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.exports.NUMBERS", 2)
    key = gateway.issue(scopes=frozenset({Scope.EXPORT, Scope.WEBHOOKS}))
    gateway.exports.numbers = NUMBERS
    watched = [CompanyKey(Country.DK, number) for number in (*NUMBERS[1:], "99999999")]
    gateway.watchlists.lists = {f"wl_{'a' * 32}": set(watched)}

    found = await rows(await exported(gateway, key, f"&watchlist=wl_{'a' * 32}"))

    assert found == NUMBERS[1:]
    sent = [request.filter.numbers for request in gateway.exports.asked if request.filter]
    assert [len(each or b"") // 4 for each in sent] == [2, 2, 1]


async def test_filters_are_those_of_lists(gateway: Gateway, key: dict[str, str]) -> None:
    await (await exported(gateway, key, "&industry=62&form=80&status=active")).read()

    assert gateway.exports.asked[0].filter == FindRequest(
        country=Country.DK, industries=("62",), forms=("80",), statuses=(Status.ACTIVE,), limit=0
    )


@pytest.mark.parametrize(
    "query, parameter, part",
    [
        ("", "country", "required"),
        ("country=dk,no", "country", "dk or no"),
        ("country=dk&after=1", "after", "8 digits"),
        ("country=dk&include=alternatives", "include", "owners"),
        ("country=dk&include=subsidiaries", "include", "owners"),
        ("country=dk&form=FLI", "form", "no company in dk has FLI"),
        ("country=dk&owned_by=no:923609016", "owned_by", "needs country=no"),
        ("country=dk&limit=5", "limit", "parameter"),
    ],
)
async def test_an_impossible_copy_is_refused_before_it_begins(
    gateway: Gateway, key: dict[str, str], query: str, parameter: str, part: str
) -> None:
    answer = await gateway.get(f"{EXPORT_PATH}?{query}", headers=key)

    problem = await problem_of(answer)
    assert answer.status == 400
    errors = {error["parameter"]: error["message"] for error in problem["errors"]}
    assert part in errors[parameter]
    assert (gateway.exports.asked, gateway.leases.held) == ([], {})


async def test_a_key_needs_the_scope(gateway: Gateway) -> None:
    key = gateway.issue(scopes=frozenset(Scope) - {Scope.EXPORT})

    assert await code_of(await exported(gateway, key)) == (403, "forbidden")


async def test_a_key_has_one_export_at_a_time(gateway: Gateway, key: dict[str, str]) -> None:
    other = gateway.issue(scopes=frozenset({Scope.EXPORT}))
    first = await begun(gateway, key)

    second = await exported(gateway, key)
    gateway.exports.gate.set()

    problem = await problem_of(second)
    assert (second.status, problem["code"]) == (429, "rate_limited")
    assert "one at a time" in problem["detail"]
    assert second.headers["Retry-After"] == "10"
    assert await rows(first) == NUMBERS
    assert (await exported(gateway, other)).status == 200


async def test_a_process_has_so_many_exports_at_a_time(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MAX_EXPORTS", 1)
    other = gateway.issue(scopes=frozenset({Scope.EXPORT}))
    first = await begun(gateway, key)

    refused = await exported(gateway, other)
    gateway.exports.gate.set()

    assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
    assert await rows(first) == NUMBERS
    assert (await exported(gateway, other)).status == 200


async def test_a_finished_export_leaves_room_for_the_next(
    gateway: Gateway, key: dict[str, str]
) -> None:
    for fault in ([], [LookupTimeout()], []):
        gateway.exports.faults = list(fault)
        await (await exported(gateway, key)).read()

    assert gateway.leases.held == {}


async def test_leases_that_cannot_be_read_are_a_problem(
    gateway: Gateway, key: dict[str, str]
) -> None:
    gateway.leases.fault = Unavailable("no database")

    assert await code_of(await exported(gateway, key)) == (503, "service_unavailable")


async def test_a_page_that_cannot_be_read_now_is_requested_again(
    gateway: Gateway, key: dict[str, str]
) -> None:
    answer = await begun(gateway, key)
    gateway.exports.faults = [ServiceUnavailable(), LookupTimeout()]

    gateway.exports.gate.set()

    assert await rows(answer) == NUMBERS


async def begun(gateway: Gateway, key: dict[str, str]) -> ClientResponse:
    """An export whose second page waits."""
    gateway.exports.gate.clear()
    answer = await exported(gateway, key)
    await until(lambda: len(gateway.exports.asked) == 2)
    return answer


async def assert_broken_off(answer: ClientResponse) -> None:
    async with asyncio.timeout(SOON):
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_an_export_that_cannot_go_on_is_broken_off(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PATIENCE", 0.0)
    answer = await begun(gateway, key)
    gateway.exports.faults = [ServiceUnavailable()]

    gateway.exports.gate.set()

    await assert_broken_off(answer)
    await until(lambda: gateway.leases.held == {})


async def test_a_revoked_key_ends_its_export(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "RENEW_EVERY", 0.01)
    answer = await begun(gateway, key)

    await gateway.keys.revoke(key["X-API-Key"].partition(".")[0], at=NOON)

    await assert_broken_off(answer)


async def test_a_lost_lease_ends_the_export(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "RENEW_EVERY", 0.01)
    answer = await begun(gateway, key)

    gateway.leases.held = dict.fromkeys(gateway.leases.held, 99)

    await assert_broken_off(answer)
    assert set(gateway.leases.held.values()) == {99}


async def test_a_shutdown_ends_exports_so_that_clients_resume(
    gateway: Gateway, key: dict[str, str]
) -> None:
    answer = await begun(gateway, key)

    await gateway.client.app.shutdown()

    await assert_broken_off(answer)
    await until(lambda: gateway.leases.held == {})


async def test_a_client_that_leaves_ends_its_export(gateway: Gateway, key: dict[str, str]) -> None:
    answer = await begun(gateway, key)

    answer.close()
    gateway.exports.padding = 10_000
    gateway.exports.gate.set()

    await until(lambda: gateway.leases.held == {})


async def test_a_client_that_leaves_before_the_first_page_leaves_room_for_others(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MAX_EXPORTS", 1)
    gateway.exports.gate.clear()
    gateway.exports.holds_first = True
    leaving = asyncio.create_task(exported(gateway, key))
    await until(lambda: len(gateway.exports.asked) == 1)

    leaving.cancel()
    await asyncio.wait([leaving])
    gateway.exports.gate.set()

    await until(lambda: gateway.leases.held == {})
    assert await rows(await exported(gateway, key)) == NUMBERS


async def test_a_client_that_does_not_read_stops_the_reading_of_pages(
    gateway: Gateway, key: dict[str, str]
) -> None:
    gateway.exports.padding, gateway.exports.size = 2**20, 1
    gateway.exports.numbers = [f"{number:08d}" for number in range(200)]

    answer = await gateway.get(
        f"{EXPORT_PATH}?country=dk", headers={**key, "Accept-Encoding": "identity"}
    )
    for _ in range(100):  # far more than enough turns of the loop to read all pages
        await gateway.get("/api/me", headers=key)

    assert len(gateway.exports.asked) < 20
    answer.close()


async def test_a_client_that_does_not_read_causes_one_page_ahead_of_the_one_that_is_written(
    gateway: Gateway, key: dict[str, str]
) -> None:
    gateway.exports.padding, gateway.exports.size = 2**20, 1
    gateway.exports.numbers = [f"{number:08d}" for number in range(200)]
    before = written()

    answer = await gateway.get(
        f"{EXPORT_PATH}?country=dk", headers={**key, "Accept-Encoding": "identity"}
    )
    for _ in range(100):
        await gateway.get("/api/me", headers=key)

    assert len(gateway.exports.asked) == written() - before + 2
    answer.close()


def written() -> float:
    """The companies that all exports have passed on."""
    return REGISTRY.get_sample_value("exported_companies_total") or 0.0


async def test_the_page_ahead_is_given_up_with_its_export(
    gateway: Gateway, key: dict[str, str]
) -> None:
    answer = await begun(gateway, key)
    assert gateway.exports.waiting == 1

    await gateway.client.app.shutdown()

    await assert_broken_off(answer)
    await until(lambda: gateway.exports.waiting == 0)


async def test_a_page_ahead_that_fails_breaks_off_no_page_that_is_being_written(
    gateway: Gateway, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PATIENCE", 0.0)
    gateway.exports.padding = 2**24  # more than the buffers of a connection hold
    key["Accept-Encoding"] = "identity"
    answer = await begun(gateway, key)
    gateway.exports.faults = [ServiceUnavailable()]
    before = written()

    gateway.exports.gate.set()
    await until(lambda: gateway.exports.waiting == 0)
    for _ in range(20):
        await gateway.get("/api/me", headers=key)
    held = dict(gateway.leases.held)
    await assert_broken_off(answer)

    assert held
    assert written() - before == gateway.exports.size


async def test_http_1_0_is_refused_because_its_responses_have_no_end(
    gateway: Gateway, key: dict[str, str]
) -> None:
    async with aiohttp.ClientSession(version=aiohttp.HttpVersion10) as session:
        url = gateway.client.make_url(f"{EXPORT_PATH}?country=dk")
        answer = await session.get(url, headers=key)

    assert answer.status == 400
