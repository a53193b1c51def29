"""The latency of lookups by number during a stream of name searches."""

import statistics
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import quote

from bench.figures import Figure, at_most
from bench.load import load
from local_stack.system import System

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Paths:
    by_number: list[str]
    by_name: list[str]

    @classmethod
    def of(cls, numbers: Iterable[str], names: Iterable[str]) -> Self:
        return cls(
            [f"/api/vat?country=no&q={number}" for number in numbers],
            [f"/api/name?country=no&q={quote(name)}" for name in names],
        )


def measure(system: System, key: str, index: Path, paths: Paths, *, seconds: int) -> list[Figure]:
    """p99 of numbers over one connection, alone and while another searches names one by one."""
    system.start("lookup", index_dir=str(index)).wait_until_ready()
    system.start("gateway").wait_until_ready()
    run = partial(load, system.base_url, key=key, connections=1)
    alone, beside, searches = [], [], []
    with ThreadPoolExecutor(max_workers=1) as pool:
        for _ in range(_ROUNDS):
            alone.append(run(paths.by_number, seconds=seconds).p99_ms)
            stream = pool.submit(run, paths.by_name, seconds=seconds + 2)
            beside.append(run(paths.by_number, seconds=seconds).p99_ms)
            searches.append(stream.result().rate)
    before, meanwhile = statistics.median(alone), statistics.median(beside)
    return [
        Figure("lookups by number alone, p99", before, "ms"),
        Figure("name searches in a stream beside them", statistics.median(searches), "/s"),
        Figure("lookups by number beside name searches, p99", meanwhile, "ms"),
        at_most(
            "lookups by number beside name searches, p99 over alone", meanwhile / before, "×", 3
        ),
    ]
