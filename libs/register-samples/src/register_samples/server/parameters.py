"""Reading the parameters of a request: every one is known and sound, or the request is refused."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from multidict import MultiMapping

#: Reads the text of a parameter; raises ValueError.
Reader = Callable[[str], Any]


class BadRequest(Exception):
    """The register refuses the request; the message states the reason."""


def read(given: MultiMapping[str], known: Mapping[str, Reader]) -> dict[str, Any]:
    """The values of the parameters by name; raises BadRequest."""
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in known:
            raise BadRequest(f"{name}: there is no such parameter")
        if name in values:
            raise BadRequest(f"{name}: it is given more than once")
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


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(text: str) -> list[str]:
    """Organisation numbers, separated by commas."""
    found = listed(text)
    for number in found:
        if len(number) != 9 or not number.isdecimal():
            raise ValueError(f"{number} is not an organisation number")
    return found


def count(most: int) -> Reader:
    """A whole number from 1 to the most."""

    def read_count(text: str) -> int:
        value = int(text)
        if not 1 <= value <= most:
            raise ValueError(f"it is from 1 to {most}")
        return value

    return read_count


def natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("it is not negative")
    return value
