"""The keys of a whole file, kept in a few bytes each and looked up afterwards."""

from array import array
from bisect import bisect_left
from hashlib import blake2b

#: Parts are sorted one by one, since sorting creates an object for every number.
_PARTS = 256
_BYTES = 8


class SeenKeys:
    """A set of keys by hashes of 8 bytes.

    With ten million keys, a lookup of another key is wrong once in 10^12 times.
    """

    def __init__(self) -> None:
        self._parts = [array("Q") for _ in range(_PARTS)]
        self._is_sorted = True

    def add(self, key: str) -> None:
        """Adds a key; further lookups sort the set again."""
        number = _hash(key)
        self._parts[number % _PARTS].append(number)
        self._is_sorted = False

    def __contains__(self, key: str) -> bool:
        if not self._is_sorted:
            self._parts = [array("Q", sorted(part)) for part in self._parts]
            self._is_sorted = True
        number = _hash(key)
        part = self._parts[number % _PARTS]
        place = bisect_left(part, number)
        return place < len(part) and part[place] == number


def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=_BYTES).digest(), "big")
