"""Groups of Norwegian companies: their first load, their refresh, and the group of a company."""

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web
from pymongo import MongoClient
from yarl import URL

from bench.figures import Figure, at_most
from bench.processes import Used, run_measured
from bench.scale import Scale
from bench.setup import LoadedSystem, empty_system, import_entities, pids_of
from local_stack.system import System
from register_samples import companies_no
from register_samples.files import write_gzipped_array
from register_samples.groups import groups_of
from register_samples.server.serving import listening
from register_samples.showcase import SIZE
from register_store.documents import BEGINNING, GROUPS

#: Members of each next group: seven and a half on average, as the register's flags and groups say.
_SIZES = (2, 2, 3, 2, 4, 2, 30, 3, 5, 2, 8, 4, 2, 21, 3, 2, 12, 2, 4, 36)
#: The largest group that is known.
_LARGEST = 250
#: Seconds without a pass, for what the database does by itself.
_IDLE = 10
#: Requests in a second, the most that the setting allows.
_RATE = 50


def measure(scale: Scale) -> Iterator[Figure]:
    """Yields the database's work for a thousand groups, and the latency of the largest one."""
    with empty_system() as system:
        file = system.folder / "no-enheter.json.gz"
        members = _write_members(file, scale.grouped)
        import_entities(system, file)
        yield from asyncio.run(_passes(system, file))
        key = system.issue_key("bench")
        for module in ("lookup", "gateway"):
            system.start(module).wait_until_ready()
        # Of its top company: the answer has all of them.
        paths = [f"/api/companies/no/{members[0]}/group?levels=10"]
        numbers = [f"/api/vat?country=no&q={number}" for number in members]
        loaded = LoadedSystem(system, key, numbers)
        yield from _largest(loaded, paths, scale.load_seconds)


def _write_members(file: Path, companies: int) -> Sequence[str]:
    """Writes companies that are all in a group; returns the numbers of the largest one's."""
    drawn = companies_no(companies * 2, start=SIZE)
    active = (one for one in drawn if "slettedato" not in one)
    found = [one | {"erIKonsern": True} for one in islice(active, companies)]
    with file.open("wb") as opened:
        write_gzipped_array(opened, found)
    return [one["organisasjonsnummer"] for one in found[:_LARGEST]]


def _answers(entities: Sequence[dict[str, Any]]) -> dict[str, bytes]:
    """Returns the answer for each company: the largest group, then those of usual sizes."""
    answers = dict[str, bytes]()
    left = iter(entities)
    for size in chain([_LARGEST], cycle(_SIZES)):
        members = list(islice(left, size))
        if len(members) < 2:
            return answers
        numbers = [one["organisasjonsnummer"] for one in members]
        answer = groups_of(members, sizes=(size,)).answer(numbers[0])
        answers |= dict.fromkeys(numbers, orjson.dumps(answer))
    return answers


async def _passes(system: System, file: Path) -> list[Figure]:
    """Returns the database's work in a first load, and in a refresh without a change."""
    with gzip.open(file) as opened:
        answers = _answers(orjson.loads(opened.read()))
    groups = len(set(answers.values()))
    async with _serving(answers) as brreg:
        first = await _work(system, brreg)
        with MongoClient[dict[str, Any]](system.mongo_url) as client:
            register = client[system.full_environment().get("REGISTER_DB", "register")]
            assert register[GROUPS].count_documents({}) == groups
            register[GROUPS].update_many({}, {"$set": {"asked_at": BEGINNING}})
        again = await _work(system, brreg)
    thousand = groups / 1_000
    name = f"database for 1,000 groups, of {groups:,} with {len(answers):,} companies"
    return [
        at_most(f"{name}, first load", first / thousand, "s of a core", 1),
        at_most(f"{name}, refresh without a change", again / thousand, "s of a core", 1),
    ]


async def _work(system: System, brreg: URL) -> float:
    """Returns the database's processor seconds of a pass, beyond those without one."""
    environment = system.full_environment() | {
        "BRREG_URL": str(brreg),
        "GROUP_REQUESTS_PER_SECOND": str(_RATE),
    }
    mongodb = {"MongoDB": pids_of(system)["MongoDB"]}
    idle = Used(mongodb)
    await asyncio.sleep(_IDLE)
    of_a_second = idle.cores()["MongoDB"]
    used, begun = Used(mongodb), time.monotonic()
    run = partial(run_measured, "ingest", "sync", "no-konsern", environment=environment)
    lines, _usage = await asyncio.to_thread(run)
    [report] = [line for line in map(orjson.loads, lines) if line["event"] == "sync.pass"]
    assert report["outcome"] == "done", report
    return used.seconds()["MongoDB"] - of_a_second * (time.monotonic() - begun)


@asynccontextmanager
async def _serving(answers: dict[str, bytes]) -> AsyncIterator[URL]:
    async def group(request: web.Request) -> web.Response:
        body = answers.get(request.match_info["number"])
        if body is None:
            return web.Response(status=404)
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/konsernstruktur/{number}", group)
    async with listening(app) as url:
        yield url


def _largest(loaded: LoadedSystem, paths: Sequence[str], seconds: int) -> Iterator[Figure]:
    """Yields the latency of a group of 250 companies next to a lookup's."""
    loaded.load(paths, connections=1, seconds=2)
    used = Used(pids_of(loaded.system))
    group = loaded.load(paths, connections=1, seconds=seconds)
    costs = used.seconds()
    lookup = loaded.load(connections=1, seconds=seconds)
    assert group.errors == lookup.errors == 0
    yield at_most(f"group of {_LARGEST} companies, p50", group.p50_ms, "ms", 15)
    yield Figure(f"group of {_LARGEST} companies, p99", group.p99_ms, "ms")
    for name in ("lookup", "gateway", "MongoDB"):
        each = costs[name] / (group.rate * seconds) * 1_000
        yield Figure(f"group of {_LARGEST} companies, processor time of {name}", each, "ms")
    yield Figure("lookup by number beside it, p50", lookup.p50_ms, "ms")
