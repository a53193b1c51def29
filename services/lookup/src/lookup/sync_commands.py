"""`python -m lookup sync <source>`: synchronises registers, once or continuously."""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Mapping, Sequence
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
from common.runtime.service import exporting_spans, run
from common.runtime.settings import load, shown
from common.runtime.tasks import beside
from lookup.following.passes import Outcome, follow
from lookup.following.settings import RegisterSettings
from lookup.records.source import RegisterSource
from lookup.registers import table
from lookup.settings import SyncSettings
from lookup.sync_app import connect

ALL = "all"

#: The chosen sources of each register, which are synchronised in order.
Chains = Sequence[Sequence[RegisterSource]]
Registers = Mapping[type[RegisterSettings], RegisterSettings]

#: Exit status of `sync`; of several outcomes the highest counts.
MISUSED: Final = 2
STATUS: Final = {
    Outcome.DONE: 0,
    Outcome.REFUSED: 1,
    Outcome.REGISTER_FAULT: 3,
    Outcome.REGISTER_UNAVAILABLE: 3,
    Outcome.DATABASE_UNAVAILABLE: 4,
    Outcome.BUSY: 5,
    Outcome.SUPERSEDED: 5,
    Outcome.CRASHED: 6,
}

#: Seconds until the next round after one with failures.
_FIRST_DELAY, _MAX_DELAY = 5.0, 300.0


def add_sync(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command's arguments to those of `python -m lookup`."""
    parser = commands.add_parser(
        "sync",
        help="synchronise registers over their own interfaces",
        description="Exit status: 0 up to date, 1 records were refused, 2 wrong usage, 3 a "
        "register could not be read, 4 the database is unavailable, 5 another process follows the "
        "source, 6 a pass ended with an internal error.",
    )
    names = [*table.sources(), ALL]
    parser.add_argument("source", nargs="+", choices=names, metavar="source", help=", ".join(names))
    parser.add_argument(
        "--follow", action="store_true", help="run a pass every SYNC_INTERVAL until stopped"
    )


def run_sync(chosen: argparse.Namespace) -> int:
    """Runs the command; returns its exit status."""
    settings = load(SyncSettings)
    chains = _chains(chosen.source)
    chosen_sources = {source for chain in chains for source in chain}
    registers = {
        register.settings: load(register.settings)
        for register in table.REGISTERS
        if not chosen_sources.isdisjoint(register.sources)
    }
    for register in registers.values():
        if fault := register.missing():
            sys.stderr.write(f"{fault}\n")
            return MISUSED
    if chosen.follow:
        run("lookup-sync", settings, partial(_follow, chains, registers))
        return 0
    logs.configure(settings.log_level, service="lookup-sync")
    return asyncio.run(_once(chains, registers, settings))


def _chains(names: Sequence[str]) -> Chains:
    """Returns the chosen sources, by register and in order."""
    chosen = (
        [s for s in register.sources if s.name in names or ALL in names]
        for register in table.REGISTERS
    )
    return [chain for chain in chosen if chain]


async def _once(chains: Chains, registers: Registers, settings: SyncSettings) -> int:
    _report(registers)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(exporting_spans(settings, "lookup-sync"))
        dependencies = await connect(settings, registers, stack, holder=_holder())
        passes = [table.passes(dependencies, source) for chain in chains for source in chain]
        return max([STATUS[(await each.once()).outcome] for each in passes])


async def _follow(
    chains: Chains,
    registers: Registers,
    settings: SyncSettings,
    stack: AsyncExitStack,
    health: Health,
) -> None:
    _report(registers)
    dependencies = await connect(settings, registers, stack, holder=_holder())
    health.add("database", ping(dependencies.database.client))
    random = Random()  # noqa: S311 (spreads rounds, guards nothing)
    waits = partial(delays, random, first=_FIRST_DELAY, max_delay=_MAX_DELAY)
    loops = [
        follow(
            [table.passes(dependencies, source) for source in chain], settings.sync_interval, waits
        )
        for chain in chains
    ]
    await stack.enter_async_context(beside(*loops))


def _report(registers: Registers) -> None:
    for register in registers.values():
        register.warn()
        structlog.get_logger().info("sync.register", settings=shown(register))


def _holder() -> str:
    """Identifies this process in its leases."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
