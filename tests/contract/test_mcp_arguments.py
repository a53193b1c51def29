"""Arguments of MCP tools as clients send them: each is read as it is meant, or refused in words."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import product
from typing import Any, Final

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from common.domain.countries import FORMATS
from company_registry.mcp import Api, connections, mcp_server
from company_registry.mcp.arguments import OTHER_NAMES
from company_registry.mcp.lookup_tools import CHECK_WEIGHTS
from tests.builders.answers import a_problem
from tests.contract.test_mcp import text_of
from tests.fakes.mcp import Service, agent, served, service

KEY: Final = "id.secret"


@pytest.fixture(name="api")
async def _api() -> AsyncIterator[Service]:
    async with service() as running:
        yield running


@asynccontextmanager
async def connected(api: Service) -> AsyncIterator[Client]:
    """A client of a server; no fixture, because the SDK's ends in the task that it began in."""
    async with served(api.url) as url, agent(url, KEY) as client:
        yield client


#: A call as a client sends it, and what the API is asked: parts of the query, or of the body.
READ: Final[list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]] = [
    # Names of another tool, and of the release before.
    ("lookup_company", {"identifier": "alfa", "country": "dk"}, {"search": "alfa"}),
    ("lookup_company", {"query": "alfa", "country": "dk"}, {"search": "alfa"}),
    ("search_companies", {"words": "alfa"}, {"q": "alfa"}),
    ("company_history", {"identifier": "dk:12345674"}, {}),
    ("company_changes", {"company": "dk:12345674"}, {"companies": "dk:12345674"}),
    ("company_changes", {"identifiers": ["dk:12345674"]}, {"companies": "dk:12345674"}),
    ("fetch", {"company": "dk:12345674"}, {"q": "12345674"}),
    # Arguments that clients add.
    ("search_companies", {"query": "x", "_meta": {"progressToken": 1}}, {"q": "x"}),
    (
        "search_companies",
        {"query": "x", "toolCallId": "call_1", "sessionId": "1", "action": "a", "chatInput": "b"},
        {"q": "x"},
    ),
    # Nulls are absent.
    ("search_companies", {"query": "x", "industry": None, "country": None}, {"q": "x"}),
    # Numbers where a text is meant.
    ("lookup_company", {"company": 12345674, "country": "dk"}, {"search": "12345674"}),
    ("lookup_company", {"company": 12345674.0, "country": "dk"}, {"search": "12345674"}),
    ("search_companies", {"postal_code": [1000, 2000]}, {"postal_code": "1000,2000"}),
    ("search_companies", {"industry": 62}, {"industry": "62"}),
    ("company_changes", {"companies": [12345674]}, {"companies": "dk:12345674"}),
    ("company_changes", {"companies": 310345679}, {"companies": "no:310345679"}),
    # Texts where a number is meant.
    ("search_companies", {"limit": "5", "employees_min": "50"}, {"employees_min": "50"}),
    # One entry, entries with commas, and a list as JSON.
    ("search_companies", {"municipality": "Oslo"}, {"municipality": "Oslo"}),
    ("search_companies", {"city": '["Oslo", "Bergen"]'}, {"city": "Oslo,Bergen"}),
    ("search_companies", {"status": "active, ended"}, {"status": "active,ended"}),
    ("search_companies", {"count_by": '["form","status"]'}, {"facets": "form,status"}),
    (
        "lookup_company",
        {"company": "x", "country": "no", "include": "owners,roles"},
        {"include": "owners,roles,alternatives"},
    ),
    (
        "company_changes",
        {"companies": "dk:12345674, dk:12345682"},
        {"companies": "dk:12345674,dk:12345682"},
    ),
    # A text that happens to be JSON.
    ("search_companies", {"query": "null"}, {"q": "null"}),
    ("search_companies", {"city": "[Oslo"}, {"city": "[Oslo"}),
    # Words in either case, and countries by name.
    ("search_companies", {"status": "Under liquidation"}, {"status": "under_liquidation"}),
    ("search_companies", {"country": "DK"}, {"country": "dk"}),
    ("search_companies", {"country": "Danmark"}, {"country": "dk"}),
    ("search_companies", {"country": " norge "}, {"country": "no"}),
    # Ids as numbers are printed.
    ("fetch", {"id": "DK 12 34 56 74"}, {"country": "dk", "q": "12345674"}),
    ("fetch", {"id": "NO310345679MVA"}, {"country": "no", "q": "310345679"}),
    ("fetch", {"id": "no.310.345.679"}, {"country": "no", "q": "310345679"}),
    ("search_companies", {"owned_by": 12345674}, {"owned_by": "dk:12345674"}),
    # Days and times.
    ("company_changes", {"since": "2026-11-20"}, {"since": "2026-11-20T00:00:00Z"}),
    ("company_changes", {"since": "2026-11-20T08:00"}, {"since": "2026-11-20T08:00:00Z"}),
    (
        "company_changes",
        {"since": "2026-11-20T08:00+01:00"},
        {"since": "2026-11-20T07:00:00Z"},
    ),
    (
        "company_changes",
        {"since": "2026-11-20t08:00:00z"},
        {"since": "2026-11-20T08:00:00Z"},
    ),
    ("company_history", {"company": "dk:12345674", "since": "2026-11-20"}, {"since": "2026-11-20"}),
    (
        "company_history",
        {"company": "dk:12345674", "since": "2026-11-20T08:00"},
        {"since": "2026-11-20T08:00:00Z"},
    ),
    # A watchlist, by its name.
    ("search_companies", {"watchlist": "customers"}, {"watchlist": "wl_1"}),
]


