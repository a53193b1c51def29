"""The Reconciliation Service API 0.2: every answer fits the specification's own JSON Schemas."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import jsonschema
import orjson
import pytest
from aiohttp import ClientResponse

from common.contracts.company import Include
from common.contracts.lookup import LookupReply, LookupRequest
from common.runtime.public_port.rates import Rate
from gateway.access.clients import Caller
from gateway.access.keys import Scope
from gateway.problems import CompanyNotFound, CompanyRemoved, LookupTimeout
from tests.builders.openapi import example
from tests.builders.reconciliation import conforms
from tests.fakes.gateway import FakeLookups, Gateway, code_of
from tests.fakes.gateway import gateway as a_gateway

DK, NO = "/reconcile/dk", "/reconcile/no"


def key_of(gateway: Gateway, **fields: Any) -> str:
    return gateway.issue(**fields)["X-API-Key"]


async def posted(gateway: Gateway, *, path: str = DK, **fields: Any) -> ClientResponse:
    form = {
        name: value if isinstance(value, str) else orjson.dumps(value).decode()
        for name, value in fields.items()
    }
    return await gateway.client.post(path, data=form, headers=gateway.issue())


async def body_of(answer: ClientResponse, schema: str) -> Any:
    assert answer.status == 200, await answer.text()
    body = orjson.loads(await answer.read())
    conforms(body, schema)
    return body


def test_the_schemas_refuse_invalid_values() -> None:
    for name in ("manifest", "reconciliation-result-batch", "data-extension-response"):
        with pytest.raises(jsonschema.ValidationError):
            conforms({"rows": [], "q0": {}}, name)
    with pytest.raises(jsonschema.ValidationError):
        conforms({"authentication": {"type": "apiKey", "in": "cookie"}}, "manifest")


# The manifest


async def test_addresses_of_a_manifest_are_those_of_the_settings() -> None:
    async with a_gateway(
        public_url="https://api.example.com/registry", portal_url="https://portal.example.com"
    ) as gateway:
        shown = await body_of(await gateway.get(NO), "manifest")

    assert shown["documentation"] == "https://api.example.com/registry/docs"
    assert shown["view"]["url"] == "https://portal.example.com/companies/no/{{id}}"
    assert shown["extend"]["propose_properties"] == {
        "service_url": "https://api.example.com/registry",
        "service_path": "/reconcile/no/properties",
    }


async def test_a_manifest_that_was_requested_with_a_key_has_it_in_its_links() -> None:
    """OpenRefine sends no key of its own, and appends nothing to links but parameters."""
    async with a_gateway(anonymous_lookups=False) as gateway:
        key = key_of(gateway)
        shown = await body_of(await gateway.get(f"{DK}?api_key={key}"), "manifest")

        entity = shown["suggest"]["entity"]["service_path"] + "&prefix=co"
        assert (await gateway.get(entity)).status == 200
        preview = shown["preview"]["url"].partition("/reconcile")[2].replace("{{id}}", "12345674")
        assert (await gateway.get(f"/reconcile{preview}")).status == 200
        # As OpenRefine does.
        proposals = shown["extend"]["propose_properties"]["service_path"] + "?type=company"
        names, types = (shown["suggest"][kind]["service_path"] for kind in ("property", "type"))
        for open_ in (proposals, f"{names}?prefix=co", f"{types}?prefix=co"):
            assert (await gateway.get(open_)).status == 200
        assert "view" not in shown  # no page of a company can be read without a key


# Keys and rates


async def test_batches_need_a_key_in_a_header_or_in_the_address(gateway: Gateway) -> None:
    query = "queries=" + quote('{"q0":{"query":"Prøven"}}')
    key, other = key_of(gateway), key_of(gateway, scopes=frozenset({Scope.EVENTS}))

    assert await code_of(await gateway.get(f"{DK}?{query}")) == (401, "unauthorized")
    assert await code_of(await gateway.get(f"{DK}?{query}&api_key=x")) == (401, "unauthorized")
    assert await code_of(await gateway.get(f"{DK}?{query}&api_key={other}")) == (403, "forbidden")
    assert (await gateway.get(f"{DK}?{query}&api_key={key}")).status == 200
    assert (await gateway.get(f"{DK}?{query}", headers={"X-API-Key": key})).status == 200
    assert await code_of(await gateway.get(f"{DK}?api_key=x")) == (401, "unauthorized")


async def test_each_query_and_each_company_counts_as_a_request() -> None:
    async with a_gateway(key_rate=Rate(5, 60)) as gateway:
        key = gateway.issue()
        queries = {f"q{n}": {"query": "Prøven"} for n in range(3)}
        form = {"queries": orjson.dumps(queries).decode()}
        ids = {"extend": '{"ids": ["12345674", "12345682"], "properties": []}'}

        first = await gateway.client.post(DK, data=form, headers=key)
        second = await gateway.client.post(DK, data=ids, headers=key)
        third = await gateway.client.post(DK, data=form, headers=key)
        assert await code_of(third) == (429, "rate_limited")

    assert (first.headers["RateLimit"], second.headers["RateLimit"]) == (
        '"key";r=2;t=60',
        '"key";r=0;t=60',
    )


@pytest.mark.parametrize(
    "path",
    ["", "/suggest/entity?prefix=ab", "/suggest/property?prefix=", "/suggest/type?prefix=",
     "/properties?type=company", "/preview?id=12345674"],
)  # fmt: skip
async def test_scripts_of_any_origin_may_use_every_path(gateway: Gateway, path: str) -> None:
    asked = await gateway.client.options(DK + path, headers={"Origin": "https://refine.example"})
    answer = await gateway.get(DK + path, headers={"Origin": "https://refine.example"})

    assert (asked.status, answer.status) == (204, 200)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    methods = asked.headers["Access-Control-Allow-Methods"].split(", ")
    assert ("POST" in methods) == (path == "")


# Suggestions


async def test_a_registration_number_is_suggested_as_its_company(gateway: Gateway) -> None:
    answer = await gateway.get(f"{DK}/suggest/entity?prefix=12345674")

    [found] = (await body_of(answer, "suggest-entities-response"))["result"]
    assert (found["id"], found["name"]) == ("12345674", "Prøvefabrikken ApS")

    for problem in (CompanyNotFound("none"), CompanyRemoved("gone", removed_on="2026-03-02")):
        gateway.lookups.answer = problem
        answer = await gateway.get(f"{DK}/suggest/entity?prefix=12345674")
        await body_of(answer, "suggest-entities-response")
    assert len(gateway.suggestions.asked) == 2  # a name may be a number, too


# Data and previews


class Everything(FakeLookups):
    """Finds one company with every part; others do not exist."""

    async def look_up(
        self, request: LookupRequest, *, caller: Caller, **_options: Any
    ) -> LookupReply:
        await super().look_up(request, caller=caller)
        if request.questions[0].term == "87654321":
            raise CompanyRemoved("gone", removed_on="2026-03-02")
        if request.questions[0].term != "12345674":
            raise CompanyNotFound("none")
        return LookupReply(body=orjson.dumps(example("CompanyWithEverything")), tag="1")


@pytest.fixture
async def everything() -> AsyncIterator[Gateway]:
    async with a_gateway(lookups=Everything()) as running:
        yield running


async def test_every_proposed_property_can_be_fetched(everything: Gateway) -> None:
    proposals = await body_of(
        await everything.get(f"{DK}/properties?type=company"), "data-extension-property-proposal"
    )
    properties = [{"id": one["id"]} for one in proposals["properties"]]
    ids = ["12345674", "12345682", "87654321", "no number"]
    query = {"ids": ids, "properties": properties}
    conforms(query, "data-extension-query")

    answer = await posted(everything, extend=query)

    body = await body_of(answer, "data-extension-response")
    assert [one["id"] for one in body["meta"]] == [one["id"] for one in properties]
    company = body["rows"]["12345674"]
    assert company["address"] == [{"str": "Prøvevej 43, 3., 1112 København K"}]
    assert company["employees"] == [{"int": 20}]
    assert company["founded"] == [{"date": "1999-11-15T00:00:00Z"}]
    assert company["advertising_protected"] == [{"str": "true"}]
    assert company["owners"] == [{"id": "87654325", "name": "Prøveholding A/S"}]
    assert company["subsidiaries"] == [{"id": "12345682", "name": "Prøvefabrikken Salg ApS"}]
    assert company["roles"][0] == {"str": "director: Anna Testesen"}
    assert company["einvoicing"] == [{"str": "0184:12345674"}]
    assert company["accounts_end"] == [{"date": "2025-12-31T00:00:00Z"}]
    assert (company["revenue"], company["profit"]) == ([], [{"str": "32100"}])
    assert company["accounts_employees"] == [{"str": "3"}]
    for unknown in ("12345682", "no number"):
        assert set(map(tuple, body["rows"][unknown].values())) == {()}


async def test_a_company_is_looked_up_with_the_parts_that_its_properties_need(
    everything: Gateway,
) -> None:
    for properties in (["name", "phone"], ["owners", "subsidiaries"]):
        wanted = [{"id": one, "settings": {}} for one in properties]
        await posted(everything, extend={"ids": ["12345674"], "properties": wanted})

    assert [one.include for one in everything.lookups.asked] == [
        (),
        (Include.OWNERS, Include.SUBSIDIARIES),
    ]


async def test_data_that_cannot_be_read_now_is_no_empty_cell(gateway: Gateway) -> None:
    gateway.lookups.answer = LookupTimeout("too late")
    extend = {"ids": ["12345674"], "properties": [{"id": "name"}]}

    assert (await posted(gateway, extend=extend)).status == 504


async def test_a_preview_is_a_page_for_frames_that_runs_and_loads_nothing() -> None:
    hostile = {**example("Company"), "name": "<script>alert(1)</script> & Søn"}
    async with a_gateway(portal_url="https://portal.example.com") as gateway:
        gateway.lookups.answer = LookupReply(body=orjson.dumps(hostile), tag="1")
        answer = await gateway.get(f"{DK}/preview?id=12345674")
        page = await answer.text()

        for given in ("12345675", "x"):
            missing = await gateway.get(f"{DK}/preview?id={given}")
            assert given == "12345675" or await code_of(missing) == (404, "company_not_found")
        assert await code_of(await gateway.get(f"{DK}/preview")) == (400, "missing_parameter")

    assert (answer.status, answer.content_type) == (200, "text/html")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; Søn" in page
    assert "<script" not in page
    assert 'href="https://portal.example.com/companies/dk/12345674"' in page
    assert "<dt>Founded</dt><dd>1999-11-15</dd>" in page
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors *" in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
