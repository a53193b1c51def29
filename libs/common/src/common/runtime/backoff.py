"""How long to wait before trying again what failed."""

from collections.abc import Iterator
from random import Random


def delays(random: Random, *, first: float = 0.1, most: float = 5.0) -> Iterator[float]:
    """Seconds to wait before each further try: doubling up to `most`, each with full jitter.

    The jitter keeps many processes that lost the same server from coming back all at once.
    """
    ceiling = first
    while True:
        yield random.uniform(ceiling / 2, ceiling)
        ceiling = min(ceiling * 2, most)
