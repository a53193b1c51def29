"""The Reconciliation Service API 0.2: every answer fits the specification's own JSON Schemas."""

from collections.abc import AsyncIterator
from math import log
from typing import Any
from urllib.parse import quote

import jsonschema
import orjson
import pytest
from aiohttp import ClientResponse

from common.contracts.company import Country, Include, Status
from common.contracts.lookup import LookupReply, LookupRequest, SuggestReply
from common.contracts.match import MatchEvidence, MatchRecord, WeighedCompany, WeighedRecord
from gateway.access.clients import Caller
from gateway.access.keys import Rate, Scope
from gateway.problems import CompanyNotFound, LookupTimeout
from gateway.reconcile.requests import MAX_QUERIES
from tests.builders.openapi import example
from tests.builders.reconciliation import conforms
from tests.fakes.gateway import FakeLookups, Gateway, code_of, problem_of
from tests.fakes.gateway import gateway as a_gateway

DK, NO = "/reconcile/dk", "/reconcile/no"


def a_candidate(odds: float, vat: str = "12345674", **fields: Any) -> WeighedCompany:
    return WeighedCompany(
        **{
            "vat": vat,
            "name": "Prøvefabrikken ApS",
            "city": "København K",
            "status": Status.ACTIVE,
            "evidence": MatchEvidence(name=97.1, postal_code=100.0),
            "log_odds": log(odds),
            **fields,
        }
    )


def key_of(gateway: Gateway, **fields: Any) -> str:
    return gateway.issue(**fields)["X-API-Key"]


async def reconciled(gateway: Gateway, queries: Any, path: str = DK) -> dict[str, Any]:
    conforms(queries, "reconciliation-query-batch")
    answer = await posted(gateway, queries=queries, path=path)
    assert answer.status == 200, await answer.text()
    body: dict[str, Any] = orjson.loads(await answer.read())
    conforms(body, "reconciliation-result-batch")
    return body


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


@pytest.mark.parametrize("path, name", [(DK, "Denmark (CVR)"), (NO, "Norway (Brønnøysund)")])
async def test_the_manifest_needs_no_key_and_says_where_everything_is(
    gateway: Gateway, path: str, name: str
) -> None:
    headers = {"Host": "registry.example.com", "X-Forwarded-Proto": "https"}

    shown = await body_of(await gateway.get(path, headers=headers), "manifest")

    assert shown["name"] == f"Company registry: {name}"
    assert (shown["versions"], shown["batchSize"]) == (["0.2"], MAX_QUERIES)
    assert shown["authentication"] == {"type": "apiKey", "name": "api_key", "in": "query"}
    assert shown["preview"]["url"] == f"https://registry.example.com{path}/preview?id={{{{id}}}}"
    assert shown["view"] == {"url": shown["preview"]["url"]}
    entity = shown["suggest"]["entity"]
    assert entity["service_url"] + entity["service_path"] == (
        f"https://registry.example.com{path}/suggest/entity"
    )


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


async def test_a_key_in_the_address_counts_nowhere_else(gateway: Gateway) -> None:
    key = key_of(gateway)

    assert await code_of(await gateway.get(f"/api/me?api_key={key}")) == (401, "unauthorized")


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


# Queries


async def test_queries_become_records_and_candidates_have_percent_and_features(
    gateway: Gateway,
) -> None:
    other = a_candidate(0.01, "12345682", status=Status.ENDED, evidence=MatchEvidence(name=61.0))
    record = WeighedRecord(candidates=(a_candidate(99), other))
    gateway.matches.of = {(Country.DK, "0"): record}

    body = await reconciled(gateway, {"row 1": {"query": "Prøvefabrikken"}})

    [first, second] = body["row 1"]["result"]
    assert first == {
        "id": "12345674",
        "name": "Prøvefabrikken ApS",
        "description": "København K",
        "score": 98.99,
        "match": True,
        "type": [{"id": "company", "name": "Company"}],
        "features": [{"id": "name", "value": 97.1}, {"id": "postal_code", "value": 100.0}],
    }
    assert (second["match"], second["description"]) == (False, "København K, ended")
    [asked] = gateway.matches.asked
    assert asked.records == (MatchRecord(id="0", country=Country.DK, name="Prøvefabrikken"),)


