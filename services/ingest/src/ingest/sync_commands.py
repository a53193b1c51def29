"""The commands that read registers over their interfaces: `serve` and `sync`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from common.runtime import logs
from common.runtime.service import exporting_spans, run
from common.runtime.settings import load
from ingest.app import Chains, Registers, build, connect, holder_of_leases, report_registers
from ingest.following.passes import Outcome
from ingest.registers import table
from ingest.settings import Settings, SyncSettings

ALL = "all"

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


def add_serve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds `serve` to the commands."""
    parser = commands.add_parser(
        "serve",
        help="run the writer until SIGTERM or SIGINT",
        description="Follows the given sources, with a pass every SYNC_INTERVAL, publishes events "
        "and stores the owners' notices. Several processes share this by leases.",
    )
    _add_sources(parser, "*")


def add_sync(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds `sync` to the commands."""
    parser = commands.add_parser(
        "sync",
        help="make one pass over the given sources",
        description="Exit status: 0 up to date, 1 records were refused, 2 wrong usage, 3 a "
        "register could not be read, 4 the database is unavailable, 5 another process follows the "
        "source, 6 a pass ended with an internal error.",
    )
    _add_sources(parser, "+")


def _add_sources(parser: argparse.ArgumentParser, count: str) -> None:
    # Choices of argparse would refuse an empty list.
    names = ", ".join([*table.sources(), ALL])
    parser.add_argument("source", nargs=count, type=_source, metavar="source", help=names)


def _source(name: str) -> str:
    names = [*table.sources(), ALL]
    if name not in names:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(names)}")
    return name


def run_serve(chosen: argparse.Namespace) -> int:
    """Runs the service, which ends the process; returns a status if settings are missing."""
    settings = load(Settings)
    chains = _chains(chosen.source)
    registers = _registers(chains)
    if _is_missing(registers):
        return MISUSED
    run("ingest", settings, partial(build, chains, registers))
    return 0


def run_sync(chosen: argparse.Namespace) -> int:
    """Makes one pass over each source; returns the exit status."""
    settings = load(SyncSettings)
    chains = _chains(chosen.source)
    registers = _registers(chains)
    if _is_missing(registers):
        return MISUSED
    logs.configure(settings.log_level, service="ingest")
    return asyncio.run(_once(chains, registers, settings))


def _registers(chains: Chains) -> Registers:
    chosen = {source for chain in chains for source in chain}
    return {
        register.settings: load(register.settings)
        for register in table.REGISTERS
        if not chosen.isdisjoint(register.sources)
    }


def _is_missing(registers: Registers) -> bool:
    """Reports a setting that a register requires and has not."""
    faults = [fault for register in registers.values() if (fault := register.missing())]
    for fault in faults[:1]:
        sys.stderr.write(f"{fault}\n")
    return bool(faults)


def _chains(names: Sequence[str]) -> Chains:
    """Returns the chosen sources, by register and in order."""
    chosen = (
        [s for s in register.sources if s.name in names or ALL in names]
        for register in table.REGISTERS
    )
    return [chain for chain in chosen if chain]


async def _once(chains: Chains, registers: Registers, settings: SyncSettings) -> int:
    report_registers(registers)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(exporting_spans(settings, "ingest"))
        dependencies = await connect(settings, registers, stack, holder=holder_of_leases())
        passes = [table.passes(dependencies, source) for chain in chains for source in chain]
        return max([STATUS[(await each.once()).outcome] for each in passes])
