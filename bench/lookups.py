"""Lookups by number through the whole path, compared with peers.

Each candidate takes a turn in every round, so that variations of the machine affect all of them.
Our processes stay up and wait meanwhile; a peer runs while it is measured.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

from bench.figures import Figure, at_least, at_most, in_turns, ratio
from bench.load import Load, get, load
from bench.processes import Used, megabytes
from bench.rpc_peers import BARE, PEERS, Peer, served
from bench.scale import Scale
from bench.setup import LoadedSystem, loaded_system, pids_of

CONNECTIONS = (1, 32, 256)
#: Seconds of load at the start of a turn that do not count: what waited for the turns of others is
#: slower for a moment, as is what was just started.
_WARM_UP = 2
#: Minimum of its known share of bare aiohttp that a peer has to reach for its figure to count.
_FAIR = 0.8
_OURS = "ours"


#: The load of each number of connections.
Loads = Mapping[int, Load]
#: Milliseconds of processor time of each process for a lookup, by connections, of each round.
Costs = dict[int, list[dict[str, float]]]


def measure(scale: Scale) -> Iterator[Figure]:
    seconds = scale.load_seconds
    with loaded_system(scale.companies) as loaded:
        costs: Costs = {connections: [] for connections in CONNECTIONS}
        rounds = in_turns(
            scale.rounds,
            {
                _OURS: partial(_our_loads, loaded, seconds, costs),
                **{peer.name: partial(_peer_loads, loaded, seconds, peer) for peer in PEERS},
            },
        )
        for connections in CONNECTIONS:
            yield from _ours([one[connections] for one in rounds[_OURS]], connections)
        yield from _processor_time(costs)
        for peer in PEERS:
            for connections in CONNECTIONS:
                yield from _compared(rounds, peer, connections)
        yield from _two_of_each(loaded, seconds)


def _our_loads(loaded: LoadedSystem, seconds: int, costs: Costs) -> Loads:
    """Adds the processor time of each process for a lookup."""
    loads = {}
    loaded.load(connections=CONNECTIONS[1], seconds=_WARM_UP)
    for connections in CONNECTIONS:
        used = Used(pids_of(loaded.system))
        loads[connections] = loaded.load(connections=connections, seconds=seconds)
        thousands = loads[connections].rate * seconds / 1000
        of_each = {name: each / thousands for name, each in used.seconds().items()}
        costs[connections].append(of_each)
    return loads


def _peer_loads(loaded: LoadedSystem, seconds: int, peer: Peer) -> Loads:
    system, key, path = loaded.system, loaded.key, loaded.paths[0]
    size = len(get(f"{system.base_url}{path}", key) or b"")
    with served(peer, system, path=path, key=key, response_size=size) as url:
        request = partial(load, url, loaded.paths, key=key)
        request(connections=CONNECTIONS[1], seconds=_WARM_UP)
        return {each: request(connections=each, seconds=seconds) for each in CONNECTIONS}


def _ours(loads: Sequence[Load], connections: int) -> Iterator[Figure]:
    name = f"lookups by number {_at(connections)}"
    yield Figure(name, median(one.rate for one in loads), "/s")
    goal = 1.3 if connections == 1 else None
    p50s, p99s = [one.p50_ms for one in loads], [one.p99_ms for one in loads]
    yield at_most(f"{name}, p50", median(p50s), "ms", goal)
    yield Figure(f"{name}, p99", median(p99s), "ms")
    yield at_most(f"{name}, p99 over p50", ratio(p99s, p50s), "×", 3)
    yield at_most(f"{name}, failed", max(one.errors for one in loads), "", 0)


def _processor_time(costs: Costs) -> Iterator[Figure]:
    """One client sends one lookup per message, which gives the steadiest figure."""
    for connections, rounds in costs.items():
        name = f"processor time of a lookup {_at(connections)}"
        for process in rounds[0]:
            yield Figure(f"{name}, {process}", median(cost[process] for cost in rounds), "ms")
        goal = 1.1 if connections == 1 else None
        yield at_most(
            f"{name}, all four", median(sum(cost.values()) for cost in rounds), "ms", goal
        )


def _compared(
    rounds: Mapping[str, Sequence[Loads]], peer: Peer, connections: int
) -> Iterator[Figure]:
    ours, bare, its = (
        [one[connections].rate for one in rounds[candidate]]
        for candidate in (_OURS, BARE.name, peer.name)
    )
    name = f"{peer.name} {_at(connections)}"
    yield Figure(name, median(its), "/s")
    p99 = median(one[connections].p99_ms for one in rounds[peer.name])
    yield Figure(f"{name}, p99", p99, "ms")
    yield at_least(f"ours over {name}", ratio(ours, its), "×", peer.goals.get(connections))
    if known := peer.known_share.get(connections):
        share = ratio(its, bare) / known
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
        used = Used(pids_of(system))
        ours = loaded.load(connections=connections, seconds=seconds)
        processor_time = used.seconds()
        yield Figure(f"{name}, lookups by number", ours.rate, "/s")
        yield Figure(f"{name}, p99", ours.p99_ms, "ms")
        yield at_most(f"{name}, failed", ours.errors, "", 0)
        for process, each in processor_time.items():
            yield Figure(f"{name}, {process}", each / seconds, "cores")


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


def _at(connections: int) -> str:
    return f"at {connections} connections" if connections > 1 else "at 1 connection"
