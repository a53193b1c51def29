"""`python -m ingest import`: output and exit status; a kill at any moment does no harm."""

import asyncio
import gzip
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pymongo
import pytest
from pymongo.database import Database

from local_stack.registers import import_options
from local_stack.system import System
from register_samples import companies_dk, companies_no, write_registers
from tests.commanding import run_here
from tests.conftest import DatabaseNames

pytestmark = pytest.mark.e2e

NOWHERE = "mongodb://127.0.0.1:1/?directConnection=true"


#: A file's time, in seconds: records of files of one moment are none the newer.
YESTERDAY = 1_700_000_000


class Outcome(NamedTuple):
    status: int
    output: str
    said: str


@dataclass(frozen=True)
class Importer:
    """The importer's commands, and the register that they fill."""

    system: System
    register: Database[dict[str, Any]]
    folder: Path

    def run(self, *arguments: str) -> Outcome:
        return Outcome(*run_here(self.system, "ingest", *arguments))

    def load(self, file: Path, *options: str, kind: str = "no-enheter") -> Outcome:
        return self.run("import", *options, *import_options(kind, file), kind, str(file))

    def file(
        self,
        content: bytes | str | list[Any],
        name: str = "no-enheter.json",
        *,
        modified: int | None = None,
    ) -> Path:
        """A file of this content, or of these records."""
        path = self.folder / name
        text = json.dumps(content) if isinstance(content, list) else content
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if modified is not None:
            os.utime(path, (modified, modified))
        return path

    def count(self, collection: str, **condition: Any) -> int:
        return self.register[collection].count_documents(condition)


@pytest.fixture
def importer(
    mongo_admin: pymongo.MongoClient[dict[str, Any]],
    mongo_url: str,
    database_names: DatabaseNames,
    tmp_path: Path,
) -> Iterator[Importer]:
    """No service runs."""
    system = System(tmp_path, "amqp://127.0.0.1:1", mongo_url, database_names.environment)
    importer = Importer(system, mongo_admin[database_names.register], tmp_path)
    assert importer.run("indexes").status == 0
    yield importer
    system.close()


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
    importer: Importer, tmp_path: Path
) -> None:
    samples = write_registers(tmp_path / "registers", 20)["dk-virksomhed"]
    _, *others = companies_dk(20)
    document = {**others[-1]["Vrvirksomhed"], "cvrNummer": 12345674}
    document["sidstOpdateret"] = "2004-02-29T09:00:00.000+01:00"
    lines = "\n".join(json.dumps(each) for each in [{"Vrvirksomhed": document}, *others])
    real = importer.file(lines, "dk-virksomhed.jsonl")

    def name() -> str:
        stored = importer.register["companies"].find_one({"_id": "dk:12345674"})
        return str(json.loads((stored or {})["core"])["name"])

    importer.load(samples, kind="dk-virksomhed")
    sample = name()
    outcome = importer.load(real, kind="dk-virksomhed")

    assert "1 changed" in outcome.said
    assert sample == "Prøvefabrikken ApS"
    assert name() == document["navne"][-1]["navn"]


def test_every_kind_of_sample_loads_and_loading_it_again_changes_nothing(
    importer: Importer, tmp_path: Path
) -> None:
    files = write_registers(tmp_path / "registers", 120)
    companies = importer.register["companies"]

    first = [importer.load(file, kind=str(kind)) for kind, file in files.items()]
    before = list(companies.find(sort=[("_id", 1)]))
    second = [importer.load(file, kind=str(kind)) for kind, file in files.items()]

    assert {outcome.status for outcome in (*first, *second)} == {0}
    assert all(" 0 new, 0 changed" in outcome.said for outcome in second)
    assert list(companies.find(sort=[("_id", 1)])) == before


def test_refused_records_are_named_with_their_place_and_the_rest_is_loaded(
    importer: Importer,
) -> None:
    good, other = entities(2)
    nameless = {"navn": "UTEN NUMMER AS"}
    text = f"[{json.dumps(good)},\nnull,\n{json.dumps(nameless)},\n{json.dumps(other)}]"

    outcome = importer.load(importer.file(text))

    assert outcome.status == 1
    for words in ("4 read, 2 new", "2 refused", "record 2 at byte", "organisasjonsnummer"):
        assert words in outcome.said
    assert importer.count("companies") == 2


