"""Comparison of all stored records with an unchanged whole file."""

import gzip
import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
from aiohttp import web
from yarl import URL

from bench.feeds.syncing import norwegian_pass
from bench.figures import Figure, at_most
from local_stack.system import System
from register_samples import companies_no

_SEED = 1
_GOAL_MB = 500


async def measure(system: System, folder: Path, *, entities: int) -> list[Figure]:
    """The whole file twice: on an empty register, and when it is due again."""
    file = folder / "enheter.json.gz"
    written = _write(file, entities)
    async with _serving(file) as brreg:
        first = await norwegian_pass(system, brreg)
        again = await norwegian_pass(system, brreg, brreg_reconcile_interval="PT0.001S")
    file.unlink()
    assert (again.line["reconciled"], again.line["differences"]) == (True, 0), again.line
    size = f"{written:,} entities"
    return [
        Figure(f"first load of {size} over HTTP", first.seconds, "s"),
        Figure(f"comparison with the whole file, {size}, nothing new", again.seconds, "s"),
        at_most(
            f"comparison with the whole file, {size}, peak memory",
            again.peak_megabytes,
            "MB",
            _GOAL_MB,
        ),
    ]


def _write(file: Path, entities: int) -> int:
    """Writes the entities that have not ended, as the register's own file has them; how many."""
    standing = (one for one in companies_no(entities, _SEED) if "slettedato" not in one)
    count = 0
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for start in itertools.chain((b"[\n",), itertools.repeat(b",\n")):
            document = next(standing, None)
            if document is None:
                break
            packed.write(start + orjson.dumps(document))
            count += 1
        packed.write(b"\n]\n")
    return count


@asynccontextmanager
async def _serving(file: Path) -> AsyncIterator[URL]:
    """The file, newer at each request, and an empty feed."""

    async def whole(_request: web.Request) -> web.FileResponse:
        os.utime(file)
        return web.FileResponse(file)

    async def feed(_request: web.Request) -> web.Response:
        return web.json_response({"page": {"totalElements": 0}})

    app = web.Application()
    app.router.add_get("/enheter/lastned", whole)
    app.router.add_get("/oppdateringer/enheter", feed)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield URL.build(scheme="http", host="127.0.0.1", port=runner.addresses[0][1])
    finally:
        await runner.cleanup()
