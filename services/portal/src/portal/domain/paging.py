"""Pages of a list that is known as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: Sequence[T]
    #: Counted from 1.
    number: int
    count: int
    total: int


def page_of(items: Sequence[T], number: str, *, size: int) -> Page[T]:
    """The page with a number that was typed; the nearest one if there is none."""
    count = max(1, -(-len(items) // size))
    wanted = int(number) if number.isascii() and number.isdecimal() and len(number) < 9 else 1
    chosen = min(max(1, wanted), count)
    return Page(items[(chosen - 1) * size : chosen * size], chosen, count, len(items))
