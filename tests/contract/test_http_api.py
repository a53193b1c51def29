"""Every public path as clients see it: status, headers, body; over fake ports."""

import asyncio
from functools import partial
from ipaddress import ip_network
from xml.etree import ElementTree

import orjson
import pytest
from aiohttp import ClientResponse
from multidict import CIMultiDict
from structlog.testing import capture_logs

from common.contracts.lookup import LookupReply
from common.contracts.traces import TraceContext
from gateway.access.keys import Rate, write_key
from tests.builders.keys import NOON, a_presented_key
from tests.builders.openapi import example
from tests.delivery.waiting import eventually
from tests.fakes.gateway import A_REPLY, Gateway, code_of, database_unavailable, problem_of
from tests.fakes.gateway import gateway as a_gateway

LOOKUP = "/api?country=dk&vat=12345674"
SUGGEST = "/api/suggest?country=dk&q=Pr%C3%B8v"
DOCUMENTS = ["/docs", "/openapi.json"]
TYPED = ["vat", "name", "produ", "phone", "ean", "address"]


class TestLookups:
    async def test_the_company_is_passed_on_byte_by_byte(self, gateway: Gateway) -> None:
        answer = await gateway.get(LOOKUP)

        assert answer.status == 200
        assert answer.headers["Content-Type"] == "application/json"
        assert await answer.read() == A_REPLY.body

    async def test_the_lookup_service_receives_normalised_searches(self, gateway: Gateway) -> None:
        await gateway.get("/api?country=dk&search=12+34+56+74&include=owners")

        assert gateway.lookups.terms() == [[("vat", "12345674"), ("phone", "12345674")]]
        assert gateway.lookups.asked[0].include == ("owners",)

    @pytest.mark.parametrize("kind", TYPED)
    async def test_a_typed_endpoint_searches_its_own_type(
        self, gateway: Gateway, kind: str
    ) -> None:
        terms = {"vat": "12345674", "produ": "1000000001", "ean": "5790000000005"}
        term = terms.get(kind, "12345678")

        answer = await gateway.get(f"/api/{kind}", params={"country": "dk", "q": term})

        assert answer.status == 200
        assert gateway.lookups.terms()[0][0][0] == kind

    @pytest.mark.parametrize(
        "query, accept, media_type",
        [
            ("", "application/xml", "application/xml"),
            ("", "application/json;q=0.5, application/xml", "application/xml"),
            ("", "application/json, application/xml;q=0.9", "application/json"),
            ("", "*/*", "application/json"),
            ("&format=json", "application/xml", "application/json"),
            ("&format=xml", "application/json", "application/xml"),
        ],
    )
    async def test_accept_selects_the_format_unless_the_parameter_does(
        self, gateway: Gateway, query: str, accept: str, media_type: str
    ) -> None:
        answer = await gateway.get(LOOKUP + query, headers={"Accept": accept})

        assert answer.content_type == media_type
        assert answer.headers["Vary"] == "Accept-Encoding, Accept"

    async def test_accept_selects_the_format_of_problems(self, gateway: Gateway) -> None:
        xml = {"Accept": "application/xml"}

        invalid = await gateway.get("/api?country=dk&vat=1", headers=xml)
        chosen = await gateway.get("/api?country=dk&vat=1&format=json", headers=xml)
        suggestion = await gateway.get("/api/suggest?country=dk", headers=xml)

        assert invalid.content_type == "application/problem+xml"
        assert invalid.headers["Vary"] == "Accept-Encoding, Accept"
        assert chosen.content_type == "application/problem+json"
        assert suggestion.content_type == "application/problem+json"

    async def test_the_same_company_in_xml(self, gateway: Gateway) -> None:
        answer = await gateway.get(LOOKUP + "&format=xml")

        document = ElementTree.fromstring(await answer.read())  # noqa: S314 (our own)
        assert answer.headers["Content-Type"] == "application/xml; charset=utf-8"
        assert document.tag == "company"
        assert document.findtext("name") == example("Company")["name"]
        assert [name.text for name in document.iter("trade_name")] == example("Company")[
            "trade_names"
        ]

    @pytest.mark.parametrize("path", [LOOKUP, SUGGEST, "/api/webhooks"])
    async def test_head_has_the_headers_of_get_and_no_body(
        self, gateway: Gateway, path: str
    ) -> None:
        key = gateway.issue()

        whole = await gateway.get(path, headers=key)
        head = await gateway.client.head(path, headers=key)

        assert head.status == 200
        assert await head.read() == b""
        for header in ("Content-Length", "Content-Type", "ETag", "Cache-Control"):
            assert head.headers.get(header) == whole.headers.get(header)

    async def test_an_internal_error_reveals_no_details(self, gateway: Gateway) -> None:
        gateway.lookups.answer = RuntimeError("secret words")

        with capture_logs() as lines:
            answer = await gateway.get(LOOKUP, headers={"Accept": "text/html"})

        assert await code_of(answer) == (500, "internal_error")
        assert "secret" not in await answer.text()
        assert [line["event"] for line in lines] == ["request.failed", "request.done"]


