"""`python -m bench.resilience [--quick] [--only WORD …]`: faults in a cluster of containers."""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import trustme
from pymongo.errors import PyMongoError

from bench.figures import machine
from bench.load import get
from bench.resilience.cluster import PROJECT, SERVICES, Cluster, Failed, run
from bench.resilience.faults import ALL, QUICK, Fault, upgrade
from bench.resilience.load import Events, Load, Lookup, Lookups, storing_events
from bench.resilience.receiver import Received, receiving
from bench.resilience.report import Outcome, table, written
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


@dataclass(frozen=True)
class Run:
    """A fault, and the events and lookups during it."""

    fault: str
    events: Sequence[str]
    lookups: Sequence[Lookup]
    ended: float
    error: str


@dataclass
class LoadedCluster:
    """The cluster under its load, and the receiver of its webhooks."""

    cluster: Cluster
    lookups: Lookups
    events: Events
    received: Received
    load: Load

    async def run(self, fault: Fault) -> Run:
        """Causes a fault, and waits for the deliveries of events stored meanwhile."""
        lookups_before, events_before = len(self.lookups.done), len(self.events.at)
        error = await _error_of(fault.act(self.cluster))
        ended = time.monotonic()
        await asyncio.sleep(_AFTER)
        lookups = self.lookups.done[lookups_before:]
        events = self.events.ids[events_before:]
        not_healthy = await _error_of(self.cluster.until_healthy())
        await self.until_received(events, timeout=_DRAIN)
        return Run(fault.name, events, lookups, ended, error or not_healthy)

    async def until_received(self, events: Sequence[str], *, timeout: float) -> None:
        await self.received.until(events, len(events) * self.load.webhooks, timeout=timeout)

    def outcome(self, run: Run) -> Outcome:
        completed = self.received.completed
        waits = [
            completed[event] - self.events.at[event] for event in run.events if event in completed
        ]
        return Outcome(
            fault=run.fault,
            sent=len(run.events) * self.load.webhooks,
            received=self.received.count(run.events),
            repeated=self.received.repeated(run.events),
            slowest_delivery=max(waits, default=0),
            lookups=run.lookups,
            ended=run.ended,
            error=run.error,
        )


async def _error_of(work: Awaitable[None]) -> str:
    """The error of a fault or a recovery; empty if it succeeded."""
    try:
        await work
    except (Failed, SetupError, PyMongoError, TimeoutError) as error:
        return str(error) or type(error).__name__
    return ""


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
    outcomes, servers = asyncio.run(_measure(faults, load, release, deadline, keep=wanted.keep))
    text = table(outcomes, [each.name for each in faults])
    print(text)
    if not (wanted.quick or wanted.only):
        today = datetime.now(UTC).date()
        circumstances = f"On {today}, on {machine()}, with {servers}, under {load}:"
        REPORT.write_text(written(REPORT.read_text(), f"{circumstances}\n\n{text}"))
    failed = len(outcomes) < len(faults)
    sys.exit(failed or any(each.lost or each.error for each in outcomes))


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
        "--minutes", type=float, default=40, help="for everything but building (default: 40)"
    )
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    parser.add_argument("--lookups", type=float, default=100, help="a second (default: 100)")
    parser.add_argument("--events", type=float, default=20, help="a second (default: 20)")
    parser.add_argument("--webhooks", type=int, default=10, help="of each event (default: 10)")
    return parser.parse_args()


async def _measure(
    faults: Sequence[Fault], load: Load, release: str | None, deadline: float, *, keep: bool
) -> tuple[Sequence[Outcome], str]:
    """The outcome of each fault, and the versions of the servers."""
    runs: list[Run] = []
    async with _loaded_cluster(load, release, keep=keep) as loaded:
        servers = await loaded.cluster.versions()
        for fault in faults:
            if time.monotonic() > deadline - _RESERVE:
                print("no time is left for the other faults", file=sys.stderr)
                break
            print(f"{fault.name} …", file=sys.stderr, flush=True)
            runs.append(await loaded.run(fault))
            print(loaded.outcome(runs[-1]).row, file=sys.stderr, flush=True)
        # A delivery whose first attempts failed arrives minutes later.
        remaining = max(_RESERVE, deadline - time.monotonic())
        events = [event for run in runs for event in run.events]
        await loaded.until_received(events, timeout=min(_LATE, remaining))
        for event in events:
            if loaded.received.count([event]) < load.webhooks:
                print(f"not at every webhook: {event}", file=sys.stderr)
        return [loaded.outcome(run) for run in runs], servers


@asynccontextmanager
async def _loaded_cluster(
    load: Load, release: str | None, *, keep: bool
) -> AsyncIterator[LoadedCluster]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="resilience-")))
        authority = _authority(folder)
        http, webhooks = ports.free_ports(2)
        settings = {
            "HTTP_PORT": str(http),
            "CERTIFICATES": str(folder),
            "KEY_RATE": "100000/minute",
        }
        cluster = Cluster(settings, release)
        if not keep:
            stack.push_async_callback(cluster.compose, "down", "--volumes")
        await cluster.compose("up", "--detach")
        base_url = f"http://127.0.0.1:{http}"
        await _until_answered(f"{base_url}{_paths()[0]}")
        await cluster.until_healthy()
        [gateway, *_] = await cluster.containers("gateway")
        address = (await cluster.network(gateway, "default")).gateway
        received = await stack.enter_async_context(receiving(authority, address, webhooks))
        for owner in range(load.webhooks):
            key = await _key(cluster, f"owner-{owner}")
            await _webhook(base_url, key, f"https://{address}:{webhooks}/{owner}")
        lookups = Lookups(base_url, await _key(cluster, "lookups"), _paths(), load.lookups)
        events = await stack.enter_async_context(storing_events(load.events))
        await stack.enter_async_context(beside(lookups.run()))
        await events.until_first()
        yield LoadedCluster(cluster, lookups, events, received, load)


def _authority(folder: Path) -> trustme.CA:
    """The authority of the receiver's certificate; containers find it in the folder."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    folder.chmod(0o755)
    return authority


def _paths() -> list[str]:
    """Lookups of companies that the sample registers have."""
    numbers = [company["organisasjonsnummer"] for company in companies_no(500)]
    return [f"/api?country=no&vat={number}" for number in numbers]


async def _until_answered(url: str) -> None:
    async with asyncio.timeout(_START):
        while await asyncio.to_thread(get, url) is None:  # noqa: ASYNC110 (polled)
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
