"""The OpenAPI document, its examples, and checks of values and responses against it."""

from http import HTTPStatus
from typing import Any, Final

import jsonschema
import orjson
from aiohttp import ClientResponse

from gateway.http.documentation import openapi_document
from gateway.problems import PROBLEMS

Node = dict[str, Any]

DOCUMENT: Final = openapi_document()

_FORMATS = jsonschema.FormatChecker(formats=("date", "date-time", "uuid"))


def resolved(node: Node) -> Node:
    """The node that a reference leads to, or the node itself."""
    while "$ref" in node:
        found: Any = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def example(name: str) -> Any:
    return DOCUMENT["components"]["examples"][name]["value"]


def schema_of(name: str) -> Node:
    return {"$ref": f"#/components/schemas/{name}"}


def closed(node: Any) -> Any:
    """The schemas with the values of this release alone: open enumerations are closed."""
    if isinstance(node, dict):
        names = {"x-extensible-enum": "enum"}
        return {names.get(name, name): closed(value) for name, value in node.items()}
    return [closed(each) for each in node] if isinstance(node, list) else node


_COMPONENTS: Final = {
    **DOCUMENT["components"],
    "schemas": closed(DOCUMENT["components"]["schemas"]),
}


def check(value: Any, schema: Node) -> None:
    """Raises jsonschema.ValidationError unless the value matches the schema."""
    whole = {**schema, "components": _COMPONENTS}
    # `jsonschema.validate` would check all schemas again for each value.
    jsonschema.Draft202012Validator(whole, format_checker=_FORMATS).validate(value)


def operations() -> list[tuple[str, str, Node]]:
    """Path, method and description of every operation."""
    return [
        (path, method, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]


async def assert_response(response: ClientResponse, path: str, status: int) -> None:
    """Asserts that a response has the status, headers and JSON body that the document describes.

    A problem has a code of the response's status, and the title of its example.
    """
    body = await response.read()
    assert response.status == status, body
    operation = DOCUMENT["paths"][path][response.method.lower()]
    described = resolved(operation["responses"][str(status)])
    for name, header in described["headers"].items():
        assert name in response.headers or not resolved(header).get("required", True), name
    if "content" not in described:
        assert body == b""
        return
    content = orjson.loads(body)
    check(content, described["content"][response.content_type]["schema"])
    if status >= HTTPStatus.BAD_REQUEST:
        assert PROBLEMS[content["code"]].status == status
        assert content["title"] == example(content["code"])["title"]
