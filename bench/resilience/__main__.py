"""`python -m bench.resilience [--quick] [--only WORD …] [--random SEED]`: faults in a cluster."""

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import trustme

from bench.figures import machine
from bench.load import get
from bench.resilience.cluster import PROJECT, SERVICES, Cluster, run
from bench.resilience.faults import ALL, QUICK, upgrade, upgrade_from
from bench.resilience.harms import Fault
from bench.resilience.load import Load, Lookups, receiving, storing_events
from bench.resilience.loaded import LoadedCluster, Run, is_good, table, written
from bench.resilience.random_faults import RandomFaults
from common.runtime.tasks import background
from local_stack import ports
from register_samples import companies_no

REPORT = Path(__file__).resolve().parents[2] / "bench" / "results" / "resilience.md"
#: Seconds after the last fault before missing deliveries count as lost: two attempts may fail.
_LATE = 480.0
#: Seconds for the cluster to answer its first lookup.
_START = 600.0
#: The tag of the images before an upgrade.
_PREVIOUS = "previous"
#: Seconds reserved for late deliveries, and for building images.
_RESERVE, _BUILD = 120.0, 1800.0
#: Seconds for a command that reads.
_COMMAND = 60.0


def main() -> None:
    wanted = _arguments()
    print(quiet_machine(os.getloadavg()[0], os.cpu_count() or 1), file=sys.stderr, flush=True)
    faults = QUICK if wanted.quick else ALL
    if wanted.previous:
        _build(wanted.previous)
        faults = (faults[0], upgrade_from(wanted.previous), *faults[1:])
    release = _PREVIOUS if wanted.previous else None
    if wanted.only:
        faults = tuple(each for each in faults if any(word in each.name for word in wanted.only))
    load = Load(wanted.lookups, wanted.events, wanted.webhooks)
    text, is_good = asyncio.run(
        _random_faults(wanted.random, load, wanted.minutes or 60, keep=wanted.keep)
        if wanted.random is not None
        else _each_fault(faults, load, release, wanted.minutes or 40, keep=wanted.keep)
    )
    print(text)
    if not (wanted.quick or wanted.only):
        page = written(REPORT.read_text(), text, is_random=wanted.random is not None)
        REPORT.write_text(page)
    sys.exit(not is_good)


def quiet_machine(load: float, processors: int) -> str:
    """Returns what a reader of the figures has to know of the machine before they begin."""
    text = "The figures need a quiet machine: nothing else that uses its processors or disks."
    if load <= processors / 4:
        return text
    return f"{text} This one is busy: a load of {load:.1f} on {processors} processors."


def _circumstances(servers: str, load: Load) -> str:
    return f"On {datetime.now(UTC).date()}, on {machine()}, with {servers}, under {load}"


def _build(revision: str) -> None:
    """Builds the images of another revision, with the tag `_PREVIOUS`, unless they are there."""
    root = REPORT.parents[2]
    images = [*SERVICES, "ingest-samples", "receiver"]
    found = subprocess.run(
        [root / "deploy" / "images" / "revision", revision],
        check=False,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_COMMAND,
    )
    if found.returncode != 0:
        sys.exit(1)  # it has said why
    commit = found.stdout.strip()
    if _built(images) == {commit}:
        return
    with tempfile.TemporaryDirectory(prefix="revision-") as folder:
        # A clone has the revision for the images' label, which `_built` reads.
        for command in (
            ("clone", "--quiet", "--no-checkout", str(root), folder),
            ("-C", folder, "checkout", "--quiet", "--detach", commit),
        ):
            subprocess.run(["git", *command], check=True, timeout=_COMMAND, umask=0o022)
        scripts = Path("deploy", "images")
        # The scripts of an older revision may not support VERSION, or be missing.
        for script in ("build", "base", "version", "revision", "source"):
            shutil.copy(root / scripts / script, folder / scripts / script)
        subprocess.run(
            [folder / scripts / "build", *images],
            env={**os.environ, "VERSION": _PREVIOUS},
            check=True,
            timeout=_BUILD,
        )


