"""Copies of a register: the rate of one reader, concurrent lookups, and memory for slow readers."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median
from threading import Event
from urllib.parse import urlsplit

from bench.figures import Figure, at_least, at_most, in_turns, ratio
from bench.load import Load
from bench.processes import Used, megabytes
from bench.scale import Scale
from bench.setup import LoadedSystem, loaded_system, pids_of
from local_stack import SetupError

_PATH = "/api/export?country=no"
#: By the name of a figure.
_CODINGS = {"plain": "identity", "gzip": "gzip"}
_RATE = 20_000
_SLOW_READERS = 20
#: Seconds until the buffers of readers that do not read are full.
_FILLED = 8.0


@dataclass(frozen=True, slots=True)
class Copied:
    """One export."""

    seconds: float
    megabytes: float
    #: Seconds of processor time by process.
    used: dict[str, float]


def measure(scale: Scale) -> Iterator[Figure]:
    if shutil.which("curl") is None:
        raise SetupError("curl is missing")
    with loaded_system(scale.companies) as loaded:
        rounds = in_turns(
            scale.rounds,
            {name: partial(_copied, loaded, coding) for name, coding in _CODINGS.items()},
        )
        for name, copies in rounds.items():
            yield from _of_one_reader(name, copies, scale.companies)
        yield from _lookups_beside(loaded, scale)
        yield from _slow_readers(loaded)


def _copied(loaded: LoadedSystem, coding: str) -> Copied:
    used = Used(pids_of(loaded.system))
    command = ["curl", "-sf", "-o", os.devnull, "-w", "%{time_total} %{size_download}"]
    headers = [f"X-API-Key: {loaded.key}", f"Accept-Encoding: {coding}"]
    done = subprocess.run(
        [*command, *(part for each in headers for part in ("-H", each)),
         f"{loaded.system.base_url}{_PATH}"],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    seconds, size = map(float, done.stdout.split())
    return Copied(seconds, size / 1e6, used.seconds())


def _of_one_reader(name: str, copies: Sequence[Copied], companies: int) -> Iterator[Figure]:
    rates = [companies / one.seconds for one in copies]
    yield at_least(f"one reader, {name}", median(rates), "companies/s", _RATE)
    yield Figure(f"one reader, {name}, size", median(one.megabytes for one in copies), "MB")
    for process in copies[0].used:
        cost = median(one.used[process] for one in copies) / companies * 1e6
        yield Figure(f"processor time of a company, {name}, {process}", cost, "µs")


def _lookups_beside(loaded: LoadedSystem, scale: Scale) -> Iterator[Figure]:
    """Yields the latency of lookups by number, alone and while another key copies repeatedly."""
    key, seconds = loaded.system.issue_key("copier"), scale.load_seconds
    measured: dict[str, list[Load]] = in_turns(
        scale.rounds,
        {
            "alone": partial(loaded.load, connections=1, seconds=seconds),
            "beside": partial(_beside, loaded, key, seconds),
        },
    )
    for name, loads in measured.items():
        yield Figure(f"lookups {name}, p50", median(one.p50_ms for one in loads), "ms")
        yield Figure(f"lookups {name}, p99", median(one.p99_ms for one in loads), "ms")
    alone, beside = ([one.p99_ms for one in measured[name]] for name in ("alone", "beside"))
    yield at_most("lookups beside a reader, p99 over alone", ratio(beside, alone), "×", 2)


def _beside(loaded: LoadedSystem, key: str, seconds: int) -> Load:
    ended = Event()
    copier = LoadedSystem(loaded.system, key, loaded.paths)

    def copy() -> None:
        while not ended.is_set():
            _copied(copier, "gzip")

    with ThreadPoolExecutor(1) as pool:
        copying = pool.submit(copy)
        try:
            return loaded.load(connections=1, seconds=seconds)
        finally:
            ended.set()
            copying.result()


def _slow_readers(loaded: LoadedSystem) -> Iterator[Figure]:
    """Opens readers that send a request and read nothing."""
    services = loaded.system.services
    pids = {name: services[name].process.pid for name in ("gateway", "lookup")}
    before = {name: megabytes(pid) for name, pid in pids.items()}
    address = urlsplit(loaded.system.base_url)
    with ExitStack() as stack:
        for number in range(_SLOW_READERS):
            reader = socket.create_connection((str(address.hostname), address.port or 80))
            stack.callback(reader.close)
            key = loaded.system.issue_key(f"slow {number}")
            request = f"GET {_PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n"
            reader.sendall(request.encode())
        time.sleep(_FILLED)
        for name, pid in pids.items():
            growth = (megabytes(pid) - before[name]) / _SLOW_READERS
            goal = 2.5 if name == "gateway" else 1.0
            yield at_most(f"memory of a reader that does not read, {name}", growth, "MB", goal)
