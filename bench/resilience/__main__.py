"""`python -m bench.resilience [--quick] [--only WORD …]`: faults in a cluster of containers."""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from pymongo.errors import PyMongoError

from bench.resilience.cluster import PROJECT, SERVICES, Cluster, Failed, run
from bench.resilience.faults import ALL, QUICK, Fault, upgrade
from bench.resilience.lookups import Lookup, Lookups
from bench.resilience.receiver import Authority, Received, receiving
from bench.resilience.report import Outcome, table, written
from bench.resilience.sent import Sent, sending
from common.runtime.tasks import beside
from local_stack import SetupError, ports
from register_samples import companies_no

REPORT = Path(__file__).resolve().parents[2] / "docs" / "resilience.md"
#: Seconds of load after a fault, and the longest that the next one waits for its deliveries.
_AFTER, _DRAIN = 10.0, 30.0
#: Seconds after the last fault before missing deliveries count as lost: two attempts may fail.
_LATE = 480.0
#: Seconds for the cluster to answer its first lookup.
_START = 600.0
#: The tag of the images before an upgrade.
_PREVIOUS = "previous"
#: Seconds reserved for late deliveries, and for building images.
_RESERVE, _BUILD = 120.0, 1800.0


@dataclass(frozen=True, slots=True)
class Load:
    lookups: float
    events: float
    webhooks: int

    def __str__(self) -> str:
        return (
            f"{self.lookups:g} lookups a second, {self.events:g} events a second "
            f"to {self.webhooks} webhooks each"
        )


@dataclass
class World:
    """The cluster, its load and its receiver."""

    cluster: Cluster
    lookups: Lookups
    sent: Sent
    received: Received
    load: Load

    async def run(self, fault: Fault) -> "Ran":
        """Causes a fault, and waits for the deliveries of events sent meanwhile."""
        looked, sent = len(self.lookups.done), len(self.sent.events)
        trouble = ""
        try:
            await fault.act(self.cluster)
        except (Failed, SetupError, PyMongoError, TimeoutError) as error:
            trouble = str(error) or type(error).__name__
        over = time.monotonic()
        await asyncio.sleep(_AFTER)
        lookups, events = self.lookups.done[looked:], self.sent.events[sent:]
        try:
            await self.cluster.until_whole()
        except (Failed, SetupError, PyMongoError) as error:
            trouble = trouble or str(error)
        await self.received.until(events, len(events) * self.load.webhooks, limit=_DRAIN)
        return Ran(fault.name, events, lookups, over, trouble)

    async def until_all_came(self, runs: Sequence["Ran"], limit: float) -> None:
        """Waits for late deliveries: one whose first attempts failed arrives minutes later."""
        events = [event for each in runs for event in each.events]
        await self.received.until(events, len(events) * self.load.webhooks, limit=limit)

    def missing(self, runs: Sequence["Ran"]) -> list[str]:
        """The events that did not come to every webhook."""
        events = [event for each in runs for event in each.events]
        return [each for each in events if self.received.came([each]) < self.load.webhooks]

    def outcome(self, ran: "Ran") -> Outcome:
        waits = [
            self.received.completed[event] - self.sent.at[event]
            for event in ran.events
            if event in self.received.completed
        ]
        return Outcome(
            fault=ran.fault,
            sent=len(ran.events) * self.load.webhooks,
            received=self.received.came(ran.events),
            repeated=self.received.repeated(ran.events),
            slowest_delivery=max(waits, default=0),
            lookups=ran.lookups,
            over=ran.over,
            trouble=ran.trouble,
        )


@dataclass(frozen=True)
class Ran:
    """A fault, and the events and lookups during it."""

    fault: str
    events: Sequence[str]
    lookups: Sequence[Lookup]
    over: float
    trouble: str


def main() -> None:
    wanted = _arguments()
    faults = QUICK if wanted.quick else ALL
    if wanted.previous:
        _build(wanted.previous)
        upgraded = Fault(f"rolling upgrade from {wanted.previous}", upgrade)
        faults = (faults[0], upgraded, *faults[1:])
    release = _PREVIOUS if wanted.previous else None
    if wanted.only:
        faults = tuple(each for each in faults if any(word in each.name for word in wanted.only))
    load = Load(wanted.lookups, wanted.events, wanted.webhooks)
    deadline = time.monotonic() + 60 * wanted.minutes
    measured = asyncio.run(_measure(faults, load, release, deadline, keep=wanted.keep))
    text = table(measured.outcomes, [each.name for each in faults])
    print(text)
    if not (wanted.quick or wanted.only):
        circumstances = (
            f"On {datetime.now(UTC):%Y-%m-%d}, on {_machine()}, with {measured.servers}, "
            f"under {load}:"
        )
        REPORT.write_text(written(REPORT.read_text(), f"{circumstances}\n\n{text}"))
    failed = len(measured.outcomes) < len(faults)
    sys.exit(failed or any(each.lost or each.trouble for each in measured.outcomes))


