"""Every query of the dashboard has data when Prometheus scrapes a system in use."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from math import isnan
from pathlib import Path

import aiohttp
import pytest

from local_stack import ports
from local_stack.packages import install
from local_stack.processes import Process, Program
from register_samples.server import Registers
from tests.contract.manifests.metrics import dashboard_queries
from tests.delivery.receiver import Receiver
from tests.delivery.waiting import eventually
from tests.e2e.client import Client
from tests.e2e.conftest import COMPANIES, Running
from tests.e2e.feed import FOLLOWED, followed
from tests.e2e.register import an_entity

pytestmark = pytest.mark.e2e

#: Seconds for a server that starts, and for a scrape of everything on a busy machine.
START, SOON = 60.0, 120.0


@asynccontextmanager
async def prometheus(running: Running, folder: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """A Prometheus that scrapes all processes twice a second; a session with its API."""
    if shutil.which("prometheus") is None:
        await asyncio.to_thread(install, ["prometheus"], why="Prometheus is missing.")
    scraped = [
        {
            "job_name": name.replace("_", "-"),
            "static_configs": [{"targets": [f"127.0.0.1:{service.admin_port}"]}],
        }
        for name, service in running.system.services.items()
    ]
    configuration = folder / "prometheus.json"
    configuration.write_text(
        json.dumps({"global": {"scrape_interval": "500ms"}, "scrape_configs": scraped})
    )
    [port] = ports.free_ports(1)
    place = f"127.0.0.1:{port}"
    options = {
        "config.file": configuration,
        "storage.tsdb.path": folder / "data",
        "web.listen-address": place,
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    server = Process(Program("Prometheus", ["prometheus", *arguments], folder / "prometheus.log"))
    limit = aiohttp.ClientTimeout(total=20)
    try:
        async with aiohttp.ClientSession(f"http://{place}", timeout=limit) as session:
            await eventually(lambda: is_ready(session), bool, seconds=START)
            yield session
    finally:
        await asyncio.to_thread(server.stop)


async def is_ready(session: aiohttp.ClientSession) -> bool:
    try:
        async with session.get("/-/ready") as answer:
            return answer.status == 200
    except aiohttp.ClientConnectionError:
        return False


async def has_data(session: aiohttp.ClientSession, query: str) -> bool:
    """True if a query answers a number; a quantile of nothing is not one."""
    async with session.get("/api/v1/query", params={"query": query}) as answer:
        body = await answer.json()
    assert body["status"] == "success", (query, body)
    return any(not isnan(float(sample["value"][1])) for sample in body["data"]["result"])


@pytest.mark.timeout(900)  # installs Prometheus
async def test_every_query_of_the_dashboard_has_data(
    running: Running, owner: Client, receiver: Receiver, portal_url: str, tmp_path: Path
) -> None:
    registers = Registers(companies=COMPANIES)
    number = registers.no.entities.add(an_entity("310996009", "PRØVEMÅLINGEN AS"))
    await owner.create(receiver.url("/hook"), filter={"companies": [f"no:{number}"]})
    rounds = count()

    async def use_everything() -> None:
        """A rate needs an increase between two scrapes."""
        registers.no.entities.change(number, {"navn": f"PRØVEMÅLINGEN {next(rounds)} AS"})
        for search in ({"vat": "310345679"}, {"name": "Prøvefabrikken Norge"}):
            async with owner.session.get("/api", params={"country": "no", **search}) as answer:
                await answer.read()
        async with owner.session.get(f"{portal_url}/sign-in") as answer:
            await answer.read()

    async with (
        followed(running.system, registers, *FOLLOWED),
        prometheus(running, tmp_path) as session,
    ):

        async def without_data(asked: Sequence[str]) -> list[str]:
            await use_everything()
            return [query for query in asked if not await has_data(session, query)]

        missing = dashboard_queries(window="2m")
        with suppress(TimeoutError):
            async with asyncio.timeout(SOON):
                while missing:
                    missing = await without_data(missing)

    assert missing == []