def test_a_truncated_file_loads_whole_records_and_reports_the_break(importer: Importer) -> None:
    packed = gzip.compress(json.dumps(entities(1000)).encode())

    outcome = importer.load(importer.file(packed[: len(packed) * 3 // 4], "no-enheter.json.gz"))

    assert outcome.status == 3
    assert "TRUNCATED" in outcome.said
    assert 0 < importer.count("companies") < 1000
    assert importer.count("loads", _id="no-enheter", state="loading") == 1


def test_publishing_by_an_import_can_be_switched_on_and_off(importer: Importer) -> None:
    renamed = [{**entity, "navn": f"{entity['navn']} II"} for entity in entities(3)]
    file = importer.file(entities(3), modified=YESTERDAY)
    later = importer.file(renamed, "later.json")

    published = importer.load(file, "--publish")
    told = [event["type"] for event in importer.register["outbox"].find()]
    muted = importer.load(later, "--mute")
    both = importer.load(later, "--mute", "--publish")

    assert (published.status, muted.status, both.status) == (0, 0, 2)
    assert told == ["company.created"] * 3, "though it was the first load"
    assert "3 changed" in muted.said
    assert importer.count("outbox") == 3


@pytest.mark.parametrize("name, fault", [("missing.json", ""), ("", ": Is a directory")])
def test_a_path_without_a_file_is_wrong_use(
    importer: Importer, tmp_path: Path, name: str, fault: str
) -> None:
    path = tmp_path / name

    outcome = importer.load(path)

    assert outcome.status == 2
    assert f"{path}{fault}" in outcome.said
    assert outcome.said.count("\n") == 1


def test_a_file_of_another_kind_leaves_its_kind_unloaded(importer: Importer) -> None:
    outcome = importer.load(importer.file(entities(3)), kind="no-underenheter")

    assert outcome.status == 2
    assert outcome.said.startswith("no-enheter.json: not a file of no-underenheter: of its first 3")
    assert outcome.said.endswith("; try no-enheter\n")
    assert outcome.said.count("\n") == 1
    assert importer.count("loads") == 0


@pytest.mark.parametrize(
    "content,what",
    [
        (b"<!DOCTYPE html><html></html>", "it begins like an HTML page"),
        (b"%PDF-1.7 ...", "it begins like a PDF"),
        (b"navn;by\nA;B\n", "neither JSON nor a table of this register"),
        (b"", "neither JSON nor a table of this register"),
    ],
)
def test_a_file_of_no_register_is_refused_in_one_line(
    importer: Importer, content: bytes, what: str
) -> None:
    outcome = importer.load(importer.file(content))

    assert outcome.status == 2
    assert what in outcome.said
    assert outcome.said.count("\n") == 1


def test_a_file_of_under_half_of_the_last_one_is_refused_unless_it_is_forced(
    importer: Importer,
) -> None:
    renamed = [{**entity, "navn": "NYTT NAVN AS"} for entity in entities(4)]
    small, empty = importer.file(renamed, "small.json"), importer.file([], "empty.json")

    first = importer.load(empty)
    importer.load(importer.file(entities(10), modified=YESTERDAY))
    refused = [importer.load(file) for file in (small, empty)]
    untouched = importer.count("companies", revision=1)
    forced = importer.load(small, "--force")

    assert [outcome.status for outcome in (first, *refused)] == [3, 3, 3]
    assert "4 records; the last whole file had 10" in refused[0].said
    assert untouched == 10
    assert (forced.status, "4 changed" in forced.said) == (0, True)


def test_refused_and_stale_records_are_named_the_first_of_them_or_all(importer: Importer) -> None:
    older = [{**entity, "navn": "GAMMELT NAVN AS"} for entity in entities(30)]
    broken = [{**entity, "navn": None} for entity in entities(25)]
    second = importer.file(older + broken, "older.json")
    dated = ("--last-modified", "2001-01-01T00:00:00Z")

    importer.load(importer.file(entities(30)))
    short = importer.load(second, *dated).said
    status, _, long = importer.load(second, "--verbose", *dated)

    number = entities(1)[0]["organisasjonsnummer"]
    assert status == 1
    assert f"older.json: no:{number}: stale, the stored version is not older" in short
    assert (short.count(": stale, "), short.count("older.json: record ")) == (20, 20)
    assert (long.count(": stale, "), long.count("older.json: record ")) == (30, 25)
    assert "--verbose lists all" in short
    assert "--verbose lists all" not in long


@pytest.mark.parametrize(
    "country, number", [("dk", "NO12345674"), ("dk", "310345679"), ("no", "12345674")]
)
def test_an_invalid_registration_number_is_not_reported_as_removed(
    importer: Importer, country: str, number: str
) -> None:
    outcome = importer.run("remove", country, number)

    assert outcome.status == 2
    assert number in outcome.said
    assert importer.count("tombstones") == 0


@pytest.mark.usefixtures("services_selection_timeout")
def test_an_import_without_a_database_ends_with_a_message(
    importer: Importer, tmp_path: Path
) -> None:
    system = importer.system
    away = System(tmp_path, system.amqp_url, NOWHERE, system.environment)

    outcome = replace(importer, system=away).load(importer.file(entities(1)))

    assert outcome.status == 4
    assert "the database cannot be reached" in outcome.said


async def test_an_import_that_is_killed_and_started_again_loses_and_doubles_nothing(
    importer: Importer,
) -> None:
    count = 3000
    file = importer.file(entities(count))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "ingest", "import", "no-enheter", str(file)),
        env=importer.system.full_environment(),
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(60):
        while await asyncio.to_thread(importer.count, "companies") == 0:
            pass
        readers = child_processes(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        while any(map(runs, readers)):
            await asyncio.to_thread(importer.register.command, "ping")
    written = importer.count("companies")

    status, _, said = await asyncio.to_thread(importer.load, file)

    assert readers
    assert 0 < written < count
    assert written % 500 == 0  # whole lists, or nothing of them
    assert status == 0
    assert f"{count - written:,} new" in said
    assert f"{written:,} unchanged" in said
    assert importer.count("companies", revision=1) == count
