"""Lookups by number through the whole path, compared with peers.

Each candidate takes a turn in every round, so that variations of the machine affect all of them.
Our processes stay up and wait meanwhile; a peer runs while it is measured.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.figures import Figure, at_least, at_most
from bench.load import Load, get, load
from bench.processes import family, megabytes, processor_seconds
from bench.rpc_peers import BARE, PEERS, Peer, served
from bench.scale import Scale
from bench.setup import LoadedSystem, loaded_system
from local_stack.system import System

CONNECTIONS = (1, 32, 256)
#: Minimum of its known share of bare aiohttp that a peer has to reach for its figure to count.
_FAIR = 0.8
_OURS = "ours"


@dataclass(frozen=True, slots=True)
class Rounds:
    """The results of every round, in order."""

    #: By candidate and connections.
    loads: defaultdict[tuple[str, int], list[Load]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: Milliseconds of processor time of each process for each lookup at one connection.
    costs: list[dict[str, float]] = field(default_factory=list)

    def rate(self, candidate: str, connections: int) -> float:
        return median(one.rate for one in self.loads[candidate, connections])

    def ratio(self, candidate: str, other: str, connections: int) -> float:
        """The median of the ratios of the rounds: a slow round is slow for both."""
        pairs = zip(self.loads[candidate, connections], self.loads[other, connections], strict=True)
        return median(one.rate / two.rate for one, two in pairs)


def measure(scale: Scale) -> Iterator[Figure]:
    with loaded_system(scale.companies) as loaded:
        rounds = Rounds()
        for _ in range(scale.rounds):
            _run_round(loaded, scale.load_seconds, rounds)
        for connections in CONNECTIONS:
            yield from _ours(rounds, connections)
        yield from _processor_time(rounds)
        for peer in PEERS:
            for connections in CONNECTIONS:
                yield from _compared(rounds, peer, connections)
        yield from _two_of_each(loaded, scale.load_seconds)


def _run_round(loaded: LoadedSystem, seconds: int, rounds: Rounds) -> None:
    system, path = loaded.system, loaded.paths[0]
    for connections in CONNECTIONS:
        before = _processor_seconds(system)
        ours = loaded.load(connections=connections, seconds=seconds)
        rounds.loads[_OURS, connections].append(ours)
        if connections == 1:
            used = _difference(before, _processor_seconds(system))
            lookups = ours.rate * seconds
            rounds.costs.append({name: each * 1000 / lookups for name, each in used.items()})
    size = len(get(f"{system.base_url}{path}", loaded.key) or b"")
    for peer in PEERS:
        with served(peer, system, path=path, response_size=size) as url:
            for connections in CONNECTIONS:
                rounds.loads[peer.name, connections].append(
                    load(
                        url, loaded.paths, key=loaded.key, connections=connections, seconds=seconds
                    )
                )


def _ours(rounds: Rounds, connections: int) -> Iterator[Figure]:
    loads = rounds.loads[_OURS, connections]
    name = f"lookups by number {_at(connections)}"
    yield Figure(name, rounds.rate(_OURS, connections), "/s")
    goal = 1.3 if connections == 1 else None
    yield at_most(f"{name}, p50", median(one.p50_ms for one in loads), "ms", goal)
    yield Figure(f"{name}, p99", median(one.p99_ms for one in loads), "ms")
    yield at_most(f"{name}, p99 over p50", median(one.p99_ms / one.p50_ms for one in loads), "×", 3)
    yield at_most(f"{name}, failed", max(one.errors for one in loads), "", 0)


def _processor_time(rounds: Rounds) -> Iterator[Figure]:
    """One client sends one lookup per message, which gives the steadiest figure."""
    name = "processor time of a lookup at 1 connection"
    for process in rounds.costs[0]:
        yield Figure(f"{name}, {process}", median(cost[process] for cost in rounds.costs), "ms")
    total = median(sum(cost.values()) for cost in rounds.costs)
    yield at_most(f"{name}, all four", total, "ms", 1.1)


def _compared(rounds: Rounds, peer: Peer, connections: int) -> Iterator[Figure]:
    name = f"{peer.name} {_at(connections)}"
    yield Figure(name, rounds.rate(peer.name, connections), "/s")
    p99 = median(one.p99_ms for one in rounds.loads[peer.name, connections])
    yield Figure(f"{name}, p99", p99, "ms")
    multiple = rounds.ratio(_OURS, peer.name, connections)
    yield at_least(f"ours over {name}", multiple, "×", peer.goals.get(connections))
    if known := peer.known_share.get(connections):
        share = rounds.ratio(peer.name, BARE.name, connections) / known
        yield at_least(f"{name}, of its known share of bare aiohttp", share, "×", _FAIR)


def _two_of_each(loaded: LoadedSystem, seconds: int) -> Iterator[Figure]:
    """One more gateway on the same port and one more lookup process on the same queues."""
    system = loaded.system
    for service in (
        system.start("lookup", name="lookup 2", index_dir=str(system.folder / "index-2")),
        system.start("gateway", name="gateway 2"),
    ):
        service.wait_until_ready()
    for connections in CONNECTIONS[1:]:
        name = f"two gateways and lookup processes {_at(connections)}"
        before = _processor_seconds(system)
        ours = loaded.load(connections=connections, seconds=seconds)
        used = _difference(before, _processor_seconds(system))
        yield Figure(f"{name}, lookups by number", ours.rate, "/s")
        yield Figure(f"{name}, p99", ours.p99_ms, "ms")
        yield at_most(f"{name}, failed", ours.errors, "", 0)
        for process, processor_time in used.items():
            yield Figure(f"{name}, {process}", processor_time / seconds, "cores")


def measure_lasting_load(scale: Scale) -> Iterator[Figure]:
    """Growth of gateway and lookup from the first sixth of a load to its end."""
    seconds = scale.lasting_seconds
    with loaded_system(scale.companies) as loaded, ThreadPoolExecutor(max_workers=1) as pool:
        pids = {name: each.process.pid for name, each in loaded.system.services.items()}
        running = pool.submit(loaded.load, connections=32, seconds=seconds)
        time.sleep(seconds / 6)
        early = {name: megabytes(pid) for name, pid in pids.items()}
        running.result()
        for name, pid in pids.items():
            late, label = megabytes(pid), f"{name} after {seconds} s of load"
            yield Figure(f"{label}, memory", late, "MB")
            growth = (late / early[name] - 1) * 100
            yield at_most(f"{label}, growth since its first sixth", growth, "%", 5)


def _processor_seconds(system: System) -> dict[str, float]:
    """Processor time of each service and of both servers so far."""
    pids = {name: service.process.pid for name, service in system.services.items()}
    programs = {Path(f"/proc/{pid}/comm").read_text().strip(): pid for pid in family(os.getpid())}
    pids |= {"RabbitMQ": programs["beam.smp"], "MongoDB": programs["mongod"]}
    return {name: processor_seconds(pid) for name, pid in pids.items()}


def _difference(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: after[name] - before[name] for name in before}


def _at(connections: int) -> str:
    return f"at {connections} connections" if connections > 1 else "at 1 connection"
