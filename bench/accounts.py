"""Annual accounts: what a Danish filing costs and takes, and a lookup that includes accounts."""

from collections.abc import Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any

from pymongo import MongoClient

from bench.figures import Figure, at_most, in_turns, ratio
from bench.load import Load, load
from bench.processes import Used, run_measured
from bench.scale import Scale
from bench.setup import empty_system, pids_of
from local_stack.system import System
from register_samples import companies_no, write_registers

#: Filings of a year in Denmark, and the hours of a core in which they are to be read.
_YEAR, _HOURS = 350_000, 2
_SOURCES = ("no-enheter", "no-regnskap", "dk-virksomhed", "dk-regnskab")
_INCLUDE = "&include=annual_accounts"


def measure(scale: Scale) -> Iterator[Figure]:
    with empty_system() as system:
        files = write_registers(system.folder / "registers", scale.accounts)
        documents = files["dk-regnskab"].parent / "documents"
        filings = sum(1 for _ in files["dk-regnskab"].open("rb"))
        environment, used = system.full_environment(), Used(pids_of(system))
        for source in _SOURCES:
            options = ("--documents", str(documents)) if source == "dk-regnskab" else ()
            before = used.seconds()["MongoDB"]
            command = ("ingest", "import", source, str(files[source]), *options)
            _, usage = run_measured(*command, environment=environment)
        processor = usage.processor_seconds + used.seconds()["MongoDB"] - before
        yield at_most(
            f"processor time of a filing, MongoDB included, of {filings:,}",
            processor / filings * 1000,
            "ms",
            round(_HOURS * 3600 / _YEAR * 1000, 1),
        )
        yield Figure("import of filings, peak memory", usage.megabytes, "MB")
        yield _stored(system)
        yield from _lookups(system, scale)


def _stored(system: System) -> Figure:
    with MongoClient[dict[str, Any]](system.mongo_url) as client:
        client.admin.command("fsync")  # what is only in memory has no size yet
        stats = client["register"].command("collStats", "accounts")
    size = (stats["storageSize"] + stats["totalIndexSize"]) / stats["count"]
    return at_most(f"stored for each of {stats['count']:,} accounts", size, "bytes", 500)


def _lookups(system: System, scale: Scale) -> Iterator[Figure]:
    """Yields the figures of Norwegian companies, of which most have accounts, in turns."""
    key = system.issue_key("bench")
    for module in ("lookup", "gateway"):
        system.start(module).wait_until_ready()
    numbers = [one["organisasjonsnummer"] for one in companies_no(scale.accounts)]
    paths = [f"/api/vat?country=no&q={number}" for number in numbers]

    def loaded(include: str) -> tuple[Load, Mapping[str, float]]:
        used = Used(pids_of(system))
        asked = [f"{path}{include}" for path in paths]
        found = load(system.base_url, asked, key=key, connections=1, seconds=scale.load_seconds)
        return found, used.seconds()

    loaded("")  # what was just started is slower for a moment
    found = in_turns(scale.rounds, {name: partial(loaded, name) for name in ("", _INCLUDE)})
    plain, included = ([each.p50_ms for each, _ in found[name]] for name in ("", _INCLUDE))
    yield Figure("lookup at 1 connection, p50", median(plain), "ms")
    yield at_most("lookup with accounts, p50 over without", ratio(included, plain), "×", 1.3)
    costs = (
        [sum(used.values()) / (each.rate or 1) for each, used in found[name]]
        for name in (_INCLUDE, "")
    )
    yield Figure("lookup with accounts, processor time over without", ratio(*costs), "×")