async def test_a_slash_behind_the_address_is_the_same_service(gateway: Gateway) -> None:
    plain, slashed = await gateway.get(DK), await gateway.get(f"{DK}/")

    assert (slashed.status, await slashed.read()) == (200, await plain.read())


async def test_what_a_person_must_review_is_no_match(gateway: Gateway) -> None:
    record = WeighedRecord(candidates=(a_candidate(1.0), a_candidate(0.9, "12345682")))
    gateway.matches.of = {(Country.NO, "0"): record}

    body = await reconciled(gateway, {"q0": {"query": "Prøven"}}, path=NO)

    assert [one["match"] for one in body["q0"]["result"]] == [False, False]


async def test_properties_fill_the_fields_of_a_record(gateway: Gateway) -> None:
    properties = [
        {"pid": "street", "v": "Prøvevej 43"},
        {"pid": "postal_code", "v": 1112},
        {"pid": "city", "v": [" ", "København K"]},
        {"pid": "phone", "v": {"id": "x", "name": "12 34 56 78"}},
        {"pid": "email", "v": "post@proeven.example"},
        {"pid": "website", "v": "proeven.example"},
        {"pid": "form", "v": "ApS"},
        {"pid": "vat_registered", "v": True},
    ]

    await reconciled(gateway, {"q0": {"query": " Prøven ", "properties": properties}})

    [asked] = gateway.matches.asked
    assert asked.records == (
        MatchRecord(
            id="0",
            country=Country.DK,
            name="Prøven",
            address="Prøvevej 43",
            postal_code="1112",
            city="København K",
            phone="12 34 56 78",
            email="post@proeven.example",
            website="proeven.example",
        ),
    )


async def test_a_query_that_is_a_registration_number_is_one(gateway: Gateway) -> None:
    queries = {"a": {"query": "12345674"}, "b": {"properties": [{"pid": "number", "v": 12345682}]}}

    await reconciled(gateway, queries)

    [asked] = gateway.matches.asked
    assert [(one.number, one.name) for one in asked.records] == [
        ("12345674", None),
        ("12345682", None),
    ]


async def test_a_text_is_the_field_that_it_says(gateway: Gateway) -> None:
    texts = ["CVR-nr. 12345674", "5501431.0", "tlf. 33445566", "+45 33445566", "1881",
             "Anna <anna@example.com>", "?"]  # fmt: skip

    await reconciled(gateway, {text: {"query": text} for text in texts})

    [asked] = gateway.matches.asked
    given = [
        each.model_dump(exclude_none=True, exclude={"id", "country"}) for each in asked.records
    ]
    assert [list(each) for each in given] == [
        ["number"], ["number"], ["phone"], ["phone"], ["name"], ["email"],
    ]  # fmt: skip


@pytest.mark.parametrize("query", ["Prøven", '{"query": "Prøven"}'])
async def test_a_single_query_is_answered_with_its_result(gateway: Gateway, query: str) -> None:
    gateway.matches.of = {(Country.DK, "0"): WeighedRecord(candidates=(a_candidate(99),))}
    headers = gateway.issue()

    got = await gateway.client.get(DK, params={"query": query}, headers=headers)
    posted = await gateway.client.post(f"{DK}/", data={"query": query}, headers=headers)
    both = await gateway.client.get(DK, params={"query": query, "queries": "{}"}, headers=headers)

    for answer in (got, posted):
        [found] = orjson.loads(await answer.read())["result"]
        assert found["id"] == "12345674"
    assert await code_of(both) == (400, "invalid_parameter")


async def test_an_empty_cell_finds_nothing_and_the_others_are_found(gateway: Gateway) -> None:
    gateway.matches.of = {(Country.DK, "1"): WeighedRecord(candidates=(a_candidate(99),))}
    town = [{"pid": "city", "v": "Oslo"}]
    queries = {
        "a": {"query": ""},
        "b": {"query": "Prøven"},
        "c": {"query": " ", "properties": town},
    }

    body = await reconciled(gateway, queries)

    assert {key: len(one["result"]) for key, one in body.items()} == {"a": 0, "b": 1, "c": 0}
    assert await reconciled(gateway, {}) == {}


