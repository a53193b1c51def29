"""Parsing of JSON text, and of the keys around lists of records."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import orjson

#: More than the longest key of a list of records (see `is_list_of_records`), with white space.
_KEY_LENGTH = 64


def decode(text: bytes) -> object:
    """Returns parsed JSON, with lone surrogates, which orjson refuses; raises ValueError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if b"\\u" not in text:
            raise
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def encode(value: Mapping[str, Any]) -> bytes:
    """Returns a value of `decode` as JSON, with its lone surrogates."""
    return json.dumps(value).encode()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def key_of(data: bytes, bracket: int) -> bytes:
    """Returns the key of the value that begins with this bracket."""
    begin = max(0, bracket - _KEY_LENGTH)
    closing_quote = data.rfind(b'"', begin, bracket)
    return data[data.rfind(b'"', begin, closing_quote) + 1 : closing_quote]


def is_list_of_records(keys: list[bytes]) -> bool:
    """Returns True if registers keep their records under these keys.

    They are those of Peppol, of Elasticsearch, and of HAL, whose inner key names the type.
    """
    return keys in ([b"bc"], [b"hits", b"hits"]) or (len(keys) == 2 and keys[0] == b"_embedded")
