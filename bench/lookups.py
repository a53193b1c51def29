"""Lookups by number through the whole path, compared with peers.

Each takes its turn in every round, so that variations of the machine affect all. All processes of
ours stay up meanwhile, and wait; a peer runs while it is measured.
"""

import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

from bench.figures import Figure, at_least, at_most
from bench.footprint import processor_times
from bench.load import Load, load
from bench.plots import write_curves
from bench.rpc_peers import PEERS, Peer, served
from local_stack import ports
from local_stack.processes import Process, Program
from local_stack.system import System

CONNECTIONS = (1, 32, 256)
ROUNDS = 3
#: Minimum of its known share of bare aiohttp that a peer has to reach for its figure to count.
_FAIR = 0.8
#: Goals by connections: our rate as a share of bare aiohttp's.
_GOALS_OF_BARE = {32: 0.13, 256: 0.32}

#: The results of each by connections, including `ours` and `bare`.
Seen = dict[str, dict[int, list[Load]]]


def measure(system: System, key: str, numbers: Sequence[str], *, seconds: int) -> list[Figure]:
    """Rates and latencies of ours, of bare aiohttp without any RPC, and of every peer."""
    paths = [f"/api/vat?country=no&q={number}" for number in numbers]
    url = f"{system.base_url}{paths[0]}"
    with urlopen(Request(url, headers={"X-API-Key": key}), timeout=5) as answer:
        size = len(answer.read())
    seen: Seen = defaultdict(lambda: defaultdict(list))
    costs: list[dict[str, float]] = []
    run = partial(load, key=key, seconds=seconds)
    with _bare_server(size, system.folder) as bare_url:
        for _ in range(ROUNDS):
            for connections in CONNECTIONS:
                seen["bare"][connections].append(run(bare_url, ["/"], connections=connections))
                before = processor_times(system)
                ours = run(system.base_url, paths, connections=connections)
                seen["ours"][connections].append(ours)
                if connections == 1:
                    costs.append(_each(before, processor_times(system), ours.rate * seconds))
            for peer in PEERS:
                with served(peer, system, size=size, path=paths[0], key=key) as peer_url:
                    for connections in CONNECTIONS:
                        seen[peer.name][connections].append(
                            run(peer_url, paths, connections=connections)
                        )
    figures = [figure for count in CONNECTIONS for figure in _ours(count, seen)]
    figures += _processor_times(costs)
    figures += [f for peer in PEERS for count in CONNECTIONS for f in _beside(peer, count, seen)]
    return figures + _xml(system, run, paths, seen)


def grown(
    system: System, key: str, numbers: Sequence[str], *, connections: Sequence[int], seconds: int
) -> list[Figure]:
    """Rates and latencies by connections; three or more are drawn as curves, too."""
    paths = [f"/api/vat?country=no&q={number}" for number in numbers]
    seen = {
        count: load(system.base_url, paths, key=key, connections=count, seconds=seconds)
        for count in connections
    }
    if len(seen) > 2:
        rates = [(count, one.rate) for count, one in seen.items()]
        write_curves("lookups", "Lookups by number", "connections", "/s", {"ours": rates})
        latencies = {
            "p50": [(count, one.p50_ms) for count, one in seen.items()],
            "p99": [(count, one.p99_ms) for count, one in seen.items()],
        }
        write_curves("latencies", "A lookup by number", "connections", "ms", latencies)
    figures = []
    for count, one in seen.items():
        at = f"growth, {_at(count)}"
        figures += [
            Figure(f"{at}, lookups by number", one.rate, "/s"),
            Figure(f"{at}, p50", one.p50_ms, "ms"),
            Figure(f"{at}, p99", one.p99_ms, "ms"),
        ]
    return figures