async def test_arguments_are_read_as_they_are_meant(
    api: Service, subtests: pytest.Subtests
) -> None:
    api.answers["/api/companies/no/310345679/history"] = {"history": []}
    async with connected(api) as client:
        for tool, arguments, expected in READ:
            with subtests.test(tool=tool, arguments=arguments):
                result = await client.call_tool(tool, dict(arguments))

                assert not result.is_error, text_of(result)
                query = api.requests[-1].query
                assert {name: query.get(name) for name in expected} == expected


#: A call, and words of the error.
REFUSED: Final[list[tuple[str, Mapping[str, Any], str]]] = [
    ("search_companies", {"municipalty": "Oslo"}, "'municipalty'; did you mean municipality?"),
    ("search_companies", {"kommune": "Oslo"}, "Known are query, country, industry, municipality"),
    ("company_changes", {"firm": "dk:12345674"}, "There is no argument 'firm'"),
    ("company_history", {"company": "dk:12345674", "Limit": 5}, "did you mean limit?"),
    ("find_companies", {}, "There is no tool 'find_companies'"),
    ("lookup_company", {"company": "x", "identifier": "y"}, "Give company once"),
    ("lookup_company", {"company": None}, "company is required"),
    ("lookup_company", {"company": True}, "company must be a text, not True"),
    ("lookup_company", {"company": "x", "as_of": 20260301}, "as_of must be a day such as 2026-"),
    ("lookup_company", {"company": "x", "as_of": "2026-02-30"}, "as_of must be a day such as"),
    ("lookup_company", {"company": "x", "include": ["shoes"]}, "include[0] must be 'owners'"),
    ("search_companies", {"country": "Sverige"}, "must be dk (Denmark) or no (Norway)"),
    ("search_companies", {"employees_min": "many"}, "employees_min must be a whole number"),
    ("search_companies", {"vat_registered": "perhaps"}, "vat_registered must be true or false"),
    ("search_companies", {"watchlist": "nope"}, "There is no watchlist 'nope'"),
    ("search_companies", {"owned_by": "Alfa"}, "it must be like dk:12345674"),
    ("company_changes", {"since": 1_700_000_000}, "since must be a time such as"),
    ("company_changes", {"since": "2026-11-20x08:00:00Z"}, "since must be a time such as"),
    ("company_changes", {"since": "2026-11-20T08Z"}, "since must be a time such as"),
    ("company_changes", {"companies": ["alfa"]}, "lookup_company finds it"),
    ("company_group", {"company": "dk:12345674", "country": "no"}, "is not of the country no"),
    ("match_companies", {"records": "alfa"}, "records[0] must be an object"),
    ("match_companies", {"records": [{"zip": "1000"}]}, "A record has no field 'zip'"),
    ("match_companies", {"records": [{"id": 1}, {"id": "1"}]}, "2 rows have the id '1'"),
]


async def test_other_arguments_are_refused_in_words_and_not_sent(
    api: Service, subtests: pytest.Subtests
) -> None:
    async with connected(api) as client:
        for tool, arguments, expected in REFUSED:
            with subtests.test(tool=tool, arguments=arguments):
                result = await client.call_tool(tool, dict(arguments))

                assert result.is_error
                assert expected in text_of(result)

    assert {request.path for request in api.requests} <= {"/api/watchlists"}


