"""`python -m lookup import`: output and exit status; a kill at any moment does no harm."""

import asyncio
import gzip
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.database import Database

from local_stack.system import System
from register_samples import companies_dk, companies_no, write_registers
from tests.commanding import run_here
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.e2e

NOWHERE = "mongodb://127.0.0.1:1/?directConnection=true"


@pytest.fixture
def system(mongo_url: str, database_names: DatabaseNames, tmp_path: Path) -> Iterator[System]:
    """For its commands only: no service runs."""
    made = System(tmp_path, "amqp://127.0.0.1:1", mongo_url, database_names.environment)
    status, _, _ = run_here(made, "lookup", "indexes")
    assert status == 0
    yield made
    made.close()


@pytest.fixture
def register(
    mongo_admin: pymongo.MongoClient[dict[str, Any]], database_names: DatabaseNames
) -> Database[dict[str, Any]]:
    return mongo_admin[database_names.register]


#: A file's time, in seconds: records of files of one moment are none the newer.
YESTERDAY = 1_700_000_000


def a_file(folder: Path, text: str | bytes, name: str = "no-enheter.json") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def child_processes(parent: int) -> list[int]:
    """They end with their parent, even if it is killed."""
    return [
        int(child)
        for task in Path(f"/proc/{parent}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def runs(process: int) -> bool:
    """A process that has ended has no command line, even before its exit status is read."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except FileNotFoundError:
        return False


def entities(count: int) -> list[Any]:
    return list(companies_no(count))


def test_a_real_company_replaces_the_sample_of_its_number_however_old_it_is(
    system: System, register: Database[dict[str, Any]], tmp_path: Path
) -> None:
    samples = write_registers(tmp_path / "registers", 20)["dk-virksomhed"]
    _, *others = companies_dk(20)
    document = {**others[-1]["Vrvirksomhed"], "cvrNummer": 12345674}
    document["sidstOpdateret"] = "2004-02-29T09:00:00.000+01:00"
    lines = "\n".join(json.dumps(each) for each in [{"Vrvirksomhed": document}, *others])
    real = a_file(tmp_path, lines, "dk-virksomhed.jsonl")

    run_here(system, "lookup", "import", "dk-virksomhed", str(samples))
    sample = register["companies"].find_one({"_id": "dk:12345674"})
    _, _, said = run_here(system, "lookup", "import", "dk-virksomhed", str(real))
    stored = register["companies"].find_one({"_id": "dk:12345674"})

    assert "1 changed" in said
    assert sample is not None
    assert stored is not None
    assert json.loads(sample["core"])["name"] == "Prøvefabrikken ApS"
    assert json.loads(stored["core"])["name"] == document["navne"][-1]["navn"]


def test_every_kind_of_sample_loads_and_loading_it_again_changes_nothing(
    system: System, register: Database[dict[str, Any]], tmp_path: Path
) -> None:
    files = write_registers(tmp_path / "registers", 120)

    first = {
        kind: run_here(system, "lookup", "import", str(kind), str(files[kind])) for kind in files
    }
    before = list(register["companies"].find(sort=[("_id", 1)]))
    second = {
        kind: run_here(system, "lookup", "import", str(kind), str(files[kind])) for kind in files
    }

    assert {status for status, _, _ in (*first.values(), *second.values())} == {0}
    assert all(" 0 new, 0 changed" in said for _, _, said in second.values())
    assert list(register["companies"].find(sort=[("_id", 1)])) == before


def test_broken_records_are_named_with_their_place_and_the_rest_is_loaded(
    system: System, register: Database[dict[str, Any]], tmp_path: Path
) -> None:
    good, other = entities(2)
    nameless = {"navn": "UTEN NUMMER AS"}
    text = f"[{json.dumps(good)},\n{{broken}},\n{json.dumps(nameless)},\n{json.dumps(other)}]"

    status, _, said = run_here(
        system, "lookup", "import", "no-enheter", str(a_file(tmp_path, text))
    )

    assert status == 1
    assert "4 read, 2 new" in said
    assert "2 refused" in said
    assert "record 2 at byte" in said
    assert "organisasjonsnummer" in said
    assert register["companies"].count_documents({}) == 2


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_truncated_file_loads_whole_records_and_reports_the_break(
    system: System, register: Database[dict[str, Any]], tmp_path: Path, cut: float
) -> None:
    packed = gzip.compress(json.dumps(entities(1000)).encode())
    file = a_file(tmp_path, packed[: int(len(packed) * cut)], "no-enheter.json.gz")

    status, _, said = run_here(system, "lookup", "import", "no-enheter", str(file))

    loaded = register["companies"].count_documents({})
    assert status == 3
    assert "TRUNCATED" in said
    assert 0 < loaded < 1000
    assert register["loads"].find_one({"_id": "no-enheter"})["state"] == "loading"  # type: ignore[index]


def test_publishing_by_an_import_can_be_switched_on_and_off(
    system: System, register: Database[dict[str, Any]], tmp_path: Path
) -> None:
    file = a_file(tmp_path, json.dumps(entities(3)))
    renamed = [{**entity, "navn": f"{entity['navn']} II"} for entity in entities(3)]

    published = run_here(system, "lookup", "import", "--publish", "no-enheter", str(file))
    told = [event["type"] for event in register["outbox"].find()]
    later = a_file(tmp_path, json.dumps(renamed), "later.json")
    muted = run_here(system, "lookup", "import", "--mute", "no-enheter", str(later))
    both = run_here(system, "lookup", "import", "--mute", "--publish", "no-enheter", str(later))

    assert (published[0], muted[0], both[0]) == (0, 0, 2)
    assert told == ["company.created"] * 3, "though it was the first load"
    assert "3 changed" in muted[2]
    assert register["outbox"].count_documents({}) == 3


@pytest.mark.parametrize("name, fault", [("missing.json", ""), ("", ": Is a directory")])
def test_a_path_without_a_file_is_wrong_use(
    system: System, tmp_path: Path, name: str, fault: str
) -> None:
    path = tmp_path / name

    status, _, said = run_here(system, "lookup", "import", "no-enheter", str(path))

    assert status == 2
    assert f"{path}{fault}" in said
    assert said.count("\n") == 1


def test_a_file_of_another_kind_leaves_its_kind_unloaded(
    system: System, register: Database[dict[str, Any]], tmp_path: Path
) -> None:
    file = a_file(tmp_path, json.dumps(entities(3)))

    status, _, said = run_here(system, "lookup", "import", "no-underenheter", str(file))

    assert status == 2
    assert said.startswith("no-enheter.json: not a file of no-underenheter: of its first 3")
    assert said.endswith("; try no-enheter\n")
    assert said.count("\n") == 1
    assert register["loads"].count_documents({}) == 0


@pytest.mark.parametrize(
    "content,what",
    [
        (b"<!DOCTYPE html><html></html>", "it begins like an HTML page"),
        (b"%PDF-1.7 ...", "it begins like a PDF"),
        (b"navn;by\nA;B\n", "neither JSON nor a table of this register"),
        (b"", "neither JSON nor a table of this register"),
    ],
)
def test_a_file_that_is_none_of_a_register_is_refused_in_one_line(
    system: System, tmp_path: Path, content: bytes, what: str
) -> None:
    status, _, said = run_here(
        system, "lookup", "import", "no-enheter", str(a_file(tmp_path, content))
    )

    assert status == 2
    assert what in said
    assert said.count("\n") == 1


def test_a_file_of_under_half_of_the_last_one_is_refused_unless_it_is_forced(
    system: System, register: Database[dict[str, Any]], tmp_path: Path
) -> None:
    whole = a_file(tmp_path, json.dumps(entities(10)))
    os.utime(whole, (YESTERDAY, YESTERDAY))
    renamed = [{**entity, "navn": "NYTT NAVN AS"} for entity in entities(4)]
    small = str(a_file(tmp_path, json.dumps(renamed), "small.json"))
    empty = str(a_file(tmp_path, "[]", "empty.json"))
    half = str(a_file(tmp_path, json.dumps(entities(5)), "half.json"))

    first = run_here(system, "lookup", "import", "no-enheter", empty)
    never_loaded = register["loads"].count_documents({})
    run_here(system, "lookup", "import", "no-enheter", str(whole))
    refused = [run_here(system, "lookup", "import", "no-enheter", file) for file in (small, empty)]
    before = register["loads"].find_one()
    untouched = register["companies"].count_documents({"revision": 1})
    forced = run_here(system, "lookup", "import", "--force", "no-enheter", small)
    again = run_here(system, "lookup", "import", "no-enheter", small)
    taken = run_here(system, "lookup", "import", "no-enheter", half)

    assert again[0] == 3, "a forced file is not what later ones are compared with"
    assert (first[0], never_loaded) == (3, 0)
    assert [status for status, _, _ in refused] == [3, 3]
    assert "4 records; the last whole file had 10" in refused[0][2]
    assert (before or {})["counts"]["read"] == 10
    assert untouched == 10
    assert (forced[0], taken[0]) == (0, 0)
    assert "4 changed" in forced[2]


def test_refused_and_stale_records_are_named_the_first_of_them_or_all(
    system: System, tmp_path: Path
) -> None:
    file = str(a_file(tmp_path, json.dumps(entities(30))))
    older = [{**entity, "navn": "GAMMELT NAVN AS"} for entity in entities(30)]
    broken = [{**entity, "navn": None} for entity in entities(25)]
    second = str(a_file(tmp_path, json.dumps(older + broken), "older.json"))
    options = ("--last-modified", "2001-01-01T00:00:00Z", "no-enheter", second)

    run_here(system, "lookup", "import", "no-enheter", file)
    _, _, short = run_here(system, "lookup", "import", *options)
    status, _, long = run_here(system, "lookup", "import", "--verbose", *options)

    number = entities(1)[0]["organisasjonsnummer"]
    assert status == 1
    assert f"older.json: no:{number}: stale, a newer version is stored" in short
    assert (short.count(": stale, "), short.count("older.json: record ")) == (20, 20)
    assert (long.count(": stale, "), long.count("older.json: record ")) == (30, 25)
    assert "--verbose lists all" in short
    assert "--verbose lists all" not in long


@pytest.mark.parametrize(
    "country, number", [("dk", "NO12345674"), ("dk", "310345679"), ("no", "12345674")]
)
def test_an_invalid_registration_number_is_not_reported_as_removed(
    system: System, register: Database[dict[str, Any]], country: str, number: str
) -> None:
    status, _, said = run_here(system, "lookup", "remove", country, number)

    assert status == 2
    assert number in said
    assert register["tombstones"].count_documents({}) == 0


def test_an_import_without_a_database_ends_with_a_message(system: System, tmp_path: Path) -> None:
    file = a_file(tmp_path, json.dumps(entities(1)))
    away = System(tmp_path, system.amqp_url, NOWHERE, system.environment)

    status, _, said = run_here(away, "lookup", "import", "no-enheter", str(file))

    assert status == 4
    assert "the database cannot be reached" in said


async def test_an_import_that_is_killed_and_started_again_loses_and_doubles_nothing(
    system: System, register: Database[dict[str, Any]], tmp_path: Path
) -> None:
    count = 6000
    file = a_file(tmp_path, json.dumps(entities(count)))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "lookup", "import", "no-enheter", str(file)),
        env=system.full_environment(),
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(60):
        while await asyncio.to_thread(register["companies"].count_documents, {}) == 0:
            pass
        readers = child_processes(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        while any(map(runs, readers)):
            await asyncio.to_thread(register.command, "ping")
    written = register["companies"].count_documents({})

    status, _, said = await asyncio.to_thread(
        run_here, system, "lookup", "import", "no-enheter", str(file)
    )

    assert readers
    assert 0 < written < count
    assert written % 500 == 0  # whole lists, or nothing of them
    assert status == 0
    assert f"{count - written:,} new" in said
    assert f"{written:,} unchanged" in said
    assert register["companies"].count_documents({"revision": 1}) == count
