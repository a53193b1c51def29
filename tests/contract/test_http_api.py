"""Every public path as clients see it: status, headers, body; over fake ports."""

import asyncio
from base64 import b64encode
from functools import partial
from ipaddress import ip_network
from xml.etree import ElementTree

import orjson
import pytest
from multidict import CIMultiDict
from structlog.testing import capture_logs

from common.contracts.contract import TraceContext
from common.contracts.lookup import LookupReply
from common.runtime.public_port.rates import Rate
from gateway.access.keys import write_key
from tests.builders.keys import NOON, a_presented_key
from tests.builders.openapi import example
from tests.delivery.waiting import eventually
from tests.fakes.gateway import (
    Gateway,
    code_of,
    database_unavailable,
)
from tests.fakes.gateway import gateway as a_gateway

LOOKUP = "/api?country=dk&vat=12345674"
SUGGEST = "/api/suggest?country=dk&q=Pr%C3%B8v"
XML, GZIP, PLAIN = (
    {"Accept": "application/xml"},
    {"Accept-Encoding": "br, gzip"},
    {"Accept-Encoding": "identity"},
)


async def statuses(gateway: Gateway, *headers: dict[str, str], path: str = LOOKUP) -> list[int]:
    """The statuses of requests with these headers, one after another."""
    return [(await gateway.get(path, headers=each)).status for each in headers]


def sample(gateway: Gateway, name: str, **labels: str) -> float | None:
    return gateway.registry.get_sample_value(name, labels)


async def in_flight(gateway: Gateway) -> float | None:
    return sample(gateway, "http_requests_in_flight")


# Lookups


async def test_the_same_company_in_xml(gateway: Gateway) -> None:
    answer = await gateway.get(f"{LOOKUP}&format=xml")

    document = ElementTree.fromstring(await answer.read())  # noqa: S314 (our own)
    company = example("Company")
    assert answer.headers["Content-Type"] == "application/xml; charset=utf-8"
    assert (document.tag, document.findtext("name")) == ("company", company["name"])
    assert [name.text for name in document.iter("trade_name")] == company["trade_names"]


async def test_an_internal_error_reveals_no_details(gateway: Gateway) -> None:
    gateway.lookups.answer = RuntimeError("secret words")

    with capture_logs() as lines:
        answer = await gateway.get(LOOKUP, headers={"Accept": "text/html"})

    assert await code_of(answer) == (500, "internal_error")
    assert "secret" not in await answer.text()
    assert [line["event"] for line in lines] == ["request.failed", "request.done"]


# Compression and caching


