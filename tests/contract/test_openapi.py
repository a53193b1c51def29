"""The OpenAPI document matches the routes, the models, the problems and the responses."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import orjson
import pytest
import yaml
from openapi_spec_validator import validate
from pydantic import BaseModel

from common.contracts import customer_files, watchlists, webhooks
from common.contracts.accounts import AnnualAccounts
from common.contracts.company import CompanyAnswer, Country, Include, OwnerRole, RoleCode, Status
from common.contracts.events import EventType, RegistryEvent
from common.contracts.find import MAX_FOUND, CodeList, Codes, CompanyList, FindSort
from common.contracts.lookup import (
    MAX_LISTED,
    MAX_SUGGESTIONS,
    SUGGEST_CURSOR,
    TYPED_SEARCHES,
    AccountsPage,
    EinvoicingPage,
    GroupAnswer,
    HistoryEntry,
    HistoryPage,
    ListedPart,
    OwnerPage,
    RolePage,
    SourcesReply,
    SuggestionList,
    UnitPage,
)
from common.contracts.match import (
    DEFAULT_CANDIDATES,
    MAX_CANDIDATES,
    MAX_RECORDS,
    MatchCandidate,
    MatchDecision,
    MatchReason,
)
from gateway.access.keys import Scope
from gateway.exports import INCLUDES
from gateway.http.parameters import Format
from gateway.lookups.batch import FIELDS, MAX_LOOKUPS
from gateway.lookups.find import CURSOR, DEFAULT_FOUND
from gateway.lookups.lists import DEFAULT_LIMIT
from gateway.lookups.lookup import SEARCH
from gateway.lookups.match import MAX_FIELD, MAX_ID, RECORD_FIELDS
from gateway.lookups.terms import NAME_LENGTH
from gateway.problems import PROBLEMS
from tests.builders.openapi import (
    DOCUMENT,
    Node,
    check,
    closed,
    example,
    operations,
    resolved,
    schema_of,
)
from tests.fakes.gateway import Gateway

SCHEMAS = DOCUMENT["components"]["schemas"]
EXAMPLES = DOCUMENT["components"]["examples"]
#: Properties that are null where the register cannot say.
NULLABLE = {"owners", "roles", "subsidiaries"}
NULLABLE |= {f"{part}_total" for part in NULLABLE}
#: The schemas of pages.
PAGES = {
    ListedPart.PRODUCTION_UNITS: "UnitPage",
    ListedPart.EINVOICING: "EinvoicingPage",
    ListedPart.OWNERS: "OwnerPage",
    ListedPart.ROLES: "RolePage",
}
#: The fields that `include` adds.
INCLUDED = {
    *map(str, Include),
    "accounts_state",
    *(f"{part}_total" for part in (*PAGES, "subsidiaries")),
}
#: The fields that `as_of` adds.
DATED = {"as_of", "known_from"}


def nodes(node: Any) -> Iterator[Node]:
    """Every mapping in a part of the document."""
    if isinstance(node, dict):
        yield node
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from nodes(child)


def test_it_is_valid() -> None:
    validate(DOCUMENT)


async def test_it_is_served_as_it_is(gateway: Gateway) -> None:
    response = await gateway.get("/openapi.json")

    assert response.headers["Content-Type"] == "application/json"
    assert orjson.loads(await response.read()) == DOCUMENT


async def test_every_public_path_and_method_is_described(gateway: Gateway) -> None:
    served = {
        (route.resource.canonical, route.method.lower())
        for route in gateway.client.app.router.routes()
        if route.resource is not None
    }
    # HTTP defines HEAD and CORS defines OPTIONS; files of the page and guides are no API.
    undescribed = {
        (path, method)
        for path, method in served
        if method in ("head", "options")
        or path.startswith(("/docs/", "/guides", "/llms"))
        or path.endswith("/")
    }

    assert served - undescribed == {(path, method) for path, method, _ in operations()}


def test_every_operation_has_an_id_of_its_own() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]

    assert len(set(ids)) == len(ids)


def test_ids_of_events_and_deliveries_are_uuids() -> None:
    """A generated client has a type for them."""
    properties = [pair for each in SCHEMAS.values() for pair in each.get("properties", {}).items()]
    ids = [node for name, node in properties if name in ("event_id", "delivery_id")]

    formats = {node.get("format") for node in (*ids, SCHEMAS["Event"]["properties"]["id"])}

    assert formats == {"uuid"}


def test_operations_with_formats_describe_both_with_one_schema() -> None:
    """A generated client then returns it, whatever the format, and knows each media type."""
    for _, _, operation in operations():
        names = {resolved(each)["name"] for each in operation.get("parameters", ())}
        media = {
            media: content["schema"]
            for status, response in operation["responses"].items()
            for media, content in resolved(response).get("content", {}).items()
            if status == "200" or media.startswith("application/problem")
        }
        kinds = {"application/problem+xml", "application/xml"} if "format" in names else set()
        feeds = {"application/atom+xml"}
        assert {each for each in media if each.endswith("xml")} - feeds == kinds
        if kinds:
            answer = schema_of(
                "AccountsPage" if operation["operationId"] == "listAnnualAccounts" else "Company"
            )
            assert media == {
                "application/json": answer,
                "application/xml": answer,
                "application/problem+json": schema_of("Problem"),
                "application/problem+xml": schema_of("Problem"),
            }
            for response in operation["responses"].values():
                found = {each.rpartition("+")[2].rpartition("/")[2] for each in
                         resolved(response)["content"]}  # fmt: skip
                assert found == {"json", "xml"}


def test_no_key_of_the_document_is_given_twice() -> None:
    """YAML takes the last one, and the description of another operation is lost."""

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        assert [key for key in keys if keys.count(key) > 1] == []
        loader.flatten_mapping(node)
        return loader.construct_mapping(node, deep=True)

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    text = (files("gateway.http") / "openapi.yaml").read_text()

    assert yaml.load(text, Loader=Loader)["paths"]  # noqa: S506 (a safe loader)


NAMED_ENUMS: dict[str, list[str]] = {
    kind.__name__: [member.value for member in kind]
    for kind in (
        Country,
        Include,
        Format,
        Scope,
        FindSort,
        CodeList,
        MatchDecision,
        MatchReason,
        Status,
        OwnerRole,
        RoleCode,
        EventType,
        webhooks.WebhookStatus,
        webhooks.DisabledReason,
        webhooks.AttemptStatus,
        webhooks.DeliveryStatus,
    )
} | {"SearchType": list(TYPED_SEARCHES)}


def test_only_required_parameters_and_search_have_an_example() -> None:
    """The page sends every example, so others would conflict with `search` or filter a list."""
    given = {
        parameter["name"]
        for _, _, operation in operations()
        for parameter in map(resolved, operation.get("parameters", []))
        if "example" in parameter and not parameter.get("required")
    }

    assert given == {SEARCH}


def test_every_enumeration_is_a_named_schema() -> None:
    named = {name: schema["enum"] for name, schema in map(_named, SCHEMAS) if "enum" in schema}
    all_nodes = [node for node in nodes(DOCUMENT) if {"enum", "x-extensible-enum"} & node.keys()]

    assert len([node for node in all_nodes if node.get("type") == "string"]) == len(named)
    assert NAMED_ENUMS.items() <= named.items()
    assert named["ProblemCode"] == list(PROBLEMS)
    assert named["ExportInclude"] == list(INCLUDES)


def _named(name: str) -> tuple[str, Node]:
    return name, closed(SCHEMAS[name])


def _reached(node: Any, found: dict[str, Node]) -> dict[str, Node]:
    """The named schemas that a description leads to."""
    if isinstance(node, dict):
        name = str(node.get("$ref", "")).rpartition("/")[2]
        if name and name not in found:
            found[name] = resolved(node)
            _reached(found[name], found)
        for value in node.values():
            _reached(value, found)
    for each in node if isinstance(node, list) else ():
        _reached(each, found)
    return found


def test_a_list_in_a_query_is_an_array() -> None:
    named = {
        (path, parameter["name"]): parameter
        for path, _, operation in operations()
        for parameter in map(resolved, operation.get("parameters", ()))
        if parameter["in"] == "query" and "omma-separated" in parameter.get("description", "")
    }

    assert len(named) > 20
    for where, parameter in named.items():
        assert parameter["schema"]["type"] == "array", where
        assert (parameter["style"], parameter["explode"]) == ("form", False), where


def test_no_answer_has_a_closed_enumeration_or_object() -> None:
    """Generated clients refuse a value beside an `enum`, and releases add values."""
    reached: dict[str, Node] = {}
    for _, _, operation in operations():
        _reached(operation["responses"], reached)
    described = [node for schema in reached.values() for node in nodes(schema)]

    assert {"Company", "Status", "EventType", "ProblemCode"} <= reached.keys()
    assert [name for name, schema in reached.items() if "enum" in schema] == []
    assert [node for node in described if "enum" in node] == []
    assert [node for node in described if node.get("additionalProperties") is False] == []


def test_limits_are_those_of_the_code() -> None:
    _, text, limit, _, after = DOCUMENT["paths"]["/api/suggest"]["get"]["parameters"]

    assert (text["schema"]["minLength"], text["schema"]["maxLength"]) == NAME_LENGTH
    assert (limit["schema"]["maximum"], limit["schema"]["default"]) == (
        MAX_SUGGESTIONS,
        DEFAULT_LIMIT,
    )
    assert after["schema"]["pattern"] == SUGGEST_CURSOR
    parameters = DOCUMENT["paths"]["/api/companies"]["get"]["parameters"]
    found = {each["name"]: each for each in parameters}
    limit = found["limit"]["schema"]
    assert (limit["maximum"], limit["default"]) == (MAX_FOUND, DEFAULT_FOUND)
    assert found["after"]["schema"]["pattern"] == CURSOR
    for part, page in PAGES.items():
        for schema in (SCHEMAS["Company"], SCHEMAS[page]):
            assert schema["properties"][part]["maxItems"] == MAX_LISTED
    assert SCHEMAS["Batch"]["properties"]["lookups"]["maxItems"] == MAX_LOOKUPS
    assert SCHEMAS["BatchLookup"]["properties"].keys() == set(FIELDS)


def test_limits_of_records_are_those_of_the_code() -> None:
    body, record = SCHEMAS["MatchRecords"]["properties"], SCHEMAS["MatchRecord"]["properties"]

    assert body["records"]["maxItems"] == MAX_RECORDS
    assert (body["limit"]["maximum"], body["limit"]["default"]) == (
        MAX_CANDIDATES,
        DEFAULT_CANDIDATES,
    )
    assert list(record) == list(RECORD_FIELDS)
    assert {name: field.get("maxLength") for name, field in record.items()} == {
        "id": MAX_ID,
        **dict.fromkeys(RECORD_FIELDS[1:], MAX_FIELD),
    }


MODELS: dict[str, type[BaseModel]] = {
    "Company": CompanyAnswer,
    "SuggestionList": SuggestionList,
    "UnitPage": UnitPage,
    "EinvoicingPage": EinvoicingPage,
    "OwnerPage": OwnerPage,
    "RolePage": RolePage,
    "GroupAnswer": GroupAnswer,
    "HistoryPage": HistoryPage,
    "HistoryEntry": HistoryEntry,
    "AccountsPage": AccountsPage,
    "AnnualAccounts": AnnualAccounts,
    "CompanyList": CompanyList,
    "Codes": Codes,
    "RegisterSources": SourcesReply,
    "MatchCandidate": MatchCandidate,
    "Webhook": webhooks.Webhook,
    "WebhookWithSecret": webhooks.WebhookWithSecret,
    "WebhookList": webhooks.WebhookList,
    "AttemptList": webhooks.AttemptList,
    "Delivery": webhooks.Delivery,
    "AcceptedDelivery": webhooks.AcceptedDelivery,
    "Recovered": webhooks.Recovered,
    "EventTypeList": webhooks.EventTypeList,
    "Watchlist": watchlists.Watchlist,
    "WatchlistList": watchlists.WatchlistList,
    "WatchlistFeed": watchlists.WatchlistFeed,
    "Digest": watchlists.Digest,
    "DigestList": watchlists.DigestList,
    "WatchedCompanies": watchlists.WatchedCompanies,
    "WatchlistChange": watchlists.WatchlistChange,
    "CustomerFile": customer_files.CustomerFile,
    "CustomerFileList": customer_files.CustomerFileList,
    "CustomerDecision": customer_files.StoredDecision,
    "CustomerDecisionList": customer_files.DecisionList,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_schema_has_the_fields_and_types_of_its_model(name: str) -> None:
    model = MODELS[name].model_json_schema(mode="serialization")
    expected = shape(model, model)
    if name == "CompanyList":
        for field in ("facets", "ambiguous", "none_in", "did_you_mean"):
            expected[1][field][0].remove("null")  # the field is absent instead
    if name in ("Company", "CompanyList"):
        company = expected if name == "Company" else expected[1]["companies"][1]
        for field in (INCLUDED | DATED) - NULLABLE:
            company[1][field][0].remove("null")  # the field is absent instead

    assert shape(SCHEMAS[name], DOCUMENT) == expected


def shape(schema: Node, root: Node) -> Any:
    """Types, and the shapes of fields and items; without names, constraints and descriptions."""
    if "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return shape(target, root)
    if "allOf" in schema:
        parts = [shape(part, root) for part in schema["allOf"]]
        return (parts[0][0], {name: field for part in parts for name, field in part[1].items()})
    if "anyOf" in schema:
        kinds = [shape(option, root) for option in schema["anyOf"]]
        [(types, content)] = [kind for kind in kinds if kind[0] != {"null"}]
        return (types | {"null"}, content)
    named = schema.get("type", [])  # without a type, any
    types = named if isinstance(named, list) else [named]
    content = {name: shape(field, root) for name, field in schema.get("properties", {}).items()}
    return (set(types), shape(schema["items"], root) if "items" in schema else content)


def test_only_included_fields_are_optional() -> None:
    company = SCHEMAS["Company"]

    assert set(company["properties"]) - set(company["required"]) == INCLUDED | DATED


def test_an_event_has_the_fields_of_its_model() -> None:
    assert SCHEMAS["Event"]["required"] == [
        name for name in RegistryEvent.model_fields if name != "test"
    ]
    assert SCHEMAS["Event"]["properties"].keys() == RegistryEvent.model_fields.keys()


@pytest.mark.parametrize("name", ["Company", "CompanyWithEverything"])
def test_the_example_companies_are_companies(name: str) -> None:
    read = CompanyAnswer.model_validate(example(name))

    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == example(name)


def test_every_example_matches_its_schema() -> None:
    contents = [node for node in nodes(DOCUMENT) if "schema" in node and "examples" in node]
    used = {
        reference["$ref"].rpartition("/")[2]
        for content in contents
        for reference in content["examples"].values()
    }

    for content in contents:
        for reference in content["examples"].values():
            check(resolved(reference)["value"], content["schema"])
    # A problem within results only.
    assert used | {"batch_too_large"} == EXAMPLES.keys()


def test_every_problem_has_an_example_and_a_response_with_its_status() -> None:
    described = {
        code: status
        for _, _, operation in operations()
        for status, response in operation["responses"].items()
        for content in resolved(response).get("content", {}).values()
        for code in content.get("examples", {})
        if code in PROBLEMS
    }
    general = {"not_found", "method_not_allowed", "batch_too_large"}

    assert described.keys() | general == PROBLEMS.keys()
    for code, kind in PROBLEMS.items():
        shown = example(code)
        assert (shown["code"], shown["status"]) == (code, kind.status)
        assert code in general or described[code] == str(kind.status.value)
