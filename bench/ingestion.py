"""Imports of a register's file, and `python -m ingest sync` of one served over HTTP."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from yarl import URL

from bench.figures import Figure, at_least, at_most
from bench.processes import Usage, run_measured
from bench.scale import Scale
from bench.setup import empty_system, entities_file, import_entities
from local_stack.system import System
from register_samples import companies_no
from register_samples.files import write_gzipped_array
from register_samples.server import Registers, serving
from register_samples.server.serving import listening


def measure_imports(scale: Scale) -> list[Figure]:
    """Returns the figures of a file on an empty register, and when nothing has changed."""
    with empty_system() as system:
        file = entities_file(system, scale.companies)
        first, second = import_entities(system, file), import_entities(system, file)
    new, unchanged = [scale.companies / usage.seconds for usage in (first, second)]
    peak = max(first.megabytes, second.megabytes)
    return [
        at_least("import on an empty register", new, "entities/s", 10_000),
        at_least("import of unchanged entities", unchanged, "entities/s", 25_000),
        at_most("import, peak memory of a process", peak, "MB", 500),
    ]


def measure_feeds(scale: Scale) -> list[Figure]:
    with empty_system() as system:
        figures = asyncio.run(_entries(system, scale.feed_entries))
    with empty_system() as system:
        figures += asyncio.run(_whole_file(system, scale.file_entities))
    return figures


@dataclass(frozen=True, slots=True)
class Pass:
    """The report of one pass over a source, and the resources of its processes."""

    report: Mapping[str, Any]
    usage: Usage

    @property
    def seconds(self) -> float:
        """The seconds of the pass, without the start of Python."""
        milliseconds: float = self.report["duration_ms"]
        return milliseconds / 1000


async def _sync(system: System, brreg: URL, **settings: str) -> Pass:
    environment = {**system.full_environment(), "BRREG_URL": str(brreg), **settings}
    run = partial(run_measured, "ingest", "sync", "no-enheter", environment=environment)
    lines, usage = await asyncio.to_thread(run)
    [report] = [line for line in map(orjson.loads, lines) if line["event"] == "sync.pass"]
    assert report["outcome"] == "done", report
    return Pass(report, usage)


async def _entries(system: System, entries: int) -> list[Figure]:
    """Returns the figures of entries that each name another company, from fetch to event."""
    registers = Registers(companies=int(entries * 1.2))  # some companies have ended
    async with serving(registers) as served:
        await _sync(system, served.brreg)
        active = [entity["organisasjonsnummer"] for entity in registers.no.entities.standing()]
        for number in islice(active, entries):
            registers.no.entities.change(number, {"epostadresse": f"post@{number}.example"})
        second = await _sync(system, served.brreg)
    assert second.report["results"].get("changed") == entries, second.report
    processor_ms = second.usage.processor_seconds / entries * 1000
    name = "feed entries to the outbox"
    return [
        at_least(name, entries / second.seconds, "/s", 2_000),
        Figure(f"{name}, processor time of the sync each", processor_ms, "ms"),
        Figure("following a feed, peak memory", second.usage.megabytes, "MB"),
    ]


async def _whole_file(system: System, entities: int) -> list[Figure]:
    """Returns the figures of the whole file: into an empty register, and when due again."""
    file = system.folder / "enheter.json.gz"
    active = (one for one in companies_no(entities) if "slettedato" not in one)
    with file.open("wb") as opened:
        write_gzipped_array(opened, active)
    async with _serving_file(file) as brreg:
        first = await _sync(system, brreg)
        again = await _sync(system, brreg, BRREG_RECONCILE_INTERVAL="PT0.001S")
    assert (again.report["reconciled"], again.report["differences"]) == (True, 0), again.report
    size = f"{first.report['results']['new']:,} entities"
    name = f"comparison with the whole file, {size}"
    return [
        Figure(f"first load of {size} over HTTP", first.seconds, "s"),
        Figure(f"{name}, nothing new", again.seconds, "s"),
        at_most(f"{name}, peak memory", again.usage.megabytes, "MB", 500),
    ]


@asynccontextmanager
async def _serving_file(file: Path) -> AsyncIterator[URL]:
    """Serves the file, newer at each request, and an empty feed."""

    async def whole(_request: web.Request) -> web.FileResponse:
        os.utime(file)
        return web.FileResponse(file)

    async def feed(_request: web.Request) -> web.Response:
        return web.json_response({"page": {"totalElements": 0}})

    app = web.Application()
    app.router.add_get("/enheter/lastned", whole)
    app.router.add_get("/oppdateringer/enheter", feed)
    async with listening(app) as url:
        yield url
