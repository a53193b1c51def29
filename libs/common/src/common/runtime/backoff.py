"""Delays between retries."""

from collections.abc import Iterator
from random import Random


def delays(random: Random, *, first: float = 0.1, max_delay: float = 5.0) -> Iterator[float]:
    """Yields the seconds to wait before each try: doubling up to `max_delay`, with full jitter.

    The jitter keeps processes that lost the same server from reconnecting simultaneously.
    """
    ceiling = first
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(ceiling * 2, max_delay)