def _built(images: Sequence[str]) -> set[str]:
    """The revisions of the images with the tag `_PREVIOUS`; empty where one has none."""
    label = '--format={{index .Config.Labels "org.opencontainers.image.revision"}}'
    return {
        _output("docker", "image", "inspect", label, f"company-registry/{image}:{_PREVIOUS}")
        for image in images
    }


def _output(*command: str) -> str:
    """Returns the output of a command, or an empty text if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMMAND)
    return done.stdout.strip() if done.returncode == 0 else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.resilience", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few of the faults, and no report")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="faults whose name has one")
    parser.add_argument(
        "--previous", metavar="REVISION", help="begin with its images, and upgrade from them"
    )
    parser.add_argument(
        "--minutes", type=float, help="for everything but building (default: 40, or 60 of --random)"
    )
    parser.add_argument(
        "--random", type=int, metavar="SEED", help="instead, a random fault every 30 s, for an hour"
    )
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    parser.add_argument("--lookups", type=float, default=100, help="a second (default: 100)")
    parser.add_argument("--events", type=float, default=20, help="a second (default: 20)")
    parser.add_argument("--webhooks", type=int, default=10, help="of each event (default: 10)")
    return parser.parse_args()


async def _each_fault(
    faults: Sequence[Fault], load: Load, release: str | None, minutes: float, *, keep: bool
) -> tuple[str, bool]:
    """The report of one fault after the other, and whether every goal was met."""
    deadline = time.monotonic() + 60 * minutes
    runs: list[Run] = []
    async with _loaded_cluster(load, release, keep=keep) as loaded:
        servers = await loaded.cluster.versions()
        for fault in faults:
            for is_again in (False, True):
                if time.monotonic() > deadline - _RESERVE:
                    break
                print(f"{fault.name} …", file=sys.stderr, flush=True)
                runs.append(await loaded.run(fault, is_again=is_again))
                outcome = loaded.outcome(runs[-1])
                print(outcome.row, outcome.error, outcome.timeline, file=sys.stderr, flush=True)
                if not outcome.missed or fault.act is upgrade:
                    break
        # A delivery whose first attempts failed arrives minutes later.
        remaining = max(_RESERVE, deadline - time.monotonic())
        await loaded.until_all_received(runs, timeout=min(_LATE, remaining))
        outcomes = [loaded.outcome(run) for run in runs]
    names = [each.name for each in faults]
    text = table(outcomes, names)
    return f"{_circumstances(servers, load)}:\n\n{text}", is_good(outcomes, names)


async def _random_faults(seed: int, load: Load, minutes: float, *, keep: bool) -> tuple[str, bool]:
    """The report of random faults for so long, and whether their goals were met."""
    async with _loaded_cluster(load, None, keep=keep) as loaded:
        faults = RandomFaults(loaded, random.Random(seed), 60 * minutes)
        await faults.run()
        await loaded.until_all_received(faults.runs, timeout=_LATE)
        servers = await loaded.cluster.versions()
        return (
            f"{_circumstances(servers, load)}, seed {seed}:\n\n{faults.report()}",
            faults.is_good(),
        )


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
        await stack.enter_async_context(background(lookups.run()))
        await events.until_first()
        yield LoadedCluster(cluster, lookups, events, received, load)


def _authority(folder: Path) -> trustme.CA:
    """The authority of the receiver's certificate; containers find it in the folder `receiver`."""
    authority = trustme.CA()
    (folder / "receiver").mkdir()
    authority.cert_pem.write_to_path(folder / "receiver" / "ca.pem")
    folder.chmod(0o755)
    return authority


def _paths() -> list[str]:
    """Lookups of companies that the sample registers have: three by number, and one by name."""
    return [
        f"/api/name?{urlencode({'country': 'no', 'q': company['navn']})}"
        if number % 4 == 0
        else f"/api?country=no&vat={company['organisasjonsnummer']}"
        for number, company in enumerate(companies_no(500), 1)
    ]


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
