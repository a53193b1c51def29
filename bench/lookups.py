"""Lookups by number through the whole path, beside a bare aiohttp answer of the same size."""

import os
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import urlopen

from bench.figures import Figure, at_most
from bench.load import Load, load
from local_stack import ports
from local_stack.processes import Process, Program
from local_stack.system import System

CONNECTIONS = (1, 32, 256)
ROUNDS = 3


def measure(system: System, key: str, numbers: list[str], *, seconds: int) -> list[Figure]:
    """Rates and latencies of both, in turns, so that the machine's moods fall on both alike."""
    paths = [f"/api/vat?country=no&q={number}" for number in numbers]
    with urlopen(f"{system.base_url}{paths[0]}", timeout=5) as answer:
        size = len(answer.read())
    figures = []
    with _bare_server(size, system.folder) as bare_url:
        for connections in CONNECTIONS:
            ours, bare = [], []
            for _ in range(ROUNDS):
                run = partial(load, key=key, connections=connections, seconds=seconds)
                bare.append(run(bare_url, ["/"]))
                ours.append(run(system.base_url, paths))
            figures += _figures(connections, _median(ours), _median(bare))
    return figures


def _figures(connections: int, ours: Load, bare: Load) -> list[Figure]:
    at = f"at {connections} connections" if connections > 1 else "at 1 connection"
    figures = [
        Figure(f"lookups by number {at}", ours.rate, "/s"),
        Figure(f"bare aiohttp, no RPC, {at}", bare.rate, "/s"),
        Figure(f"share of bare aiohttp {at}", ours.rate / bare.rate, "×"),
        Figure(f"lookups by number {at}, p50", ours.p50_ms, "ms"),
        Figure(f"lookups by number {at}, p99", ours.p99_ms, "ms"),
        at_most(f"lookups by number {at}, not answered", ours.errors, "", 0),
    ]
    if connections == 1:
        figures.append(at_most(f"lookups by number {at}, median", ours.p50_ms, "ms", 2.5))
    if connections == 32:
        ratio = ours.p99_ms / ours.p50_ms
        figures.append(at_most(f"lookups by number {at}, p99 over p50", ratio, "×", 3))
    return figures


def _median(loads: list[Load]) -> Load:
    return Load(
        rate=statistics.median(one.rate for one in loads),
        p50_ms=statistics.median(one.p50_ms for one in loads),
        p99_ms=statistics.median(one.p99_ms for one in loads),
        errors=max(one.errors for one in loads),
    )


@contextmanager
def _bare_server(size: int, folder: Path) -> Iterator[str]:
    [port] = ports.free_ports(1)
    program = Program(
        "bare aiohttp",
        [sys.executable, "-m", "bench.peers.bare_aiohttp", str(port), str(size)],
        folder / "bare-aiohttp.log",
        {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    process = Process(program)
    try:
        process.wait_until(lambda: not ports.is_free(port), seconds=10)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stop()