async def test_each_query_has_its_own_limit(gateway: Gateway) -> None:
    candidates = tuple(a_candidate(9 - n, f"1234567{n}") for n in range(4))
    weighed = WeighedRecord(candidates=candidates)
    gateway.matches.of = {(Country.DK, "0"): weighed, (Country.DK, "1"): weighed}

    body = await reconciled(
        gateway, {"a": {"query": "Alfa", "limit": 1}, "b": {"query": "Alfa", "limit": 3}}
    )

    assert [len(body[key]["result"]) for key in "ab"] == [1, 3]


@pytest.mark.parametrize(
    "queries, parameter, message",
    [
        ("[]", "queries", "must be a JSON object"),
        ("{", "queries", "must be a JSON object"),
        ({"q": []}, "queries.q", "give an object"),
        ({"q": {"qery": "a"}}, "queries.q.qery", "did you mean query?"),
        ({"q": {"query": 7}}, "queries.q.query", "give a string"),
        ({"q": {"query": "a", "limit": 0}}, "queries.q.limit", "whole number"),
        ({"q": {"query": "a", "properties": {}}}, "queries.q.properties", "give a list"),
        ({"q": {"query": "a", "properties": [{"pid": "a"}]}}, "queries.q.properties[0]", "pid"),
        (
            {"q": {"query": "a", "properties": [{"pid": "adress", "v": "b"}]}},
            "queries.q.properties[0].pid",
            "did you mean address?",
        ),
    ],
)
async def test_an_invalid_batch_is_refused_with_the_parameter(
    gateway: Gateway, queries: Any, parameter: str, message: str
) -> None:
    problem = await problem_of(await posted(gateway, queries=queries))

    assert (problem["status"], problem["code"]) == (400, "invalid_parameter")
    assert problem["errors"][0]["parameter"] == parameter
    assert message in problem["errors"][0]["message"]


async def test_what_is_no_form_with_a_batch_is_refused(gateway: Gateway) -> None:
    key = gateway.issue()
    form = {**key, "Content-Type": "application/x-www-form-urlencoded"}
    both = await posted(gateway, queries="{}", extend="{}")
    nothing = await posted(gateway, other="x")
    json = await gateway.client.post(DK, json={}, headers=key)
    bytes_ = await gateway.client.post(DK, data=b"queries=%ff\xff", headers=form)
    many = await posted(gateway, queries={f"q{n}": {"query": "a"} for n in range(MAX_QUERIES + 1)})

    assert [await code_of(each) for each in (both, nothing, json, bytes_, many)] == [
        (400, "invalid_parameter"),
        (400, "invalid_parameter"),
        (415, "unsupported_media_type"),
        (400, "invalid_body"),
        (413, "body_too_large"),
    ]


async def test_a_batch_fails_as_a_whole_because_the_protocol_has_no_other_problem(
    gateway: Gateway,
) -> None:
    gateway.matches.answer = LookupTimeout("too late")

    assert await code_of(await posted(gateway, queries={"q": {"query": "Alfa"}})) == (
        504,
        "lookup_timeout",
    )


async def test_another_country_has_no_service(gateway: Gateway) -> None:
    assert await code_of(await gateway.get("/reconcile/se")) == (404, "not_found")


# Suggestions


async def test_entities_are_suggested_by_name(gateway: Gateway) -> None:
    answer = await gateway.get(f"{DK}/suggest/entity?prefix=Pr%C3%B8v&type=company&exact=false")

    body = await body_of(answer, "suggest-entities-response")
    assert [one["id"] for one in body["result"]] == [
        one["vat"] for one in example("SuggestionList")["suggestions"]
    ]
    assert body["result"][0]["notable"] == [{"id": "company", "name": "Company"}]