def doubled(system: System, key: str, numbers: Sequence[str], *, seconds: int) -> list[Figure]:
    """Rates of two gateways on one port with two lookup processes, and the cores that each uses."""
    own_index = str(system.folder / "index-2")
    for second in (
        system.start("lookup", name="lookup 2", index_dir=own_index),
        system.start("gateway", name="gateway 2"),
    ):
        second.wait_until_ready()
    paths = [f"/api/vat?country=no&q={number}" for number in numbers]
    figures = []
    for connections in CONNECTIONS[1:]:
        label = f"two gateways and lookup processes {_at(connections)}"
        before = processor_times(system)
        ours = load(system.base_url, paths, key=key, connections=connections, seconds=seconds)
        after = processor_times(system)
        figures += [
            Figure(f"{label}, lookups by number", ours.rate, "/s"),
            Figure(f"{label}, p99", ours.p99_ms, "ms"),
            at_most(f"{label}, not answered", ours.errors, "", 0),
        ]
        figures += [
            Figure(f"{label}, {name}", (after[name] - before[name]) / seconds, "cores")
            for name in before
        ]
    return figures


def _ours(connections: int, seen: Seen) -> list[Figure]:
    at = _at(connections)
    ours, bare = _median(seen["ours"][connections]), _median(seen["bare"][connections])
    figures = [
        Figure(f"lookups by number {at}", ours.rate, "/s"),
        Figure(f"bare aiohttp, no RPC, {at}", bare.rate, "/s"),
        _share_of_bare(connections, ours.rate / bare.rate),
        Figure(f"lookups by number {at}, p99", ours.p99_ms, "ms"),
        at_most(f"lookups by number {at}, not answered", ours.errors, "", 0),
    ]
    if connections == 1:
        figures.append(at_most(f"lookups by number {at}, median", ours.p50_ms, "ms", 1.3))
    else:
        figures.append(Figure(f"lookups by number {at}, p50", ours.p50_ms, "ms"))
    ratio = statistics.median(one.p99_ms / one.p50_ms for one in seen["ours"][connections])
    return [*figures, at_most(f"lookups by number {at}, p99 over p50", ratio, "×", 3)]


def _each(
    before: Mapping[str, float], after: Mapping[str, float], requests: float
) -> dict[str, float]:
    """Milliseconds of processor time of each process for each request."""
    return {name: (after[name] - before[name]) * 1000 / requests for name in before}


def _processor_times(costs: Sequence[Mapping[str, float]]) -> list[Figure]:
    """One client sends one lookup per message, which gives the steadiest figure."""
    label = "processor time of a lookup at 1 connection"
    figures = [
        Figure(f"{label}, {name}", statistics.median(cost[name] for cost in costs), "ms")
        for name in costs[0]
    ]
    total = statistics.median(sum(cost.values()) for cost in costs)
    return [*figures, at_most(f"{label}, all four", total, "ms", 1.1)]


def _share_of_bare(connections: int, share: float) -> Figure:
    label = f"share of bare aiohttp {_at(connections)}"
    goal = _GOALS_OF_BARE.get(connections)
    return Figure(label, share, "×") if goal is None else at_least(label, share, "×", goal)


def _beside(peer: Peer, connections: int, seen: Seen) -> list[Figure]:
    at = _at(connections)
    rates = {
        who: [one.rate for one in seen[who][connections]] for who in (peer.name, "ours", "bare")
    }
    theirs = _median(seen[peer.name][connections])
    figures = [
        Figure(f"{peer.name} {at}", theirs.rate, "/s"),
        Figure(f"{peer.name} {at}, p99", theirs.p99_ms, "ms"),
    ]
    times = _ratio(rates["ours"], rates[peer.name])
    label = f"ours over {peer.name} {at}"
    goal = peer.goals.get(connections)
    figures.append(Figure(label, times, "×") if goal is None else at_least(label, times, "×", goal))
    known = peer.known_share.get(connections)
    if known is not None:
        share = _ratio(rates[peer.name], rates["bare"]) / known
        figures.append(at_least(f"{peer.name} {at}, of its known share of bare", share, "×", _FAIR))
    return figures


def _xml(system: System, run: "partial[Load]", paths: Sequence[str], seen: Seen) -> list[Figure]:
    as_xml = [f"{path}&format=xml" for path in paths]
    rates = [run(system.base_url, as_xml, connections=32).rate for _ in range(ROUNDS)]
    share = _ratio(rates, [one.rate for one in seen["ours"][32]])
    return [
        Figure("lookups as XML at 32 connections", statistics.median(rates), "/s"),
        at_least("XML over JSON at 32 connections", share, "×", 0.1),
    ]


def _at(connections: int) -> str:
    return f"at {connections} connections" if connections > 1 else "at 1 connection"


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Of each round, then the middle one: a slow round is slow for both."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


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
