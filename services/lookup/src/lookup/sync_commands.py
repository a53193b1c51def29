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

import structlog

from common.mongo import ping
from common.runtime import logs
from common.runtime.backoff import delays
from common.runtime.health import Health
from common.runtime.service import run
from common.runtime.settings import load
from common.runtime.tasks import beside
from lookup.ingest.passes import Outcome, follow
from lookup.ingest.records import Kind
from lookup.settings import SyncSettings
from lookup.sync_app import connect

ALL = "all"

#: The sources of each register, companies before what belongs to them.
LANES: Final = (
    (Kind.NO_ENTITIES, Kind.NO_UNITS, Kind.NO_ROLES),
    (Kind.DK_COMPANIES, Kind.DK_UNITS),
    (Kind.PEPPOL,),
)

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
    sources = [*Kind, ALL]
    parser.add_argument(
        "source", nargs="+", choices=sources, metavar="source", help=", ".join(sources)
    )
    parser.add_argument(
        "--follow", action="store_true", help="stay, and make a pass every SYNC_INTERVAL"
    )


def run_sync(chosen: argparse.Namespace) -> int:
    """Runs the command; gives its exit status."""
    settings = load(SyncSettings)
    lanes = _lanes(chosen.source)
    if _asks_denmark(lanes) and not settings.cvr_user:
        sys.stderr.write("the Danish register needs CVR_USER and CVR_PASSWORD\n")
        return MISUSED
    if chosen.follow:
        run("lookup-sync", settings, partial(_follow, lanes))
        return 0
    logs.configure(settings.log_level, service="lookup-sync")
    return asyncio.run(_once(lanes, settings))


def _lanes(sources: Sequence[str]) -> list[list[Kind]]:
    """What was asked for, by register and in order."""
    lanes = ([kind for kind in lane if kind in sources or ALL in sources] for lane in LANES)
    return [lane for lane in lanes if lane]


async def _once(lanes: Sequence[Sequence[Kind]], settings: SyncSettings) -> int:
    _warn(lanes, settings)
    async with AsyncExitStack() as stack:
        wiring = await connect(settings, stack, holder=_holder())
        passes = [wiring.passes(kind) for lane in lanes for kind in lane]
        return max([STATUS[(await each.once()).outcome] for each in passes])


async def _follow(
    lanes: Sequence[Sequence[Kind]], settings: SyncSettings, stack: AsyncExitStack, health: Health
) -> None:
    _warn(lanes, settings)
    wiring = await connect(settings, stack, holder=_holder())
    health.add("database", ping(wiring.client))
    random = Random()  # noqa: S311 (spreads rounds, guards nothing)
    waits = partial(delays, random, first=_FIRST_DELAY, most=_MOST_DELAY)
    loops = [
        follow([wiring.passes(kind) for kind in lane], settings.sync_interval, waits)
        for lane in lanes
    ]
    await stack.enter_async_context(beside(*loops))


def _asks_denmark(lanes: Sequence[Sequence[Kind]]) -> bool:
    return any(kind in lane for lane in lanes for kind in (Kind.DK_COMPANIES, Kind.DK_UNITS))


def _warn(lanes: Sequence[Sequence[Kind]], settings: SyncSettings) -> None:
    """The password for the Danish register can be read by whoever carries it there."""
    if _asks_denmark(lanes) and settings.cvr_url.scheme == "http":
        structlog.get_logger().warning("cvr.plaintext", url=str(settings.cvr_url))


def _holder() -> str:
    """Names this process in its leases."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
