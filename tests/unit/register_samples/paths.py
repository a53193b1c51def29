"""The field paths of a document, with a pair of brackets for each list."""

from collections.abc import Iterator
from typing import Any


def paths(value: Any, at: str = "") -> Iterator[str]:
    """The path of every value that is no object or list."""
    match value:
        case dict():
            for field, inner in value.items():
                yield from paths(inner, f"{at}.{field}" if at else field)
        case list():
            for inner in value:
                yield from paths(inner, f"{at}[]")
        case _:
            yield at


def all_paths(documents: Any) -> set[str]:
    return {path for document in documents for path in paths(document)}
