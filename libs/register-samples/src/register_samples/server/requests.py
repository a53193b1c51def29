"""Parameters of a request: each is known and valid, or the request is refused."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

#: Reads the text of a parameter; raises ValueError.
Reader = Callable[[str], Any]


class BadRequest(Exception):
    """The register refuses the request; the message states the reason."""


def read(request: web.Request, **known: Reader) -> dict[str, Any]:
    """The values of the parameters by name; raises BadRequest."""
    values: dict[str, Any] = {}
    for name, text in request.query.items():
        if name not in known or name in values:
            raise BadRequest(f"{name}: it is unknown, or given more than once")
        try:
            values[name] = known[name](text)
        except ValueError as error:
            raise BadRequest(f"{name}: {error}") from None
    return values


def moment(text: str) -> datetime:
    """A time with its zone."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time needs its zone")
    return at.astimezone(UTC)


def whole_number(least: int, most: int = sys.maxsize) -> Reader:
    def read_number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise ValueError(f"it is from {least} to {most}")
        return value

    return read_number


def organisation_number(text: str) -> str:
    if len(text) != 9 or not text.isdecimal():
        raise ValueError(f"{text} is not an organisation number")
    return text


def organisation_numbers(text: str) -> list[str]:
    """Numbers separated by commas."""
    return [organisation_number(part.strip()) for part in text.split(",") if part.strip()]
