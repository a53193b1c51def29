"""Delays between retries."""

from collections.abc import Iterator
from random import Random


def delays(random: Random, *, first: float = 0.1, most: float = 5.0) -> Iterator[float]:
    """Seconds to wait before each further try: doubling up to `most`, each with full jitter.

    The jitter keeps processes that lost the same server from reconnecting all at once.
    """
    ceiling = first
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(ceiling * 2, most)
