"""Suggestions while a name is typed: the time from a keystroke to its list."""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.disturbing import Chance, one_typo
from bench.figures import Figure, at_most, percentile
from bench.search.questions import SEED
from lookup.search.index.search_index import SearchIndex

#: The default limit of the API.
_LISTED = 10
_FEWEST_LETTERS, _ROUNDS_TO_WARM_UP = 2, 50
#: Goals in milliseconds; users notice a delay of more than 100 ms.
_MEDIAN, _P99 = 10, 100


def timed(index: SearchIndex, names: Sequence[str]) -> dict[str, Any]:
    """Milliseconds for random prefixes of these names, unchanged and with a typo."""
    chance = Chance(SEED)
    prefixes = [name[: chance.randint(_FEWEST_LETTERS, max(len(name), 2))] for name in names]
    kinds = {"as it is": prefixes, "one typo": [one_typo(text, chance) for text in prefixes]}
    for text in prefixes[:_ROUNDS_TO_WARM_UP]:
        index.suggest(text, _LISTED)
    return {kind: _elapsed(index, texts) for kind, texts in kinds.items()}


def _elapsed(index: SearchIndex, texts: Sequence[str]) -> dict[str, float]:
    elapsed = []
    for text in texts:
        began = time.perf_counter()
        index.suggest(text, _LISTED)
        elapsed.append((time.perf_counter() - began) * 1000)
    return {"median": statistics.median(elapsed), "p99": percentile(elapsed, 0.99)}


def figures(said: Mapping[str, Any], size: str) -> Iterator[Figure]:
    """The results of `timed`, with their goals."""
    for kind, times in said.items():
        name = f"{_LISTED} suggestions for a beginning of a name, {kind}, {size}"
        yield at_most(f"{name}, median", times["median"], "ms", _MEDIAN)
        yield at_most(f"{name}, p99", times["p99"], "ms", _P99)
