"""Annual accounts by real processes of `ingest`: files, and first loads that are killed."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import orjson
import pytest

from common.mongo import Database
from register_samples import write_registers
from register_samples.danish_accounts import filings
from register_samples.norwegian_accounts import accounts
from register_samples.server import Registers, Served, serving
from tests.commanding import run_main
from tests.conftest import DatabaseNames
from tests.delivery.waiting import SOON, eventually

pytestmark = pytest.mark.integration

#: Enough for several batches of answers, and of filings.
COMPANIES = 400


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_registers(tmp_path_factory.mktemp("registers"), COMPANIES)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving(Registers(companies=COMPANIES)) as served:
        yield served


@pytest.fixture
def environment(amqp_url: str, mongo_url: str, database_names: DatabaseNames) -> dict[str, str]:
    return {
        **os.environ,
        "AMQP_URL": amqp_url,
        "MONGO_URL": mongo_url,
        "REGISTER_DB": database_names.register,
    }


async def started(environment: dict[str, str], *arguments: str) -> Process:
    command = (sys.executable, "-m", "ingest", *arguments)
    return await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE, stderr=PIPE)


async def ended(process: Process) -> tuple[int | None, str]:
    async with asyncio.timeout(SOON):
        _, said = await process.communicate()
    return process.returncode, said.decode()


async def loaded(environment: dict[str, str], *arguments: str) -> None:
    """Runs a command without a process of its own; it has to succeed."""
    run = partial(run_main, "ingest", *arguments, environment=environment)
    assert (await asyncio.to_thread(run))[0] == 0


def a_form(number: str, year: int, id_: int) -> dict[str, object]:
    return {
        "id": id_,
        "regnskapstype": "SELSKAP",
        "virksomhet": {"organisasjonsnummer": number},
        "regnskapsperiode": {"fraDato": f"{year}-01-01", "tilDato": f"{year}-12-31"},
        "valuta": "NOK",
    }


async def test_norwegian_answers_are_imported_in_each_form_of_a_line(
    environment: dict[str, str], files: dict[str, Path], database: Database, tmp_path: Path
) -> None:
    await loaded(environment, "import", "no-enheter", str(files["no-enheter"]))
    first, second, third, bank, odd = [
        answer[0]["virksomhet"]["organisasjonsnummer"]
        for answer in map(accounts, range(COMPANIES))
        if answer
    ][:5]
    lines = [
        [a_form(first, 2025, 3), a_form(first, 2024, 1)],
        a_form(second, 2025, 5),
        {"organisasjonsnummer": third, "status": 404},
        {"organisasjonsnummer": bank, "status": 500},
        {"organisasjonsnummer": odd, "status": 418},
        [],
    ]
    file = tmp_path / "answers.jsonl"
    file.write_bytes(b"\n".join(map(orjson.dumps, lines)))

    status, said = await ended(await started(environment, "import", "no-regnskap", str(file)))

    assert (status, "status: neither 404 nor 500" in said) == (1, True)
    assert "6 read" in said
    states = await database["accounts_states"].find().to_list(None)
    assert {each["_id"][3:]: (each["state"], each["wanted"]) for each in states} == {
        first: ("ok", "2025"),
        second: ("ok", "2025"),
        third: ("none", None),
        bank: ("unavailable", None),
    }
    assert await database["accounts"].count_documents({"current": True}) == 3


async def test_an_import_of_filings_that_is_killed_is_finished_by_the_next(
    environment: dict[str, str], files: dict[str, Path], database: Database
) -> None:
    await loaded(environment, "import", "dk-virksomhed", str(files["dk-virksomhed"]))
    documents = str(files["dk-regnskab"].parent / "documents")
    command = ("import", "dk-regnskab", str(files["dk-regnskab"]), "--documents", documents)
    stored = partial(database["accounts"].count_documents, {})

    process = await started(environment, *command)
    await eventually(stored, lambda count: count > 0)
    process.kill()
    was_running = await process.wait() != 0
    done = await stored()
    status, said = await ended(await started(environment, *command))

    expected = {filing.hit["_id"] for index in range(COMPANIES) for filing in filings(index)}
    assert was_running
    assert status == 0, said
    assert f"{len(expected)} read" in said
    found = await database["accounts"].find({}, {"_id": 1, "body": 1}).to_list(None)
    assert {orjson.loads(each["body"])["source"]["id"] for each in found} == expected
    assert 0 < done < len(found)
    # The first batch was whole, and is not written again.
    assert ", 0 changed," in said
    assert ", 0 unchanged," not in said
    assert await database["outbox"].count_documents({}) == 0


async def test_a_first_load_of_norway_that_is_killed_asks_only_for_the_rest(
    environment: dict[str, str], files: dict[str, Path], database: Database, served: Served
) -> None:
    await loaded(environment, "import", "no-enheter", str(files["no-enheter"]))
    slow = {"BRREG_ACCOUNTS_URL": str(served.norwegian_accounts), "BRREG_ACCOUNTS_RATE": "50"}
    checked = {"checked_at": {"$ne": None}, "wanted": {"$ne": None}}
    asked_and_stored = partial(database["accounts_states"].count_documents, checked)

    process = await started({**environment, **slow}, "sync", "no-regnskap")
    await eventually(asked_and_stored, lambda count: count > 0)
    process.kill()
    await process.wait()
    stored = await database["accounts_states"].find(checked).to_list(None)
    known = {each["_id"].removeprefix("no:") for each in stored}
    begun = len(served.requests)
    # Its lease has run out.
    await database["leases"].delete_many({})
    fast = {**slow, "BRREG_ACCOUNTS_RATE": "1000"}
    status, said = await ended(await started({**environment, **fast}, "sync", "no-regnskap"))

    asked = [each.rpartition("/")[2] for each in served.requests[begun:]]
    wanted = await database["accounts_states"].count_documents({"wanted": {"$ne": None}})
    assert status == 0, said
    assert begun < wanted
    assert known.isdisjoint(asked)
    assert len(asked) == len(set(asked)) == wanted - len(known)
    assert await asked_and_stored() == wanted
    load = await database["loads"].find_one({"_id": "no-regnskap"})
    assert load is not None
    assert load["state"] == "loaded"
