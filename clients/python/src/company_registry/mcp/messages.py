"""Bodies of requests, checked before the SDK reads them: one message of JSON-RPC, bounded."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

#: JSON values of a message, which take more memory than their bytes, and how deep they may be.
_MAX_VALUES: Final = 20_000
_MAX_DEPTH: Final = 16
#: Entries of a list, and letters of a text, of an argument whose schema says nothing else.
_MAX_ITEMS: Final = 100
_MAX_TEXT: Final = 2_000
#: Fields of an object.
_MAX_FIELDS: Final = 100
#: Letters of an id, and of the name of a method.
_MAX_ID: Final = 200

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


@dataclass(frozen=True, slots=True)
class Invalid(Exception):
    """A body that is no message; the text says what to send."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class TooLong(Exception):
    """An argument beyond its bounds; the text says which."""

    text: str


def parsed(body: bytes) -> dict[str, Any]:
    """Returns the request or notification of a body; raises Invalid."""
    if body.count(b",") + body.count(b"{") + body.count(b"[") > _MAX_VALUES:
        raise Invalid(INVALID_REQUEST, f"The message has more than {_MAX_VALUES:,} values.")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise Invalid(PARSE_ERROR, "The body is no JSON in UTF-8. Send one message.") from None
    if isinstance(document, list):
        raise Invalid(
            INVALID_REQUEST,
            "Batches, which only version 2025-03-26 of the protocol has, are not served. Send each "
            "message in a request of its own.",
        )
    if not _is_message(document):
        raise Invalid(
            INVALID_REQUEST,
            'The body is no message of JSON-RPC 2.0. Send an object with "jsonrpc": "2.0", a '
            '"method", an "id" that is a text or an integer, and "params" that are an object.',
        )
    if _depth(document) > _MAX_DEPTH:
        raise Invalid(INVALID_REQUEST, f"The message is deeper than {_MAX_DEPTH} levels.")
    return dict(document)


def _is_message(document: Any) -> bool:
    if not isinstance(document, dict) or document.get("jsonrpc") != "2.0":
        return False
    method, id_, params = document.get("method"), document.get("id", 0), document.get("params", {})
    return (
        isinstance(method, str)
        and len(method) <= _MAX_ID
        and (isinstance(params, dict) or params is None)
        and (
            (isinstance(id_, str) and len(id_) <= _MAX_ID)
            or (type(id_) is int and abs(id_) < 2**63)
        )
    )


def _depth(document: Any) -> int:
    depth, level = 0, [document]
    while level and depth <= _MAX_DEPTH:
        depth += 1
        level = [
            each
            for value in level
            for each in (value.values() if isinstance(value, dict) else value)
            if isinstance(each, dict | list)
        ]
    return depth


class ArgumentLimits:
    """Bounds of the arguments of tools: those of their schemas, and else those of this module."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        """`schemas` are the input schemas of the tools, by name."""
        self._items = {
            tool: {
                name: _largest(each, "maxItems") or _MAX_ITEMS
                for name, each in schema.get("properties", {}).items()
            }
            for tool, schema in schemas.items()
        }

    def check(self, message: Mapping[str, Any]) -> None:
        """Checks the arguments of a call of a tool; raises TooLong."""
        params = message.get("params") or {}
        arguments = params.get("arguments")
        if message["method"] != "tools/call" or not isinstance(arguments, dict):
            return
        if len(arguments) > _MAX_FIELDS:
            raise TooLong(f"A call has at most {_MAX_FIELDS} arguments.")
        items = self._items.get(str(params.get("name")), {})
        # An argument may have the name that another tool gives it.
        most = max(items.values(), default=_MAX_ITEMS)
        for name, value in arguments.items():
            _check(str(name)[:50], value, items.get(name, most))


def _check(name: str, value: Any, items: int) -> None:
    """Walks through an argument; texts may list as much as lists do, as some clients send them."""
    if isinstance(value, str):
        if len(value) > _MAX_TEXT and not value.lstrip().startswith("["):
            raise TooLong(f"{name} must have at most {_MAX_TEXT} characters.")
        if (value.count("{") or value.count(",") + 1) > items:
            raise TooLong(f"{name} must have at most {items} entries; send fewer in each call.")
    elif isinstance(value, list):
        if len(value) > items:
            raise TooLong(f"{name} must have at most {items} entries; send fewer in each call.")
        for each in value:
            _check(name, each, _MAX_ITEMS)
    elif isinstance(value, dict):
        if len(value) > _MAX_FIELDS:
            raise TooLong(f"{name} must have at most {_MAX_FIELDS} fields.")
        for each in value.values():
            _check(name, each, _MAX_ITEMS)


def _largest(schema: Any, keyword: str) -> int:
    """Returns the largest value of a keyword in a schema, except inside of its items; else 0."""
    if not isinstance(schema, dict):
        return 0
    own: int = schema.get(keyword, 0)
    return max([own, *(_largest(each, keyword) for each in schema.get("anyOf", ()))])