def _build(revision: str) -> None:
    """Builds the images of another revision of this repository, with the tag `_PREVIOUS`."""
    root = REPORT.parents[1]
    with tempfile.TemporaryDirectory(prefix="revision-") as folder:
        files, build = f"{folder}/files.tar", Path("deploy", "images", "build")
        subprocess.run(
            ["git", "-c", "tar.umask=0022", "archive", f"--output={files}", revision],
            cwd=root,
            check=True,
        )
        subprocess.run(["tar", "--extract", f"--directory={folder}", f"--file={files}"], check=True)
        # The script of an older revision may not support VERSION.
        shutil.copy(root / build, folder / build)
        subprocess.run(
            [folder / build, *SERVICES, "lookup-samples"],
            env={**os.environ, "VERSION": _PREVIOUS},
            check=True,
            timeout=_BUILD,
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.resilience", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few of the faults, and no report")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="faults whose name has one")
    parser.add_argument(
        "--previous", metavar="REVISION", help="begin with its images, and upgrade from them"
    )
    parser.add_argument(
        "--minutes", type=float, default=30, help="for everything but building (default: 30)"
    )
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    parser.add_argument("--lookups", type=float, default=100, help="a second (default: 100)")
    parser.add_argument("--events", type=float, default=20, help="a second (default: 20)")
    parser.add_argument("--webhooks", type=int, default=10, help="of each event (default: 10)")
    return parser.parse_args()


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"a machine with {os.cpu_count()} processors and {memory:.0f} GB"


@dataclass(frozen=True)
class Measured:
    outcomes: Sequence[Outcome]
    servers: str


async def _measure(
    faults: Sequence[Fault], load: Load, release: str | None, deadline: float, *, keep: bool
) -> Measured:
    runs: list[Ran] = []
    async with _world(load, release, keep=keep) as world:
        servers = await world.cluster.versions()
        for fault in faults:
            if time.monotonic() > deadline - _RESERVE:
                print("no time is left for the other faults", file=sys.stderr)
                break
            print(f"{fault.name} …", file=sys.stderr, flush=True)
            runs.append(await world.run(fault))
            print(world.outcome(runs[-1]).row, file=sys.stderr, flush=True)
        remaining = max(_RESERVE, deadline - time.monotonic())
        await world.until_all_came(runs, min(_LATE, remaining))
        for event in world.missing(runs):
            print(f"not at every webhook: {event}", file=sys.stderr)
        return Measured([world.outcome(ran) for ran in runs], servers)


@asynccontextmanager
async def _world(load: Load, release: str | None, *, keep: bool) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="resilience-"))
        authority = Authority(Path(folder))
        authority.write()
        http, webhooks = ports.free_ports(2)
        cluster = Cluster(
            {"HTTP_PORT": str(http), "CERTIFICATES": folder, "KEY_RATE": "100000/minute"},
            release,
        )
        if not keep:
            stack.push_async_callback(cluster.compose, "down", "--volumes")
        await cluster.compose("up", "--detach")
        base_url = f"http://127.0.0.1:{http}"
        await _until_answered(base_url)
        await cluster.until_whole()
        [gateway, *_] = await cluster.containers("gateway")
        address = (await cluster.network(gateway, "default")).gateway
        received = await stack.enter_async_context(receiving(authority, address, webhooks))
        for owner in range(load.webhooks):
            key = await _key(cluster, f"owner-{owner}")
            await _webhook(base_url, key, f"https://{address}:{webhooks}/{owner}")
        lookups = Lookups(base_url, await _key(cluster, "lookups"), _paths(), load.lookups)
        sent = await stack.enter_async_context(sending(load.events))
        await stack.enter_async_context(beside(lookups.run()))
        await sent.until_first()
        yield World(cluster, lookups, sent, received, load)


def _paths() -> list[str]:
    """Lookups of companies that the sample registers have."""
    numbers = [company["organisasjonsnummer"] for company in companies_no(500, 1)]
    return [f"/api?country=no&vat={number}" for number in numbers]


async def _until_answered(base_url: str) -> None:
    path = _paths()[0]
    async with asyncio.timeout(_START), aiohttp.ClientSession(base_url) as session:
        while True:
            try:
                async with session.get(path) as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(2)


async def _key(cluster: Cluster, owner: str) -> str:
    scopes = ("--scope", "lookup", "--scope", "webhooks")
    issue = ("keys", "issue", "--owner", owner, "--name", "resilience", *scopes)
    [gateway, *_] = await cluster.containers("gateway")
    return await run("docker", "exec", gateway, "python", "-m", "gateway", *issue)


async def _webhook(base_url: str, key: str, url: str) -> None:
    body = {"url": url, "events": ["company.updated"]}
    async with (
        aiohttp.ClientSession(base_url, headers={"X-API-Key": key}) as session,
        session.post("/api/webhooks", json=body) as response,
    ):
        if response.status != 201:
            raise SystemExit(f"{PROJECT}: no webhook was made: {await response.text()}")


if __name__ == "__main__":
    main()