#: Values of every type of JSON, and texts that a library might quote.
JUNK: Final[list[Any]] = [
    *(True, -1, 1e300, 10**30, "", "\u202e\n", "x" * 5_000, "[" * 2_000, "{}", [], [[]], [{}], {}),
    *({"$ref": "x"}, [None], ["\x00"], "9999-99-99", "0001-01-01T00:00:00+23:59"),
]
#: Signs of a library's text.
FOREIGN: Final = ("pydantic", "https://", "[type=", "Input should", "validation error", "Traceback")


async def test_no_text_of_a_library_reaches_an_agent(api: Service) -> None:
    texts = []
    async with (
        connections(api.url) as shared,
        Client(mcp_server(Api(api.url, shared, KEY))) as client,
    ):
        for tool in (await client.list_tools()).tools:
            for name, value in product(tool.input_schema["properties"], JUNK):
                result = await client.call_tool(tool.name, {name: value})
                assert "tool failed" not in text_of(result), (tool.name, name, value)
                texts.append(text_of(result) if result.is_error else "")

    assert len(texts) > 500
    assert [text for text in texts for sign in FOREIGN if sign in text] == []
    assert max(map(len, texts)) < 1_000


async def test_one_thing_has_one_name_in_all_tools(api: Service) -> None:
    async with connected(api) as client:
        listed = (await client.list_tools()).tools
    tools = {tool.name: list(tool.input_schema["properties"]) for tool in listed}

    others = {name for names in OTHER_NAMES.values() for name in names} - OTHER_NAMES.keys()
    assert {tool: set(names) & others for tool, names in tools.items() if set(names) & others} == {}
    # ChatGPT prescribes the arguments of its two tools.
    assert (tools["search"], tools["fetch"]) == (["query"], ["id"])
    assert [tool for tool, names in tools.items() if "id" in names] == ["fetch"]


async def test_a_row_without_an_id_has_one_that_no_other_row_has(api: Service) -> None:
    rows = [{"name": "a"}, {"name": "b", "id": "row-1"}, {"name": "c", "id": 7}, {"name": "d"}]

    async with connected(api) as client:
        await client.call_tool("match_companies", {"records": json.dumps(rows)})

    [body] = api.bodies
    assert [one["id"] for one in body["records"]] == ["row-1-", "row-1", "7", "row-4"]


@pytest.mark.parametrize(
    "identifier, country, verdict",
    [
        ("12345678", "dk", "malformed"),
        ("12345678", None, "malformed"),
        ("DK-12 34 56 78", None, "malformed"),
        ("310345670", None, "malformed"),
        ("12345674", "dk", "not_found"),
        ("310345679", None, "not_found"),
        # A phone number has no check digit.
        ("12345678", "no", "not_found"),
    ],
)
async def test_a_wrong_check_digit_is_malformed(
    api: Service, identifier: str, country: str | None, verdict: str
) -> None:
    missing = {"problem": a_problem("company_not_found", 404)}
    api.answers["/api/batch"] = lambda _: {"results": [missing] * len(api.bodies[-1]["lookups"])}

    async with connected(api) as client:
        result = await client.call_tool(
            "validate_identifiers", {"companies": identifier, "country": country}
        )

    assert result.structured_content is not None
    assert result.structured_content["counts"] == {verdict: 1}


def test_check_digits_are_those_of_the_service() -> None:
    assert {country: formats.vat_weights for country, formats in FORMATS.items()} == CHECK_WEIGHTS


async def test_a_parameter_of_the_api_is_told_by_the_name_of_the_argument(api: Service) -> None:
    detail = "facets: must be industry, or needs q; GET /api/codes/x lists them"
    api.answers["/api/companies"] = a_problem("invalid_parameter", 400, detail)

    async with connected(api) as client:
        result = await client.call_tool("search_companies", {"query": "x"})

    assert text_of(result) == (
        "count_by: must be industry, or needs query. Correct the argument, and call again."
    )


@pytest.mark.parametrize(
    "name, arguments, expected",
    [
        ("due_dilligence", {}, "did you mean due_diligence?"),
        ("due_diligence", {}, "company is required"),
        ("due_diligence", {"company": "x", "yer": "2026"}, "There is no argument 'yer'"),
    ],
)
async def test_a_prompt_that_cannot_be_had_is_explained(
    api: Service, name: str, arguments: Any, expected: str
) -> None:
    async with connected(api) as client:
        with pytest.raises(MCPError, match=re.escape(expected)) as raised:
            await client.get_prompt(name, arguments)

    assert raised.value.code == -32602