async def test_a_registration_number_is_suggested_as_its_company(gateway: Gateway) -> None:
    answer = await gateway.get(f"{DK}/suggest/entity?prefix=12345674")

    [found] = (await body_of(answer, "suggest-entities-response"))["result"]
    assert (found["id"], found["name"]) == ("12345674", "Prøvefabrikken ApS")

    gateway.lookups.answer = CompanyNotFound("none")
    answer = await gateway.get(f"{DK}/suggest/entity?prefix=12345674")
    await body_of(answer, "suggest-entities-response")
    assert len(gateway.suggestions.asked) == 1  # a name may be a number, too


async def test_a_cursor_skips_suggestions(gateway: Gateway) -> None:
    listed = [
        {"vat": f"100000{n:02}", "name": f"Alfa {n}", "city": None, "status": "active", "score": 90}
        for n in range(20)
    ]
    page = SuggestReply(body=orjson.dumps({"suggestions": listed, "cursor": "0" * 16}))
    gateway.suggestions.answer = page

    answer = await gateway.get(f"{DK}/suggest/entity?prefix=alfa&cursor=15")

    found = (await body_of(answer, "suggest-entities-response"))["result"]
    assert [one["name"] for one in found] == [f"Alfa {n % 20}" for n in range(15, 25)]
    assert [one.after for one in gateway.suggestions.asked] == [None, "0" * 16]


async def test_one_letter_suggests_no_company(gateway: Gateway) -> None:
    body = await body_of(
        await gateway.get(f"{DK}/suggest/entity?prefix=a"), "suggest-entities-response"
    )

    assert (body["result"], gateway.suggestions.asked) == ([], [])


async def test_properties_and_the_type_are_suggested_by_words_of_their_names(
    gateway: Gateway,
) -> None:
    properties = await gateway.get(f"{DK}/suggest/property?prefix=code")
    type_ = await gateway.get(f"{DK}/suggest/type?prefix=Comp")
    none = await gateway.get(f"{DK}/suggest/type?prefix=person")

    found = (await body_of(properties, "suggest-properties-response"))["result"]
    assert [one["id"] for one in found] == [
        "postal_code",
        "municipality_code",
        "form_code",
        "industry_code",
    ]
    assert len((await body_of(type_, "suggest-types-response"))["result"]) == 1
    assert (await body_of(none, "suggest-types-response"))["result"] == []


@pytest.mark.parametrize(
    "query, code, parameter",
    [
        ("", "missing_parameter", "prefix"),
        ("?prefix=ab&cursor=x", "invalid_parameter", "cursor"),
        ("?prefix=ab&cursor=201", "invalid_parameter", "cursor"),
        ("?prefix=ab&prefix=cd", "invalid_parameter", "prefix"),
    ],
)
async def test_an_invalid_suggestion_is_refused(
    gateway: Gateway, query: str, code: str, parameter: str
) -> None:
    problem = await problem_of(await gateway.get(f"{DK}/suggest/entity{query}"))

    assert (problem["status"], problem["code"]) == (400, code)
    assert problem["errors"][0]["parameter"] == parameter


# Data and previews


class Everything(FakeLookups):
    """Finds one company with every part; others do not exist."""

    async def look_up(self, request: LookupRequest, *, caller: Caller) -> LookupReply:
        await super().look_up(request, caller=caller)
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
    query = {"ids": ["12345674", "12345682", "no number"], "properties": properties}
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


@pytest.mark.parametrize(
    "extend, parameter",
    [
        ("x", "extend"),
        ({"ids": "12345674", "properties": []}, "extend.ids"),
        ({"ids": ["1"] * 1 + [str(n) for n in range(100, 200)], "properties": []}, "extend.ids"),
        ({"ids": [], "properties": ["name"]}, "extend.properties"),
        ({"ids": [], "properties": [{"id": "telephon"}]}, "extend.properties"),
        ({"ids": []}, "extend.properties"),
    ],
)
async def test_an_invalid_request_for_data_is_refused(
    gateway: Gateway, extend: Any, parameter: str
) -> None:
    problem = await problem_of(await posted(gateway, extend=extend))

    assert (problem["code"], problem["errors"][0]["parameter"]) == ("invalid_parameter", parameter)


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
