"""Repeatable random draws: each is a function of its key alone."""

from collections.abc import Iterable, Sequence
from datetime import date
from enum import IntEnum
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Topic(IntEnum):
    """Topics of random draws for a company; they are independent of each other."""

    COMPANY = 0
    SHARED_NAME = 1
    BUILDING = 2
    DETAILS = 3
    UNITS = 4
    OWNERS = 5
    OFFICERS = 6
    EINVOICING = 8
    UNIT = 9
    CUSTOMER = 10
    FURTHER_DETAILS = 11
    DANISH_DETAILS = 12
    ATTRIBUTES = 13
    ACCOUNTS = 13
    OWNER_ABROAD = 14


class Draw:
    """A sequence of choices for one key.

    Only `Random.random` is used: Python promises that its sequence for a seed stays the same
    between versions, which it does not promise for `choice` or `randrange`.
    """

    __slots__ = ("_next",)

    def __init__(self, country: int, topic: Topic, index: int) -> None:
        key = (1 << 72) | (country << 68) | (topic << 64) | index
        self._next = Random(key).random  # noqa: S311 - invented data, nothing to protect

    def below(self, bound: int) -> int:
        """Returns a whole number from 0 up to, not including, the bound."""
        return int(self._next() * bound)

    def between(self, low: int, high: int) -> int:
        """Returns a whole number from low to high, both included."""
        return low + int(self._next() * (high - low + 1))

    def happens(self, share: float) -> bool:
        """Returns True in this share of the draws."""
        return self._next() < share

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._next() * len(choices))]

    def day(self, first: date, last: date) -> date:
        """Returns a day from the first to the last; the first if they are in the wrong order."""
        days = max(last.toordinal() - first.toordinal(), 0)
        return date.fromordinal(first.toordinal() + int(self._next() * (days + 1)))


def urn(weights: Iterable[tuple[T, int]]) -> tuple[T, ...]:
    """Returns each value as often as its weight, to pick from."""
    return tuple(value for value, weight in weights for _ in range(weight))