async def received(answer: ClientResponse) -> tuple[str | None, int, bytes]:
    """Coding, transferred bytes, and the body without the coding."""
    headers = answer.headers
    return headers.get("Content-Encoding"), int(headers["Content-Length"]), await answer.read()


class TestCompression:
    @pytest.mark.parametrize("size", [2000, 1_000_000], ids=["in the loop", "beside it"])
    async def test_a_company_of_a_kilobyte_is_compressed_if_the_client_accepts_it(
        self, gateway: Gateway, size: int
    ) -> None:
        body = orjson.dumps({"name": "ab" * (size // 2)})
        gateway.lookups.answer = LookupReply(tag="t", body=body)

        packed = await gateway.get(LOOKUP, headers={"Accept-Encoding": "br, gzip"})
        plain = await gateway.get(LOOKUP, headers={"Accept-Encoding": "gzip;q=0"})

        coding, transferred, content = await received(packed)
        assert (coding, content) == ("gzip", body)
        assert transferred < len(body) / 10
        assert await received(plain) == (None, len(body), body)

    async def test_a_smaller_response_is_sent_as_it_is(self, gateway: Gateway) -> None:
        gateway.lookups.answer = LookupReply(tag="t", body=b"{" + b" " * 1021 + b"}")

        answer = await gateway.get(LOOKUP, headers={"Accept-Encoding": "gzip"})

        assert (await received(answer))[0] is None

    @pytest.mark.parametrize("format_", ["json", "xml"])
    async def test_a_tag_is_that_of_each_coding(self, gateway: Gateway, format_: str) -> None:
        path = f"{LOOKUP}&format={format_}"
        gateway.lookups.answer = LookupReply(tag="t", body=orjson.dumps({"name": "a" * 2000}))
        answers = [await gateway.get(path, headers={"Accept-Encoding": c}) for c in ("gzip", "br")]

        tags = {answer.headers["ETag"] for answer in answers}
        again = await gateway.get(path, headers={"If-None-Match": answers[0].headers["ETag"]})

        assert tags == {f'W/"t.{format_}"'} == {again.headers["ETag"]}
        assert again.status == 304
        assert "Content-Encoding" not in again.headers

    @pytest.mark.parametrize("path", [LOOKUP, SUGGEST, "/api/webhooks", "/api/events", "/nothing"])
    async def test_caches_keep_the_codings_apart(self, gateway: Gateway, path: str) -> None:
        answer = await gateway.get(path, headers=gateway.issue())

        assert "Accept-Encoding" in answer.headers["Vary"]


class TestCaching:
    async def test_a_matching_etag_is_a_304(self, gateway: Gateway) -> None:
        tag = (await gateway.get(LOOKUP)).headers["ETag"]

        answer = await gateway.get(LOOKUP, headers={"If-None-Match": tag})

        assert answer.status == 304
        assert await answer.read() == b""
        assert answer.headers["ETag"] == tag
        assert answer.headers["Cache-Control"] == "private, max-age=60"
        assert "Content-Type" not in answer.headers

    async def test_the_formats_have_tags_of_their_own(self, gateway: Gateway) -> None:
        tag = (await gateway.get(LOOKUP)).headers["ETag"]

        answer = await gateway.get(LOOKUP + "&format=xml", headers={"If-None-Match": tag})

        assert answer.status == 200
        assert answer.headers["ETag"] != tag

    async def test_a_changed_company_is_sent(self, gateway: Gateway) -> None:
        tag = (await gateway.get(LOOKUP)).headers["ETag"]
        gateway.lookups.answer = LookupReply(body=b"{}", tag="another")

        answer = await gateway.get(LOOKUP, headers={"If-None-Match": tag})

        assert answer.status == 200
        assert await answer.read() == b"{}"


class TestProblems:
    async def test_every_fault_of_a_query_is_listed(self, gateway: Gateway) -> None:
        answer = await gateway.get("/api?vat=1&include=x")

        body = await problem_of(answer)
        assert answer.status == 400
        assert body["code"] == "missing_parameter"
        assert [error["parameter"] for error in body["errors"]] == ["country", "include", "vat"]
        assert all(error["message"] for error in body["errors"])
        assert gateway.lookups.asked == []

    async def test_a_lookups_problem_comes_in_the_format_asked_for(self, gateway: Gateway) -> None:
        answer = await gateway.get("/api?format=xml&country=dk&vat=1")

        document = ElementTree.fromstring(await answer.read())  # noqa: S314 (our own)
        assert answer.status == 400
        assert answer.content_type == "application/problem+xml"
        assert document.tag == "problem"
        assert document.findtext("type") == "urn:problem:invalid-parameter"
        assert document.findtext("code") == "invalid_parameter"
        assert document.findtext("status") == "400"
        assert document.findtext("request_id") == answer.headers["X-Request-Id"]
        assert document.findtext("errors/error/parameter") == "vat"

    @pytest.mark.parametrize(
        "path",
        [
            "/nothing",
            "/api/",
            "/API",
            "/api/vat/1",
            "/api/webhook",
            "/api/webhooks/",
            "/api/webhooks/wh_1/",
            "/api/webhooks/wh_1/secret",
            "/api/event-type",
        ],
    )
    async def test_other_paths_are_not_found(self, gateway: Gateway, path: str) -> None:
        answer = await gateway.get(path)

        assert await code_of(answer) == (404, "not_found")

    @pytest.mark.parametrize(
        "path, method, allowed",
        [
            *((LOOKUP, method, "GET, HEAD, OPTIONS") for method in ("POST", "PUT", "DELETE")),
            *(("/api/batch", method, "POST") for method in ("GET", "PUT", "OPTIONS")),
            ("/api/webhooks/wh_1", "PUT", "DELETE, GET, HEAD, PATCH"),
        ],
    )
    async def test_other_methods_are_not_allowed(
        self, gateway: Gateway, path: str, method: str, allowed: str
    ) -> None:
        answer = await gateway.client.request(method, path, data=b"x" * 100_000)

        assert await code_of(answer) == (405, "method_not_allowed")
        assert answer.headers["Allow"] == allowed

    async def test_a_rejected_lookup_has_the_requested_format(self, gateway: Gateway) -> None:
        answer = await gateway.client.post("/api?format=xml")

        assert answer.status == 405
        assert answer.content_type == "application/problem+xml"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"

    @pytest.mark.parametrize("query", ["name=%ff%fe", "name=%00", "a;b=1", "=x&country=dk", "%"])
    async def test_a_hostile_query_is_a_problem_or_a_lookup_and_never_a_fault(
        self, gateway: Gateway, query: str
    ) -> None:
        answer = await gateway.get(f"/api?{query}")

        assert answer.status == 400


class TestRequestIds:
    async def test_a_callers_own_id_is_kept_and_passed_on(self, gateway: Gateway) -> None:
        answer = await gateway.get(LOOKUP, headers={"X-Request-Id": "order-17/4"})

        assert answer.headers["X-Request-Id"] == "order-17/4"
        assert gateway.lookups.request_ids == ["order-17/4"]

    @pytest.mark.parametrize("given", ["", "x" * 129, "two words", "sØren"])
    async def test_an_invalid_request_id_is_replaced(self, gateway: Gateway, given: str) -> None:
        answer = await gateway.get(LOOKUP, headers={"X-Request-Id": given})

        assert answer.headers["X-Request-Id"] == "id-1"

    @pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/nothing", "/api"])
    async def test_every_answer_carries_an_id_and_the_rate(
        self, gateway: Gateway, path: str
    ) -> None:
        answer = await gateway.get(path)

        assert answer.headers["X-Request-Id"] == "id-1"
        assert answer.headers["RateLimit-Policy"] == '"anonymous";q=1000;w=60'
        assert answer.headers["RateLimit"].startswith('"anonymous";r=')
        assert "aiohttp" not in answer.headers["Server"]


def made_up_key(number: int) -> dict[str, str]:
    """A key of the right form, that was never issued."""
    return {"X-API-Key": write_key(a_presented_key(1_000_000 + number))}


class TestKeys:
    @pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
    async def test_a_key_may_be_sent_as_bearer_or_in_a_header_of_its_own(
        self, gateway: Gateway, scheme: str
    ) -> None:
        header = gateway.issue()
        bearer = {"Authorization": f"{scheme} {header['X-API-Key']}"}

        for headers in (header, bearer):
            answer = await gateway.get(LOOKUP, headers=headers)
            assert answer.status == 200
            assert answer.headers["RateLimit-Policy"] == '"key";q=1000;w=60'

    @pytest.mark.parametrize(
        "headers",
        [
            {"X-API-Key": ""},
            {"X-API-Key": "x"},
            {"X-API-Key": "0" * 24 + "." + "s" * 43},
            {"Authorization": "Bearer"},
            {"Authorization": "Bearer x"},
            {"Authorization": "Basic dXNlcjpwYXNz"},
        ],
    )
    async def test_a_bad_key_is_unauthorized(
        self, gateway: Gateway, headers: dict[str, str]
    ) -> None:
        answer = await gateway.get(LOOKUP, headers=headers)

        assert await code_of(answer) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert gateway.lookups.asked == []

    async def test_a_key_with_another_secret_or_that_has_ended_is_unauthorized(
        self, gateway: Gateway
    ) -> None:
        another_secret = {"X-API-Key": gateway.issue()["X-API-Key"][:-1] + "x"}

        for headers in (
            another_secret,
            gateway.issue(revoked_at=NOON),
            gateway.issue(expires_at=NOON),
        ):
            answer = await gateway.get(LOOKUP, headers=headers)
            assert await code_of(answer) == (401, "unauthorized")

    async def test_without_a_key_lookups_go_on_when_keys_cannot_be_checked(
        self, gateway: Gateway
    ) -> None:
        gateway.keys.fault = database_unavailable()

        assert (await gateway.get(LOOKUP)).status == 200

    @pytest.mark.parametrize("path", [LOOKUP, SUGGEST])
    async def test_without_a_required_key_a_request_is_unauthorized(self, path: str) -> None:
        async with a_gateway(anonymous_lookups=False) as gateway:
            without = await gateway.get(path)
            with_key = await gateway.get(path, headers=gateway.issue())

            assert await code_of(without) == (401, "unauthorized")
            assert with_key.status == 200

    async def test_where_keys_are_needed_the_documentation_is_open(self) -> None:
        async with a_gateway(anonymous_lookups=False) as gateway:
            assert (await gateway.get("/docs")).status == 200


class TestRates:
    @pytest.mark.parametrize("path", [LOOKUP, SUGGEST])
    async def test_beyond_the_rate_the_answer_is_429_with_retry_after(self, path: str) -> None:
        async with a_gateway(anonymous_rate=Rate(2, 60)) as gateway:
            answers = [await gateway.get(path) for _ in range(3)]

            assert [answer.status for answer in answers] == [200, 200, 429]
            assert [answer.headers["RateLimit"] for answer in answers] == [
                '"anonymous";r=1;t=60',
                '"anonymous";r=0;t=60',
                '"anonymous";r=0;t=60',
            ]
            assert answers[2].headers["Retry-After"] == "60"
            assert (await problem_of(answers[2]))["code"] == "rate_limited"

    async def test_a_key_has_a_rate_of_its_own_wherever_it_is_used(self) -> None:
        async with a_gateway(anonymous_rate=Rate(1, 60), key_rate=Rate(2, 60)) as gateway:
            header, other = gateway.issue(), gateway.issue()
            await gateway.get(LOOKUP)

            answers = [await gateway.get(LOOKUP, headers=header) for _ in range(3)]
            another = await gateway.get(LOOKUP, headers=other)

            assert [answer.status for answer in answers] == [200, 200, 429]
            assert another.status == 200

    async def test_bad_keys_use_up_the_anonymous_rate(self) -> None:
        async with a_gateway(anonymous_rate=Rate(2, 60)) as gateway:
            statuses = [
                (await gateway.get(LOOKUP, headers={"X-API-Key": "guess"})).status for _ in range(3)
            ]
            good = await gateway.get(LOOKUP, headers=gateway.issue())

            assert statuses == [401, 401, 429]
            assert good.status == 200

    async def test_made_up_keys_are_counted_before_they_are_read(self) -> None:
        async with a_gateway(anonymous_rate=Rate(3, 60)) as gateway:
            gateway.keys.gate.clear()

            async with asyncio.TaskGroup() as group:
                asked = [
                    group.create_task(gateway.get(LOOKUP, headers=made_up_key(number)))
                    for number in range(10)
                ]
                refused = asyncio.as_completed(asked)
                statuses = [(await next(refused)).status for _ in range(7)]
                gateway.keys.gate.set()

            assert statuses == [429] * 7
            assert sorted(each.result().status for each in asked) == [401] * 3 + [429] * 7
            assert len(gateway.keys.reads) == 3

    async def test_a_key_that_was_good_works_where_made_up_keys_used_up_their_rate(self) -> None:
        async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
            key = gateway.issue()
            await gateway.get(LOOKUP, headers=key)
            for number in range(2):
                await gateway.get(LOOKUP, headers=made_up_key(number))

            known = await gateway.get(LOOKUP, headers=key)
            other = await gateway.get(LOOKUP, headers=gateway.issue())

            assert (known.status, other.status) == (200, 429)
            assert other.headers["RateLimit"] == '"unproven-key";r=0;t=60'

    async def test_the_first_requests_with_a_good_key_count_once_at_that_rate(self) -> None:
        async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
            key = gateway.issue()
            gateway.keys.gate.clear()

            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(gateway.get(LOOKUP, headers=key)) for _ in range(10)]
                await eventually(partial(in_flight, gateway), lambda number: number == 10)
                gateway.keys.gate.set()

            assert [task.result().status for task in asked] == [200] * 10

    async def test_a_key_that_cannot_be_checked_is_not_counted(self) -> None:
        async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
            key = gateway.issue()
            gateway.keys.fault = database_unavailable()
            failed = [(await gateway.get(LOOKUP, headers=key)).status for _ in range(3)]
            gateway.keys.fault = None

            assert failed == [503] * 3
            assert (await gateway.get(LOOKUP, headers=key)).status == 200

    async def test_invalid_requests_and_unknown_paths_count_too(self) -> None:
        async with a_gateway(anonymous_rate=Rate(2, 60)) as gateway:
            paths = ["/api", "/nothing", LOOKUP]

            assert [(await gateway.get(path)).status for path in paths] == [400, 404, 429]

    async def test_preflights_do_not_count(self) -> None:
        async with a_gateway(anonymous_rate=Rate(1, 60)) as gateway:
            await gateway.client.options(LOOKUP)

            assert (await gateway.get(LOOKUP)).status == 200

    async def test_behind_a_trusted_proxy_its_clients_are_counted_apart(self) -> None:
        proxies = (ip_network("127.0.0.0/8"),)
        async with a_gateway(anonymous_rate=Rate(1, 60), trusted_proxies=proxies) as gateway:
            hops = ["192.0.2.7", "192.0.2.8", "203.0.113.9, 192.0.2.7"]

            statuses = [
                (await gateway.get(LOOKUP, headers={"X-Forwarded-For": hop})).status for hop in hops
            ]

            assert statuses == [200, 200, 429]


class TestBrowsers:
    @pytest.mark.parametrize("path", [LOOKUP, SUGGEST])
    async def test_scripts_of_any_site_may_look_up(self, gateway: Gateway, path: str) -> None:
        answer = await gateway.get(path, headers={"Origin": "https://shop.example"})

        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "RateLimit" in answer.headers["Access-Control-Expose-Headers"]

    @pytest.mark.parametrize("path", ["/api/vat", "/api/suggest"])
    async def test_a_preflight_needs_no_key(self, path: str) -> None:
        async with a_gateway(anonymous_lookups=False) as gateway:
            answer = await gateway.client.options(
                path,
                headers={
                    "Origin": "https://shop.example",
                    "Access-Control-Request-Method": "GET",
                    "Access-Control-Request-Headers": "authorization",
                },
            )

            assert answer.status == 204
            assert "GET" in answer.headers["Access-Control-Allow-Methods"]
            assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
            assert answer.headers["Access-Control-Allow-Origin"] == "*"

    async def test_one_origin_alone_may_be_allowed(self) -> None:
        async with a_gateway(cors_origin="https://shop.example") as gateway:
            answer = await gateway.get(LOOKUP)

            assert answer.headers["Access-Control-Allow-Origin"] == "https://shop.example"
            assert answer.headers["Vary"] == "Origin, Accept-Encoding, Accept"

    async def test_no_origin_may_be_allowed(self) -> None:
        async with a_gateway(cors_origin="") as gateway:
            answer = await gateway.get(LOOKUP)
            preflight = await gateway.client.options(LOOKUP)

            assert not any(name.startswith("Access-Control") for name in answer.headers)
            assert not any(name.startswith("Access-Control") for name in preflight.headers)


class TestDocumentation:
    async def test_the_root_leads_to_it(self, gateway: Gateway) -> None:
        answer = await gateway.get("/")

        assert answer.status == 302
        assert answer.headers["Location"] == "docs"
        assert (await gateway.client.get("/")).url.path == "/docs"

    @pytest.mark.parametrize("path", DOCUMENTS)
    async def test_it_is_compressed_for_clients_that_accept_that(
        self, gateway: Gateway, path: str
    ) -> None:
        plain = await gateway.get(path, headers={"Accept-Encoding": "identity"})
        packed = await gateway.get(path, headers={"Accept-Encoding": "br, gzip"})

        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"])
        assert await packed.read() == await plain.read()
        assert [answer.headers["Vary"] for answer in (plain, packed)] == ["Accept-Encoding"] * 2

    @pytest.mark.parametrize("path", DOCUMENTS)
    @pytest.mark.parametrize("coding", ["gzip", "identity"])
    async def test_a_matching_etag_of_the_documentation_is_a_304(
        self, gateway: Gateway, path: str, coding: str
    ) -> None:
        accepted = {"Accept-Encoding": coding}
        tag = (await gateway.get(path, headers=accepted)).headers["ETag"]

        again = await gateway.get(path, headers={**accepted, "If-None-Match": tag})
        other = {"Accept-Encoding": "identity" if coding == "gzip" else "gzip"}
        differently = await gateway.get(path, headers={**other, "If-None-Match": tag})

        assert (again.status, await again.read()) == (304, b"")
        assert (again.headers["ETag"], again.headers["Vary"]) == (tag, "Accept-Encoding")
        assert differently.status == 200

    async def test_it_varies_with_the_origin_too_where_scripts_of_one_may_read_it(self) -> None:
        async with a_gateway(cors_origin="https://a.example") as gateway:
            answer = await gateway.get("/openapi.json")

            assert answer.headers["Vary"] == "Origin, Accept-Encoding"

    async def test_its_policy_forbids_other_hosts_and_inline_scripts(
        self, gateway: Gateway
    ) -> None:
        answer = await gateway.get("/docs")

        policy = answer.headers["Content-Security-Policy"]
        assert answer.content_type == "text/html"
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert "unsafe" not in policy

    @pytest.mark.parametrize(
        "part,media_type",
        [
            ("page.css", "text/css"),
            ("page.js", "text/javascript"),
            ("swagger-ui.css", "text/css"),
            ("swagger-ui.js", "text/javascript"),
            ("icon.svg", "image/svg+xml"),
        ],
    )
    async def test_its_parts_are_served_here(
        self, gateway: Gateway, part: str, media_type: str
    ) -> None:
        page = await (await gateway.get("/docs")).text()
        answer = await gateway.get(f"/docs/{part}")

        assert f'"docs/{part}"' in page
        assert answer.status == 200
        assert answer.content_type == media_type
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


class TestTraces:
    TRACE = f"{'ab' * 16}-{'cd' * 8}"

    async def test_a_trace_is_continued(self, gateway: Gateway) -> None:
        headers = {"traceparent": f"00-{self.TRACE}-01", "tracestate": "vendor=1"}
        # Of two requests on one connection, the second has none.
        for sent in (headers, {}):
            answer = await gateway.get(LOOKUP, headers=sent)
            assert answer.status == 200

        assert gateway.lookups.traces == [TraceContext(f"00-{self.TRACE}-01", "vendor=1"), None]

    @pytest.mark.parametrize(
        "headers",
        [
            [("traceparent", f"00-{TRACE}-01"), ("traceparent", f"00-{TRACE}-01")],
            [("tracestate", "vendor=1")],
        ],
    )
    async def test_a_malformed_trace_is_ignored(
        self, gateway: Gateway, headers: list[tuple[str, str]]
    ) -> None:
        answer = await gateway.get(LOOKUP, headers=CIMultiDict(headers))

        assert answer.status == 200
        assert gateway.lookups.traces == [None]


class TestObservation:
    async def test_a_request_is_one_log_line(self, gateway: Gateway) -> None:
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
        }

    async def test_neither_key_nor_search_term_reaches_the_log(self, gateway: Gateway) -> None:
        key = gateway.issue()["X-API-Key"]

        with capture_logs() as lines:
            await gateway.get("/api/name?country=dk&q=Testesen", headers={"X-API-Key": key})
            await gateway.get("/api/suggest?country=dk&q=Testesen")
            lookups = [{"country": "dk", "name": "Testesen"}]
            await gateway.client.post(
                "/api/batch", json={"lookups": lookups}, headers={"X-API-Key": key}
            )
            await gateway.get(LOOKUP, headers={"X-API-Key": key[:-1] + "x"})

        assert "Testesen" not in str(lines)
        assert key.partition(".")[2][:20] not in str(lines)

    async def test_requests_are_counted_by_route_status_and_search_type(
        self, gateway: Gateway
    ) -> None:
        for path in (LOOKUP, LOOKUP, "/api/name?country=dk&q=x", "/nothing/12345674"):
            await gateway.get(path)

        assert counted(gateway, route="/api", status="200", search_type="vat") == 2
        assert counted(gateway, route="/api/name", status="400", search_type="none") == 1
        assert counted(gateway, route="unmatched", status="404", search_type="none") == 1
        assert gateway.registry.get_sample_value("http_requests_in_flight") == 0
        seconds = gateway.registry.get_sample_value(
            "http_request_duration_seconds_count", {"route": "/api"}
        )
        assert seconds == 2

    async def test_limited_requests_are_counted_by_the_policy_that_refused_them(self) -> None:
        async with a_gateway(anonymous_rate=Rate(1, 60), key_rate=Rate(1, 60)) as gateway:
            key = gateway.issue()
            await gateway.get(LOOKUP)
            for headers in ({}, {}, key, key, *map(made_up_key, range(4))):
                await gateway.get(LOOKUP, headers=headers)

            limited = {
                policy: gateway.registry.get_sample_value(
                    "http_requests_rate_limited_total", {"policy": policy}
                )
                for policy in ("anonymous", "key", "unproven-key")
            }
            # The first made-up key was read, and then refused as a request without a key.
            assert limited == {"anonymous": 3, "key": 1, "unproven-key": 3}

    async def test_requests_under_way_are_shown(self, gateway: Gateway) -> None:
        gateway.lookups.gate.clear()
        async with asyncio.TaskGroup() as group:
            group.create_task(gateway.get(LOOKUP))
            await gateway.lookups.reached.wait()
            under_way = gateway.registry.get_sample_value("http_requests_in_flight")
            gateway.lookups.gate.set()

        assert under_way == 1


def counted(gateway: Gateway, **labels: str) -> float | None:
    return gateway.registry.get_sample_value("http_requests_total", labels)


async def in_flight(gateway: Gateway) -> float | None:
    return gateway.registry.get_sample_value("http_requests_in_flight")
