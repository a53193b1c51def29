"""`python -m ingest` as a process that reads registers: exit status, output and metrics."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import aiohttp
import orjson
import pytest

from common.mongo import Database
from ingest.following.passes import FAILURES
from local_stack.ports import free_ports
from register_samples.server import Failure, Registers, Served, serving
from tests.commanding import run_main
from tests.conftest import DatabaseNames
from tests.delivery.waiting import SOON, eventually

pytestmark = pytest.mark.integration

COMPANY = "310345679"


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """Registers that keep the same time as the process."""
    async with serving(Registers(companies=25)) as served:
        yield served


@pytest.fixture
def environment(
    served: Served, amqp_url: str, mongo_url: str, database_names: DatabaseNames
) -> dict[str, str]:
    return {
        **os.environ,
        "AMQP_URL": amqp_url,
        "MONGO_URL": mongo_url,
        "REGISTER_DB": database_names.register,
        "BRREG_URL": str(served.brreg),
        "BRREG_ACCOUNTS_URL": str(served.norwegian_accounts),
        "BRREG_ACCOUNTS_RATE": "1000",
        "CVR_URL": str(served.cvr_permanent),
        "CVR_FILINGS_URL": str(served.filings),
        "CVR_DOCUMENTS_URL": str(served.documents),
        "CVR_USER": "sample",
        "CVR_PASSWORD": "sample",
        "CVR_ALLOW_PLAINTEXT": "true",
        "PEPPOL_URL": str(served.url),
        "REGISTER_RETRY_DELAY": "PT0.01S",
        "SYNC_INTERVAL": "PT0.1S",
    }


@asynccontextmanager
async def running(
    environment: Mapping[str, str], *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`ingest` with these arguments, killed at the end unless it has ended."""
    command = [sys.executable, "-m", "ingest", *arguments]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=dict(environment), stdout=pipe, stderr=pipe
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def ended(environment: Mapping[str, str], *arguments: str) -> tuple[int, list[Any], str]:
    """Exit status, log lines, and standard error."""
    async with running(environment, "sync", *arguments) as process, asyncio.timeout(SOON):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, [orjson.loads(line) for line in out.splitlines()], err.decode()


def outcomes(lines: list[Any]) -> dict[str, str]:
    """By source, in the order of their passes."""
    return {line["source"]: line["outcome"] for line in lines if line["event"] == "sync.pass"}


async def test_all_sources_are_synchronised_in_order(
    environment: dict[str, str], database: Database
) -> None:
    status, lines, _ = await ended(environment, "all")

    sources = ["no-enheter", "no-underenheter", "no-roller", "no-konsern"]
    sources += ["no-regnskap", "dk-virksomhed", "dk-produktionsenhed", "dk-regnskab", "peppol"]
    [danish] = [line for line in lines if line.get("source") == "dk-virksomhed"]
    assert status == 0
    assert "cvr.plaintext" in {line["event"] for line in lines}, "a password over plain HTTP"
    assert list(outcomes(lines).items()) == [(source, "done") for source in sources]
    assert danish["results"] == {"new": 25}
    assert await database["companies"].count_documents({"core": {"$ne": None}}) > 45


@pytest.mark.parametrize(
    "setting, value, said",
    [("CVR_ALLOW_PLAINTEXT", "false", "CVR_ALLOW_PLAINTEXT=true"), ("CVR_USER", "", "CVR_USER")],
)
async def test_a_danish_source_without_a_user_or_over_plain_http_is_wrong_usage(
    environment: dict[str, str], setting: str, value: str, said: str
) -> None:
    words = ("sync", "no-enheter", "dk-virksomhed")

    status, _, error = await asyncio.to_thread(
        partial(run_main, "ingest", *words, environment={**environment, setting: value})
    )

    assert status == 2
    assert said in error


async def test_the_highest_status_of_several_sources_is_returned(
    environment: dict[str, str], served: Served
) -> None:
    served.faults.plan("/underenheter/lastned", Failure(404))

    status, lines, _ = await ended(environment, "no-enheter", "no-underenheter", "no-roller")

    assert status == 3
    assert list(outcomes(lines).values()) == ["done", "register_fault", "done"]
    assert "cvr.plaintext" not in {line["event"] for line in lines}


async def test_an_unavailable_database_has_a_status_of_its_own(environment: dict[str, str]) -> None:
    (port,) = free_ports(1)
    away = {**environment, "MONGO_URL": f"mongodb://127.0.0.1:{port}/?directConnection=true"}

    status, _, said = await ended(away, "no-enheter")

    assert status == 4
    assert "Traceback" not in said


#: The sources that wait for no other source.
STARTED = ("no-enheter", "no-underenheter", "no-roller", "dk-virksomhed", "peppol")


async def test_a_followed_register_is_synchronised_and_measured_until_stopped(
    environment: dict[str, str], served: Served, database: Database
) -> None:
    (port,) = free_ports(1)
    settings = {**environment, "ADMIN_PORT": str(port)}

    async with running(settings, "serve", "all") as process:
        begun = {"_id": {"$in": [*STARTED]}}
        await eventually(
            partial(database["cursors"].count_documents, begun), lambda n: n == len(STARTED)
        )
        served.registers.no.entities.change(COMPANY, {"navn": "NYE PRØVEFABRIKKEN AS"})
        changed = 'sync_records_total{result="changed",source="no-enheter"} 1.0'
        metrics = await eventually(partial(page, port, "/metrics"), lambda text: changed in text)
        process.terminate()
        async with asyncio.timeout(SOON):
            _, err = await process.communicate()

    ages = dict(re.findall(r'sync_cursor_age_seconds\{source="([a-z-]+)"\} ([0-9.e+-]+)', metrics))
    assert ages.keys() >= {"no-enheter", "dk-virksomhed", "peppol"}
    assert float(ages["no-enheter"]) < SOON
    assert await database["outbox"].count_documents({}) == 1
    assert 'register_requests_total{register="brreg",result="200"}' in metrics
    # Prometheus sees no increase in a counter's first value.
    for cause in (failure.value for failure in FAILURES):
        none_yet = f'sync_pass_failures_total{{cause="{cause}",source="no-enheter"}} 0.0'
        assert none_yet in metrics
    assert process.returncode == 0
    assert err == b""


async def page(port: int, path: str) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return await answer.text()