@pytest.mark.parametrize("size", [2000, 1_000_000], ids=["in the loop", "beside it"])
async def test_a_company_of_a_kilobyte_is_compressed_if_the_client_accepts_it(
    gateway: Gateway, size: int
) -> None:
    body = orjson.dumps({"name": "ab" * (size // 2)})
    gateway.lookups.answer = LookupReply(tag="t", body=body)

    packed = await gateway.get(LOOKUP, headers=GZIP)
    plain = await gateway.get(LOOKUP, headers={"Accept-Encoding": "gzip;q=0"})

    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < len(body) / 10
    assert "Content-Encoding" not in plain.headers
    assert int(plain.headers["Content-Length"]) == len(body)
    assert await packed.read() == await plain.read() == body


async def test_a_smaller_response_is_sent_as_it_is(gateway: Gateway) -> None:
    gateway.lookups.answer = LookupReply(tag="t", body=b"{" + b" " * 1021 + b"}")

    answer = await gateway.get(LOOKUP, headers=GZIP)

    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("format_", ["json", "xml"])
async def test_a_tag_is_that_of_each_coding_and_a_matching_one_is_a_304(
    gateway: Gateway, format_: str
) -> None:
    path = f"{LOOKUP}&format={format_}"
    gateway.lookups.answer = LookupReply(tag="t", body=orjson.dumps({"name": "a" * 2000}))
    tags = {(await gateway.get(path, headers=each)).headers["ETag"] for each in (GZIP, PLAIN)}

    again = await gateway.get(path, headers={"If-None-Match": tags.copy().pop()})

    assert tags == {f'W/"t.{format_}"'} == {again.headers["ETag"]}
    assert (again.status, await again.read()) == (304, b"")
    assert again.headers["Cache-Control"] == "private, max-age=60"
    assert not {"Content-Encoding", "Content-Type"} & again.headers.keys()


@pytest.mark.parametrize("path", [LOOKUP, SUGGEST, "/api/webhooks", "/api/events", "/nothing"])
async def test_caches_keep_the_codings_apart(gateway: Gateway, path: str) -> None:
    answer = await gateway.get(path, headers=gateway.issue())

    assert "Accept-Encoding" in answer.headers["Vary"]


# Problems


async def test_a_callers_own_id_is_kept_and_passed_on(gateway: Gateway) -> None:
    answer = await gateway.get(LOOKUP, headers={"X-Request-Id": "order-17/4"})

    assert answer.headers["X-Request-Id"] == "order-17/4"
    assert gateway.lookups.request_ids == ["order-17/4"]


@pytest.mark.parametrize("given", ["", "x" * 129, "two words", "sØren"])
async def test_an_invalid_request_id_is_replaced(gateway: Gateway, given: str) -> None:
    answer = await gateway.get(LOOKUP, headers={"X-Request-Id": given})

    assert answer.headers["X-Request-Id"] == "id-1"


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/nothing", "/api"])
async def test_every_answer_carries_an_id_and_the_rate(gateway: Gateway, path: str) -> None:
    answer = await gateway.get(path)

    assert answer.headers["X-Request-Id"] == "id-1"
    assert answer.headers["RateLimit-Policy"] == '"anonymous";q=1000;w=60'
    assert answer.headers["RateLimit"].startswith('"anonymous";r=')
    assert "aiohttp" not in answer.headers["Server"]


# Keys


def made_up_key(number: int) -> dict[str, str]:
    """A key of the right form, that was never issued."""
    return {"X-API-Key": write_key(a_presented_key(1_000_000 + number))}


async def test_a_key_may_be_sent_as_bearer_or_in_a_header_of_its_own(gateway: Gateway) -> None:
    header = gateway.issue()
    key = header["X-API-Key"]
    basic = [b64encode(pair.encode()).decode() for pair in (f"{key}:", f":{key}", f"{key}:x")]
    schemes = [f"{scheme} {key}" for scheme in ("Bearer", "bearer")]
    schemes += [f"Basic {credentials}" for credentials in basic]

    for headers in (header, *({"Authorization": each} for each in schemes)):
        answer = await gateway.get(LOOKUP, headers=headers)
        assert answer.status == 200
        assert answer.headers["RateLimit-Policy"] == '"key";q=1000;w=60'


async def test_a_key_with_another_secret_or_that_has_ended_is_unauthorized(
    gateway: Gateway,
) -> None:
    another_secret = {"X-API-Key": gateway.issue()["X-API-Key"][:-1] + "x"}
    ended = (gateway.issue(revoked_at=NOON), gateway.issue(expires_at=NOON))

    assert await statuses(gateway, another_secret, *ended) == [401] * 3


async def test_without_a_key_lookups_go_on_when_keys_cannot_be_checked(gateway: Gateway) -> None:
    gateway.keys.fault = database_unavailable()

    assert (await gateway.get(LOOKUP)).status == 200


async def test_where_keys_are_required_the_documentation_is_open() -> None:
    async with a_gateway(anonymous_lookups=False) as gateway:
        for path in (LOOKUP, SUGGEST):
            assert await code_of(await gateway.get(path)) == (401, "unauthorized")
            assert (await gateway.get(path, headers=gateway.issue())).status == 200
        assert (await gateway.get("/docs")).status == 200


# Rates


@pytest.mark.parametrize("path", [LOOKUP, SUGGEST])
async def test_beyond_the_rate_the_answer_is_429_with_retry_after(path: str) -> None:
    async with a_gateway(anonymous_rate=Rate(2, 60)) as gateway:
        answers = [await gateway.get(path) for _ in range(3)]

        assert await code_of(answers[2]) == (429, "rate_limited")

    assert answers[2].headers["Retry-After"] == "60"
    assert [(answer.status, answer.headers["RateLimit"]) for answer in answers] == [
        (200, '"anonymous";r=1;t=60'),
        (200, '"anonymous";r=0;t=60'),
        (429, '"anonymous";r=0;t=60'),
    ]


async def test_a_key_has_a_rate_of_its_own_wherever_it_is_used() -> None:
    async with a_gateway(anonymous_rate=Rate(1, 60), key_rate=Rate(2, 60)) as gateway:
        key, other = gateway.issue(), gateway.issue()

        assert await statuses(gateway, {}, key, key, key, other) == [200, 200, 200, 429, 200]


async def test_bad_keys_use_up_the_anonymous_rate() -> None:
    async with a_gateway(anonymous_rate=Rate(2, 60)) as gateway:
        guesses = [{"X-API-Key": "guess"}] * 3

        assert await statuses(gateway, *guesses, gateway.issue()) == [401, 401, 429, 200]


async def test_made_up_keys_are_counted_before_they_are_read() -> None:
    async with a_gateway(anonymous_rate=Rate(3, 60)) as gateway:
        gateway.keys.gate.clear()

        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(gateway.get(LOOKUP, headers=made_up_key(number)))
                for number in range(10)
            ]
            refused = asyncio.as_completed(asked)
            before = [(await next(refused)).status for _ in range(7)]
            gateway.keys.gate.set()

        assert before == [429] * 7
        assert sorted(each.result().status for each in asked) == [401] * 3 + [429] * 7
        assert len(gateway.keys.reads) == 3


async def test_a_key_that_was_good_works_where_made_up_keys_used_up_their_rate() -> None:
    async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
        key = gateway.issue()
        await statuses(gateway, key, made_up_key(1), made_up_key(2))

        known = await gateway.get(LOOKUP, headers=key)
        other = await gateway.get(LOOKUP, headers=gateway.issue())

    assert (known.status, other.status) == (200, 429)
    assert other.headers["RateLimit"] == '"unproven-key";r=0;t=60'


async def test_the_first_requests_with_a_good_key_count_once_at_that_rate() -> None:
    async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
        key = gateway.issue()
        gateway.keys.gate.clear()

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(gateway.get(LOOKUP, headers=key)) for _ in range(10)]
            await eventually(partial(in_flight, gateway), lambda number: number == 10)
            gateway.keys.gate.set()

    assert [task.result().status for task in asked] == [200] * 10


async def test_a_key_that_cannot_be_checked_is_not_counted() -> None:
    async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
        key = gateway.issue()
        gateway.keys.fault = database_unavailable()
        failed = await statuses(gateway, key, key, key)
        gateway.keys.fault = None

        assert failed == [503] * 3
        assert await statuses(gateway, key) == [200]


async def test_invalid_requests_and_unknown_paths_count_too_and_preflights_do_not() -> None:
    async with a_gateway(anonymous_rate=Rate(2, 60)) as gateway:
        await gateway.client.options(LOOKUP)
        answers = [await gateway.get(path) for path in ("/api", "/nothing", LOOKUP)]

    assert [answer.status for answer in answers] == [400, 404, 429]


async def test_behind_a_trusted_proxy_its_clients_are_counted_apart() -> None:
    proxies = (ip_network("127.0.0.0/8"),)
    hops = ["192.0.2.7", "192.0.2.8", "203.0.113.9, 192.0.2.7"]
    async with a_gateway(anonymous_rate=Rate(1, 60), trusted_proxies=proxies) as gateway:
        found = await statuses(gateway, *({"X-Forwarded-For": hop} for hop in hops))

    assert found == [200, 200, 429]


# Browsers


@pytest.mark.parametrize("path", ["/api/vat", "/api/suggest", f"{LOOKUP}&unknown=1"])
async def test_a_preflight_needs_no_key_and_has_the_query_of_its_request(path: str) -> None:
    asked = {
        "Origin": "https://shop.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    async with a_gateway(anonymous_lookups=False) as gateway:
        answer = await gateway.client.options(path, headers=asked)

    assert answer.status == 204
    assert "GET" in answer.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


async def test_one_origin_alone_may_be_allowed() -> None:
    async with a_gateway(cors_origin="https://shop.example") as gateway:
        answer = await gateway.get(LOOKUP)
        document = await gateway.get("/openapi.json")

    assert answer.headers["Access-Control-Allow-Origin"] == "https://shop.example"
    assert answer.headers["Vary"] == "Origin, Accept-Encoding, Accept"
    assert document.headers["Vary"] == "Origin, Accept-Encoding"


async def test_no_origin_may_be_allowed() -> None:
    async with a_gateway(cors_origin="") as gateway:
        for answer in (await gateway.get(LOOKUP), await gateway.client.options(LOOKUP)):
            assert not any(name.startswith("Access-Control") for name in answer.headers)


# Documentation


async def test_the_root_leads_to_the_documentation(gateway: Gateway) -> None:
    answer = await gateway.get("/")

    assert (answer.status, answer.headers["Location"]) == (302, "docs")
    assert (await gateway.client.get("/")).url.path == "/docs"


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
async def test_the_documentation_has_an_entity_tag_for_each_coding(
    gateway: Gateway, path: str
) -> None:
    plain = await gateway.get(path, headers=PLAIN)
    packed = await gateway.get(path, headers=GZIP)

    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"])
    assert await packed.read() == await plain.read()
    for answer, own, other in ((plain, PLAIN, GZIP), (packed, GZIP, PLAIN)):
        known = {"If-None-Match": answer.headers["ETag"]}
        again = await gateway.get(path, headers=own | known)
        assert (again.status, await again.read()) == (304, b"")
        for each in (answer, again):
            assert each.headers["ETag"] == known["If-None-Match"]
            assert each.headers["Vary"] == "Accept-Encoding"
        assert (await gateway.get(path, headers=other | known)).status == 200


async def test_the_pages_policy_forbids_other_hosts_and_inline_scripts(gateway: Gateway) -> None:
    answer = await gateway.get("/docs")

    policy = answer.headers["Content-Security-Policy"]
    assert answer.content_type == "text/html"
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "part, media_type",
    [
        ("page.css", "text/css"),
        ("page.js", "text/javascript"),
        ("swagger-ui.css", "text/css"),
        ("swagger-ui.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ],
)
async def test_the_pages_parts_are_served_here(
    gateway: Gateway, part: str, media_type: str
) -> None:
    answer = await gateway.get(f"/docs/{part}")

    assert f'"docs/{part}"' in await (await gateway.get("/docs")).text()
    assert (answer.status, answer.content_type) == (200, media_type)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


# Traces, logs and metrics

PARENT = f"00-{'ab' * 16}-{'cd' * 8}-01"


async def test_a_trace_is_continued(gateway: Gateway) -> None:
    # Of two requests on one connection, the second has none.
    traced = {"traceparent": PARENT, "tracestate": "vendor=1"}

    assert await statuses(gateway, traced, {}) == [200, 200]
    assert gateway.lookups.traces == [TraceContext(PARENT, "vendor=1"), None]


@pytest.mark.parametrize("headers", [[("traceparent", PARENT)] * 2, [("tracestate", "vendor=1")]])
async def test_a_malformed_trace_is_ignored(
    gateway: Gateway, headers: list[tuple[str, str]]
) -> None:
    answer = await gateway.get(LOOKUP, headers=CIMultiDict(headers))

    assert (answer.status, gateway.lookups.traces) == (200, [None])


async def test_a_request_is_one_log_line(gateway: Gateway) -> None:
    header = gateway.issue()

    with capture_logs() as lines:
        await gateway.get(LOOKUP, headers={**header, "X-Request-Id": "mine"})

    (line,) = lines
    assert line.pop("duration_ms") >= 0
    assert line == {
        "event": "request.done",
        "log_level": "info",
        "request_id": "mine",
        "method": "GET",
        "route": "/api",
        "status": 200,
        "search_type": "vat",
        "key_id": header["X-API-Key"].partition(".")[0],
        "owner": "acme",
        "country": "dk",
    }


async def test_neither_key_nor_search_term_reaches_the_log(gateway: Gateway) -> None:
    headers = gateway.issue()
    key = headers["X-API-Key"]
    lookups = {"lookups": [{"country": "dk", "name": "Testesen"}]}

    with capture_logs() as lines:
        await gateway.get("/api/name?country=dk&q=Testesen", headers=headers)
        await gateway.get("/api/suggest?country=dk&q=Testesen")
        await gateway.client.post("/api/batch", json=lookups, headers=headers)
        await gateway.get(LOOKUP, headers={"X-API-Key": key[:-1] + "x"})

    assert "Testesen" not in str(lines)
    assert key.partition(".")[2][:20] not in str(lines)


async def test_requests_are_counted_by_route_status_and_search_type(gateway: Gateway) -> None:
    for path in (LOOKUP, LOOKUP, "/api/name?country=dk&q=x", "/nothing/12345674"):
        await gateway.get(path)

    counts: list[tuple[dict[str, str], float]] = [
        ({"route": "/api", "status": "200", "search_type": "vat"}, 2),
        ({"route": "/api/name", "status": "400", "search_type": "none"}, 1),
        ({"route": "unmatched", "status": "404", "search_type": "none"}, 1),
    ]
    for labels, count in counts:
        assert sample(gateway, "http_requests_total", **labels) == count
    assert await in_flight(gateway) == 0
    assert sample(gateway, "http_request_duration_seconds_count", route="/api") == 2


async def test_limited_requests_are_counted_by_the_policy_that_refused_them() -> None:
    async with a_gateway(anonymous_rate=Rate(1, 60), key_rate=Rate(1, 60)) as gateway:
        key = gateway.issue()
        await statuses(gateway, {}, {}, {}, key, key, *map(made_up_key, range(4)))

    limited = {
        policy: sample(gateway, "http_requests_rate_limited_total", policy=policy)
        for policy in ("anonymous", "key", "unproven-key")
    }
    # The first made-up key was read, and then refused as a request without a key.
    assert limited == {"anonymous": 3, "key": 1, "unproven-key": 3}


async def test_requests_under_way_are_shown(gateway: Gateway) -> None:
    gateway.lookups.gate.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(gateway.get(LOOKUP))
        await gateway.lookups.reached.wait()
        under_way = await in_flight(gateway)
        gateway.lookups.gate.set()

    assert under_way == 1
