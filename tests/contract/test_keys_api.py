"""The keys of an owner over HTTP, as described and over MongoDB; publishable keys in browsers."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from aiohttp import ClientResponse
from structlog.testing import capture_logs

from common.contracts.failures import Unavailable
from common.mongo import Client, Database, database
from common.mongo_commands import create_indexes
from common.runtime.public_port.rates import Rate
from gateway.access.keys import KEY_INDEXES, MongoKeys, Scope, parse_key, write_key
from gateway.access.requests import REQUEST_INDEXES, KeyRequest, KeyRequests
from gateway.access.usage import USAGE_INDEXES, KeyUsage
from tests.builders.keys import a_presented_key, an_api_key
from tests.builders.openapi import assert_response
from tests.conftest import DatabaseNames
from tests.fakes.gateway import Gateway, code_of, problem_of
from tests.fakes.gateway import gateway as a_gateway

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=30)
SITE = "https://www.example.com"
LOOKUP = "/api?country=dk&vat=12345674"
KEYS, KEY, ROTATE = "/api/keys", "/api/keys/{key_id}", "/api/keys/{key_id}/rotate"
REQUESTS = "/api/keys/{key_id}/requests"
NEW = {"name": "sync", "scopes": ["lookup"]}


@dataclass
class Service:
    """A gateway whose keys are in MongoDB."""

    gateway: Gateway
    keys: MongoKeys
    usage: KeyUsage
    requests: KeyRequests

    async def issue(self, number: int = 1, **fields: Any) -> dict[str, str]:
        presented = a_presented_key(number)
        key = an_api_key(presented, **{"created_at": NOON - timedelta(days=1), **fields})
        await self.keys.add(key)
        return {"X-API-Key": write_key(presented)}

    async def send(
        self, method: str, path: str, key: Mapping[str, str], body: Any = None, **headers: str
    ) -> ClientResponse:
        data = None if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        given = {"Content-Type": "application/json"} if body is not None else {}
        return await self.gateway.client.request(
            method, path, data=data, headers={**given, **key, **headers}
        )

    async def listed(self, key: Mapping[str, str]) -> list[dict[str, Any]]:
        answer = await self.send("GET", KEYS, key)
        await assert_response(answer, KEYS, 200)
        found: list[dict[str, Any]] = (await answer.json())["keys"]
        return found


@pytest.fixture
def access(mongo: Client, database_names: DatabaseNames) -> Database:
    return database(mongo, database_names.access)


@pytest.fixture
async def service(access: Database) -> AsyncIterator[Service]:
    keys, usage = MongoKeys(access), KeyUsage(access, now=lambda: NOON)
    requests = KeyRequests(access, now=lambda: NOON)
    await create_indexes(access, {**KEY_INDEXES, **USAGE_INDEXES, **REQUEST_INDEXES})
    ports = {
        "keys": keys,
        "owned_keys": keys,
        "key_usage": usage,
        "key_requests": requests,
        "now": lambda: NOON,
    }
    async with a_gateway(ports=ports, max_keys_per_owner=3) as gateway:
        yield Service(gateway, keys, usage, requests)


@pytest.mark.integration
async def test_a_key_is_created_shown_once_used_and_ended(service: Service) -> None:
    admin = await service.issue(owner="acme")
    await service.issue(2, owner="globex")

    answer = await service.send("POST", KEYS, admin, NEW)
    await assert_response(answer, KEYS, 201)
    issued = await answer.json()
    new = {"X-API-Key": issued["key"]}
    used = await service.send("GET", LOOKUP, new)
    may_not = await service.send("GET", KEYS, new)
    await service.usage.report()
    listed = await service.listed(admin)
    ended = await service.send("DELETE", f"{KEYS}/{issued['key_id']}", admin)
    await assert_response(ended, KEY, 204)
    refused = await service.send("GET", LOOKUP, new)

    assert used.status == 200
    assert await code_of(may_not) == (403, "forbidden")
    assert [each["name"] for each in listed] == ["sync", "nightly sync"]
    assert listed[0]["created_by"] == a_presented_key(1).id
    assert listed[0]["days"] == [{"day": "2026-03-02", "requests": 2, "refused": 0}]
    assert listed[0]["last_used_at"] == "2026-03-02T12:00:00Z"
    assert "key" not in listed[0]
    assert issued["key"].partition(".")[2] not in orjson.dumps(listed).decode()
    assert refused.status == 401
    [after, _] = await service.listed(admin)
    assert (after["status"], after["ended_by"]) == ("ended", a_presented_key(1).id)


@pytest.mark.integration
async def test_a_replaced_key_goes_on_for_a_while(service: Service) -> None:
    admin = await service.issue(owner="acme")
    old = await service.issue(2, owner="acme", name="crm", scopes=frozenset({Scope.EVENTS}))

    answer = await service.send(
        "POST", f"{KEYS}/{a_presented_key(2).id}/rotate", admin, {"overlap_seconds": 3600}
    )

    await assert_response(answer, ROTATE, 201)
    issued = await answer.json()
    assert (issued["name"], issued["scopes"]) == ("crm", ["events"])
    found = {each["key_id"]: each for each in await service.listed(admin)}
    assert found[a_presented_key(2).id]["expires_at"] == "2026-03-02T13:00:00Z"
    assert (await service.send("GET", "/api/events?limit=1", old)).status == 200
    new = {"X-API-Key": issued["key"]}
    assert (await service.send("GET", "/api/events?limit=1", new)).status == 200
    # Without a body it is a day.
    again = await service.send("POST", f"{KEYS}/{issued['key_id']}/rotate", admin)
    assert (await code_of(again)) == (409, "key_limit_reached")


@pytest.mark.integration
@pytest.mark.parametrize(
    "own, asked, field",
    [
        ({"scopes": {Scope.KEYS, Scope.LOOKUP}}, {"scopes": ["lookup", "export"]}, "scopes"),
        ({"scopes": {Scope.KEYS}}, {"origins": [SITE]}, "scopes"),
        ({"expires_at": LATER}, {"expires_at": "2027-01-01T00:00:00Z"}, "expires_at"),
        ({"rate": Rate(60, 60)}, {"rate": {"count": 61, "window_seconds": 60}}, "rate"),
        ({"rate": Rate(60, 60)}, {"rate": {"count": 2, "window_seconds": 1}}, "rate"),
        ({"rate": Rate(60, 60)}, {"rate": {"count": 61, "window_seconds": 3600}}, "rate"),
        ({}, {"rate": {"count": 1001, "window_seconds": 60}}, "rate"),
        (
            {"rate": Rate(5, 60)},
            {"origins": [SITE], "visitor_rate": {"count": 6, "window_seconds": 60}},
            "visitor_rate",
        ),
    ],
)
async def test_a_key_creates_none_with_more_than_its_own(
    service: Service, own: dict[str, Any], asked: dict[str, Any], field: str
) -> None:
    own = {**own, "scopes": frozenset(own.get("scopes", Scope))}
    admin = await service.issue(**own)
    body = {"name": "more", **({} if "origins" in asked else {"scopes": ["keys"]}), **asked}

    answer = await service.send("POST", KEYS, admin, body)

    await assert_response(answer, KEYS, 403)
    problem = await problem_of(answer)
    assert [each["parameter"] for each in problem["errors"]] == [field]
    assert len(await service.keys.all()) == 1


@pytest.mark.integration
async def test_a_key_gets_no_rights_by_replacing_another(service: Service) -> None:
    admin = await service.issue(scopes=frozenset({Scope.KEYS}))
    await service.issue(2, scopes=frozenset({Scope.EXPORT}))

    answer = await service.send("POST", f"{KEYS}/{a_presented_key(2).id}/rotate", admin)

    await assert_response(answer, ROTATE, 403)
    assert len(await service.keys.all()) == 2
    strong = await service.keys.get(a_presented_key(2).id)
    assert strong is not None
    assert strong.expires_at is None


@pytest.mark.integration
async def test_a_new_key_has_the_limits_of_its_creator(service: Service) -> None:
    admin = await service.issue(expires_at=LATER, rate=Rate(7, 60), owner="acme")

    issued = await (await service.send("POST", KEYS, admin, NEW)).json()

    found = await service.keys.get(issued["key_id"])
    assert found is not None
    assert (found.owner, found.expires_at, found.rate) == ("acme", LATER, Rate(7, 60))


@pytest.mark.integration
async def test_keys_of_other_owners_are_not_found(service: Service) -> None:
    admin = await service.issue(owner="acme")
    await service.issue(2, owner="globex")
    other = a_presented_key(2).id

    ended = await service.send("DELETE", f"{KEYS}/{other}", admin)
    rotated = await service.send("POST", f"{KEYS}/{other}/rotate", admin)

    await assert_response(ended, KEY, 404)
    await assert_response(rotated, ROTATE, 404)
    key = await service.keys.get(other)
    assert key is not None
    assert key.is_valid(NOON)


@pytest.mark.integration
async def test_the_number_of_keys_is_limited_with_those_that_ended_recently(
    service: Service,
) -> None:
    admin = await service.issue(owner="acme")
    created = [await (await service.send("POST", KEYS, admin, NEW)).json() for _ in range(2)]
    await service.send("DELETE", f"{KEYS}/{created[0]['key_id']}", admin)

    answer = await service.send("POST", KEYS, admin, NEW)

    await assert_response(answer, KEYS, 409)
    assert len(await service.keys.all()) == 3


@pytest.mark.integration
async def test_every_change_is_logged_with_the_key_that_made_it_and_no_secret(
    service: Service,
) -> None:
    admin = await service.issue(owner="acme")
    with capture_logs() as logs:
        issued = await (await service.send("POST", KEYS, admin, NEW)).json()
        path = f"{KEYS}/{issued['key_id']}"
        rotated = await (await service.send("POST", f"{path}/rotate", admin)).json()
        await service.send("DELETE", path, admin)

    changes = [each for each in logs if each["event"].startswith("key.")]
    assert [(each["event"], each["subject"]) for each in changes] == [
        ("key.created", issued["key_id"]),
        ("key.rotated", rotated["key_id"]),
        ("key.ended", issued["key_id"]),
    ]
    assert {each["key_id"] for each in changes} == {a_presented_key(1).id}
    assert all(each["request_id"] and each["owner"] == "acme" for each in changes)
    for new in (issued, rotated):
        presented = parse_key(new["key"])
        assert presented is not None
        assert presented.secret not in str(logs)


@pytest.mark.parametrize(
    "body, errors",
    [
        ({}, ["name", "scopes"]),
        ({"name": "a\nb", "scopes": []}, ["name", "scopes"]),
        ({"name": "a", "scopes": ["lookups"]}, ["scopes"]),
        ({"name": "a", "scopes": [1]}, ["scopes"]),
        ({**NEW, "expires_at": "2020-01-01T00:00:00Z"}, ["expires_at"]),
        ({**NEW, "expires_at": 1}, ["expires_at"]),
        ({**NEW, "rate": {"count": 1}}, ["rate"]),
        ({**NEW, "rate": {"count": True, "window_seconds": 60}}, ["rate"]),
        ({**NEW, "rate": {"count": 1, "window_seconds": [60]}}, ["rate"]),
        ({**NEW, "visitor_rate": {"count": 1, "window_seconds": 60}}, ["visitor_rate"]),
        ({**NEW, "owner": "globex"}, ["owner"]),
        ({"name": "a", "origins": ["https://a.example/path"]}, ["scopes", "origins"]),
        ({"name": "a", "origins": ["http://a.example"]}, ["scopes", "origins"]),
        ({"name": "a", "origins": "https://a.example"}, ["scopes", "origins"]),
        ({"name": "a", "origins": [SITE], "scopes": ["lookup", "keys"]}, ["scopes"]),
    ],
)
async def test_the_body_of_a_new_key_is_checked(
    gateway: Gateway, body: dict[str, Any], errors: list[str]
) -> None:
    headers = {**gateway.issue(), "Content-Type": "application/json"}

    answer = await gateway.client.post(KEYS, data=orjson.dumps(body), headers=headers)

    await assert_response(answer, KEYS, 400)
    problem = await problem_of(answer)
    assert sorted(each["parameter"] for each in problem["errors"]) == sorted(errors)
    assert len(gateway.keys.keys) == 1


@pytest.mark.parametrize("overlap", [-1, 2_592_001, True, "1"])
async def test_the_body_of_a_replacement_is_checked(gateway: Gateway, overlap: object) -> None:
    headers = {**gateway.issue(), "Content-Type": "application/json"}
    path = f"{KEYS}/{a_presented_key(1).id}/rotate"

    answer = await gateway.client.post(
        path, data=orjson.dumps({"overlap_seconds": overlap}), headers=headers
    )

    await assert_response(answer, ROTATE, 400)


async def test_bodies_are_bounded_before_they_are_parsed(gateway: Gateway) -> None:
    headers = {**gateway.issue(), "Content-Type": "application/json"}
    rotate = f"{KEYS}/{a_presented_key(1).id}/rotate"

    for path, described in ((KEYS, KEYS), (rotate, ROTATE)):
        large = await gateway.client.post(path, data=b" " * (64 * 1024 + 1), headers=headers)
        text = await gateway.client.post(
            path, data=b"{}", headers={**headers, "Content-Type": "text/plain"}
        )
        await assert_response(large, described, 413)
        await assert_response(text, described, 415)


async def test_an_outage_of_the_database_is_said(gateway: Gateway) -> None:
    headers = {**gateway.issue(), "Content-Type": "application/json"}
    gateway.keys.owned_fault = Unavailable("no primary")
    one = f"{KEYS}/{a_presented_key(1).id}"

    for method, path, described in (
        ("GET", KEYS, KEYS),
        ("POST", KEYS, KEYS),
        ("DELETE", one, KEY),
        ("POST", f"{one}/rotate", ROTATE),
    ):
        data = orjson.dumps(NEW if path == KEYS else {}) if method == "POST" else None
        answer = await gateway.client.request(method, path, data=data, headers=headers)
        await assert_response(answer, described, 503)


# Requests


@pytest.mark.integration
async def test_the_requests_of_a_key_are_kept_without_values(
    service: Service, access: Database
) -> None:
    key = await service.issue(scopes=frozenset({Scope.LOOKUP}))
    path = f"{KEYS}/{a_presented_key(1).id}/requests"
    for asked in (
        "/api/name?country=dk&q=Jens+Hansen&include=owners&format=json",
        "/api?country=Jens&Jens+Hansen=1",
        "/Jens-Hansen",
        "/api/companies/dk/12345674/roles?limit=5",
    ):
        await service.send("GET", asked, key, **{"X-Request-Id": f"r-{len(asked)}"})
    remembered = await service.send("GET", path, key)
    await service.requests.report()
    stored = await service.send("GET", f"{path}?limit=2&status=4xx", key)
    by_id = await service.send("GET", f"{path}?request_id=r-12", key)

    await assert_response(remembered, REQUESTS, 200)
    shown = [
        (each["path"], each["status"], each["problem"])
        for each in (await remembered.json())["requests"]
    ]
    assert shown == [
        ("/api/companies/{country}/{vat}/roles?limit=5", 200, None),
        ("unmatched", 404, "not_found"),
        ("/api?country=…&…", 400, "invalid_parameter"),
        ("/api/name?country=dk&q=…&include=owners&format=json", 200, None),
    ]
    assert [each["status"] for each in (await stored.json())["requests"]] == [404, 400]
    assert [each["path"] for each in (await by_id.json())["requests"]] == ["unmatched"]
    documents = await access["key_requests"].find().to_list()
    assert b"Jens" not in b"".join(each["requests"] for each in documents)


@pytest.mark.integration
async def test_a_key_sees_the_requests_of_others_with_the_scope_alone(service: Service) -> None:
    admin = await service.issue(1, owner="acme")
    plain = await service.issue(2, owner="acme", scopes=frozenset({Scope.LOOKUP}))
    await service.issue(3, owner="globex")

    def path(number: int) -> str:
        return f"{KEYS}/{a_presented_key(number).id}/requests"

    own = await service.send("GET", path(2), plain)
    of_owner = await service.send("GET", path(2), admin)
    refused = await service.send("GET", path(1), plain)
    other = await service.send("GET", path(3), admin)

    await assert_response(own, REQUESTS, 200)
    await assert_response(of_owner, REQUESTS, 200)
    await assert_response(refused, REQUESTS, 403)
    await assert_response(other, REQUESTS, 404)


@pytest.mark.integration
async def test_the_last_thousand_requests_of_a_key_are_kept(access: Database) -> None:
    await create_indexes(access, REQUEST_INDEXES)
    key, other = an_api_key(), an_api_key(a_presented_key(2))
    requests = KeyRequests(access, now=lambda: NOON + timedelta(seconds=requests_made))
    requests_made = 0
    for size in (400, 400, 400, 1500, 1):
        for _ in range(size):
            requests_made += 1
            requests.add(key, KeyRequest(requests_made, "GET", "/api", 200, 1.0, "r"))
        await requests.report()
    requests.add(other, KeyRequest(1, "GET", "/api", 200, 1.0, "r"))
    await requests.report()

    found = await requests.of_key("acme", key.id)
    stored = await access["key_requests"].find({"key_id": key.id}).to_list()

    assert [each.at for each in found] == list(range(2701, 1701, -1))
    assert sum(each["count"] for each in stored) < 1500
    assert len(await requests.of_key("acme", other.id)) == 1
    assert await requests.of_key("globex", key.id) == []
    assert stored[0]["ends_at"] - stored[0]["at"] == timedelta(days=30)


def test_memory_for_requests_is_bounded(access: Database) -> None:
    requests = KeyRequests(access, now=lambda: NOON)
    keys = [an_api_key(a_presented_key(number)) for number in range(1, 32)]

    for key in keys:
        for number in range(1100):
            requests.add(key, KeyRequest(number, "GET", "/api", 200, 1.0, "r"))

    kept = [len(each) for each in requests._remembered.values()]
    assert kept == [1000] * 20


# Publishable keys


def publishable(gateway: Gateway, **fields: Any) -> dict[str, str]:
    given = {"origins": (SITE,), "scopes": frozenset({Scope.LOOKUP}), **fields}
    return gateway.issue(**given)


async def test_a_publishable_key_looks_up_and_suggests_for_pages_of_its_origins() -> None:
    async with a_gateway(anonymous_lookups=False, cors_origin="") as gateway:
        key = {**publishable(gateway), "Origin": SITE}
        asked = {"Origin": SITE, "Access-Control-Request-Method": "GET"}
        for path in (LOOKUP, "/api/suggest?country=dk&q=ab", "/api/companies/dk/12345674"):
            preflight = await gateway.client.options(path, headers=asked)
            answer = await gateway.get(path, headers=key)

            assert answer.status == 200
            for each in (preflight, answer):
                assert each.headers["Access-Control-Allow-Origin"] == SITE
                assert "Origin" in each.headers["Vary"]
            assert "X-API-Key" in preflight.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", f"{SITE}.evil.example"])
async def test_other_origins_are_refused_and_cost_the_key_nothing(origin: str | None) -> None:
    async with a_gateway(cors_origin="") as gateway:
        key = publishable(gateway, rate=Rate(1, 60))
        answer = await gateway.get(
            LOOKUP, headers={**key, **({"Origin": origin} if origin else {})}
        )
        good = await gateway.get(LOOKUP, headers={**key, "Origin": SITE})
        assert await code_of(answer) == (403, "forbidden")

    assert "Access-Control-Allow-Origin" not in answer.headers
    assert good.status == 200


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/api/companies?q=a"),
        ("GET", "/api/companies/dk/12345674/owners"),
        ("GET", "/api/companies/dk/12345674/group"),
        ("GET", "/api/me"),
        ("GET", "/api/keys"),
        ("GET", "/api/registers"),
        ("GET", "/reconcile/dk?queries={}"),
        ("POST", "/api/batch"),
        ("POST", "/api/match"),
        ("GET", "/api/events"),
        ("GET", "/nothing"),
    ],
)
async def test_a_publishable_key_does_nothing_else(
    gateway: Gateway, method: str, path: str
) -> None:
    key = {**publishable(gateway), "Origin": SITE}

    answer = await gateway.client.request(method, path, headers=key)

    assert await code_of(answer) == (403, "forbidden")


async def test_each_visitor_has_a_rate_and_the_key_another() -> None:
    def visitor(number: int) -> dict[str, str]:
        return {"X-Forwarded-For": f"192.0.2.{number}", "Origin": SITE}

    async with a_gateway(visitor_rate=Rate(2, 60), trusted_proxies="127.0.0.0/8") as gateway:
        key = publishable(gateway, rate=Rate(4, 60))
        answers = [
            await gateway.get(LOOKUP, headers={**key, **visitor(number)})
            for number in (1, 1, 1, 2, 3, 4)
        ]

    assert [each.status for each in answers] == [200, 200, 429, 200, 200, 429]
    assert answers[0].headers["RateLimit"] == '"visitor";r=1;t=60'
    assert answers[2].headers["RateLimit"] == '"visitor";r=0;t=60'
    assert answers[5].headers["RateLimit"] == '"key";r=0;t=60'


async def test_a_publishable_key_has_a_visitor_rate_of_its_own(gateway: Gateway) -> None:
    key = {**publishable(gateway, visitor_rate=Rate(1, 60)), "Origin": SITE}

    assert [(await gateway.get(LOOKUP, headers=key)).status for _ in range(2)] == [200, 429]


def test_a_key_is_publishable_by_its_origins() -> None:
    key = an_api_key()

    assert not key.is_publishable
    assert replace(key, origins=(SITE,)).is_publishable
