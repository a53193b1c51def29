"""Custom headers that an owner adds to a webhook's deliveries."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webhook_registry.replies import Wrong
from webhook_store.webhooks.headers import MAX_HEADERS, comparable, is_reserved

#: RFC 9110, 5.1: a token.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
#: Visible ASCII with inner spaces, which all intermediaries parse alike.
_VALUE = re.compile(r"[!-~]([ -~]{0,1022}[!-~])?")


def read_headers(value: object) -> Mapping[str, str]:
    """Reads the headers of a new webhook; raises Wrong, never with a value."""
    headers = _checked(value, _is_value)
    merged_headers((), headers)
    return {} if headers is None else headers


def read_header_changes(value: object) -> Mapping[str, str | None] | None:
    """Reads a merge patch, in which null removes one header or all; raises Wrong."""
    return _checked(value, lambda content: content is None or _is_value(content))


def merged_headers(
    before: Sequence[str], given: Mapping[str, str | None] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Returns the names after a merge patch, and the headers among them with new values.

    Raises Wrong for more headers than a webhook may have.
    """
    if given is None:
        return (), {}
    replaced = {comparable(name) for name in given}
    new = {name: value for name, value in given.items() if value is not None}
    names = (*(name for name in before if comparable(name) not in replaced), *new)
    if len(names) > MAX_HEADERS:
        raise Wrong(f"a webhook has at most {MAX_HEADERS} headers; remove one with null")
    return names, new


def _is_value(content: object) -> bool:
    return isinstance(content, str) and _VALUE.fullmatch(content) is not None


def _checked(value: object, is_valid: Callable[[object], bool]) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) > 2 * MAX_HEADERS:
        raise Wrong(f"give an object of at most {MAX_HEADERS} header names with their values")
    for name, content in value.items():
        at = f".{name[:100]}"
        if not _NAME.fullmatch(name):
            raise Wrong("give names of letters, digits and -, at most 100 characters", at=at)
        if content is not None and is_reserved(name):
            raise Wrong("this header is set by the service, by HTTP or by proxies", at=at)
        if not is_valid(content):
            raise Wrong("give a value of 1 to 1024 visible ASCII characters", at=at)
    if len({comparable(name) for name in value}) < len(value):
        raise Wrong("give each name once; upper and lower case are the same, and so are - and _")
    return value
