"""Suggestions while a name is typed: how long each keystroke waits for its list."""

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.disturbing import Chance, one_typo
from bench.figures import Figure, at_most, percentile
from bench.search.questions import SEED
from lookup.search.index.search_index import SearchIndex

#: As many as a client is shown unless it asks for more.
_LISTED = 10
_FEWEST_LETTERS, _ROUNDS_TO_WARM_UP = 2, 50
#: Milliseconds: beyond a tenth of a second a list that follows the typing feels late.
_MEDIAN, _P99 = 10, 100


def timed(index: SearchIndex, names: Sequence[str]) -> dict[str, Any]:
    """Milliseconds for beginnings of any length of these names, as they are and with a typo."""
    chance = Chance(SEED)
    begun = [name[: chance.randint(_FEWEST_LETTERS, max(len(name), 2))] for name in names]
    kinds = {"as it is": begun, "one typo": [one_typo(text, chance) for text in begun]}
    for text in begun[:_ROUNDS_TO_WARM_UP]:
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
    """What `timed` found, beside its goals."""
    for kind, times in said.items():
        name = f"{_LISTED} suggestions for a beginning of a name, {kind}, {size}"
        yield at_most(f"{name}, median", times["median"], "ms", _MEDIAN)
        yield at_most(f"{name}, p99", times["p99"], "ms", _P99)
