"""`python -m lookup sync <source>`: bring registers up to date, once or for as long as it runs."""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Final
from uuid import uuid4

from common.mongo import ping
from common.runtime import logs
from common.runtime.backoff import delays
from common.runtime.health import Health
from common.runtime.service import run
from common.runtime.settings import load
from common.runtime.tasks import beside
from lookup.ingest.passes import Outcome, follow
from lookup.ingest.register_source import RegisterSource
from lookup.registers import table
from lookup.settings import SyncSettings
from lookup.sync_app import connect

ALL = "all"

#: The chosen sources of each register.
Lanes = Sequence[Sequence[RegisterSource]]

#: How `sync` ends, the worse the higher: the order in which one of several outcomes is told.
MISUSED: Final = 2
STATUS: Final = {
    Outcome.DONE: 0,
    Outcome.REFUSED: 1,
    Outcome.REGISTER_FAULT: 3,
    Outcome.REGISTER_AWAY: 3,
    Outcome.DATABASE_AWAY: 4,
    Outcome.BUSY: 5,
    Outcome.SUPERSEDED: 5,
    Outcome.CRASHED: 6,
}

#: Seconds before another round, after one with failures.
_FIRST_DELAY, _MOST_DELAY = 5.0, 300.0


def add_sync(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command's arguments to those of `python -m lookup`."""
    parser = commands.add_parser(
        "sync",
        help="bring registers up to date over their own interfaces",
        description="Exit status: 0 up to date, 1 records were refused, 2 wrong use, 3 a register "
        "could not be read, 4 the database is away, 5 another process follows the source, 6 a pass "
        "ended with an error of ours.",
    )
    names = [*table.sources(), ALL]
    parser.add_argument("source", nargs="+", choices=names, metavar="source", help=", ".join(names))
    parser.add_argument(
        "--follow", action="store_true", help="stay, and make a pass every SYNC_INTERVAL"
    )


def run_sync(chosen: argparse.Namespace) -> int:
    """Runs the command; gives its exit status."""
    settings = load(SyncSettings)
    lanes = _lanes(chosen.source)
    for missing in {source.missing for lane in lanes for source in lane}:
        if fault := missing(settings):
            sys.stderr.write(f"{fault}\n")
            return MISUSED
    if chosen.follow:
        run("lookup-sync", settings, partial(_follow, lanes))
        return 0
    logs.configure(settings.log_level, service="lookup-sync")
    return asyncio.run(_once(lanes, settings))


def _lanes(names: Sequence[str]) -> Lanes:
    """The chosen sources, by register and in order."""
    lanes = ([one for one in lane if one.name in names or ALL in names] for lane in table.REGISTERS)
    return [lane for lane in lanes if lane]


async def _once(lanes: Lanes, settings: SyncSettings) -> int:
    _warn(lanes, settings)
    async with AsyncExitStack() as stack:
        dependencies = await connect(settings, stack, holder=_holder())
        passes = [dependencies.passes(source) for lane in lanes for source in lane]
        return max([STATUS[(await each.once()).outcome] for each in passes])


async def _follow(
    lanes: Lanes, settings: SyncSettings, stack: AsyncExitStack, health: Health
) -> None:
    _warn(lanes, settings)
    dependencies = await connect(settings, stack, holder=_holder())
    health.add("database", ping(dependencies.client))
    random = Random()  # noqa: S311 (spreads rounds, guards nothing)
    waits = partial(delays, random, first=_FIRST_DELAY, most=_MOST_DELAY)
    loops = [
        follow([dependencies.passes(source) for source in lane], settings.sync_interval, waits)
        for lane in lanes
    ]
    await stack.enter_async_context(beside(*loops))


def _warn(lanes: Lanes, settings: SyncSettings) -> None:
    for warn in {source.warn for lane in lanes for source in lane}:
        warn(settings)


def _holder() -> str:
    """Names this process in its leases."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
