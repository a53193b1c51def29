"""python -m ingest serve runs the writer; every other command runs once."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Unavailable
from common.domain.limited import hash_of_name
from common.domain.numbers import InvalidIdentifier, parse_registration_number
from common.domain.sentences import counted
from common.mongo import Database, database, translated_errors
from common.mongo_commands import IndexConflict, connected_for_command
from common.runtime import logs
from common.runtime.service import chosen_command, exporting_spans, run
from common.runtime.settings import load
from ingest.app import Chains, Registers, build, connect, holder_of_leases, report_registers
from ingest.changes.states import Conflict
from ingest.following.passes import Outcome
from ingest.import_commands import (
    MISUSED,
    REFUSED,
    SOUND,
    UNAVAILABLE,
    add_import,
    add_ledger,
    moment,
    run_import,
    run_ledger,
    say,
)
from ingest.loading.stores import Stores, utc_now
from ingest.publishing.outbox import remove_owner, removed, skip_ahead
from ingest.publishing.publisher import republish
from ingest.registers import table
from ingest.registers.table import companies_of
from ingest.settings import CommandSettings, Settings, SyncSettings
from register_store.indexes import drop_replaced, make_indexes

ALL = "all"

#: Exit status of `sync`; of several outcomes the highest counts.
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves or runs a command, and exits with its status."""
    chosen = chosen_command(_parser(), arguments)
    if chosen.command == "serve":
        sys.exit(run_serve(chosen))
    if chosen.command == "sync":
        sys.exit(run_sync(chosen))
    if chosen.command == "ledger":
        sys.exit(run_ledger(chosen))
    try:
        with translated_errors():
            status = asyncio.run(_command(chosen, load(CommandSettings)))
    except Unavailable as outage:
        say(f"{outage}; run the command again later; it continues where it stopped")
        status = UNAVAILABLE
    except Conflict as conflict:
        say(f"{conflict}: another process writes them; run the command again later")
        status = UNAVAILABLE
    except IndexConflict as conflict:
        say(str(conflict))
        status = REFUSED
    sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ingest")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    add_serve(commands)
    indexes = commands.add_parser(
        "indexes", help="create the indexes of the register's collections"
    )
    indexes.add_argument(
        "--drop-replaced",
        action="store_true",
        help="drop those of earlier releases instead, once no process of one runs",
    )
    add_import(commands)
    remove = commands.add_parser(
        "remove", help="purge a company that its register ordered removed; imports keep it out"
    )
    _add_company(remove)
    limit = commands.add_parser(
        "limit",
        help="leave a person out of a company; imports do not bring the person back",
        description="Owners, roles, texts and events that name the person. Then run the command of "
        "the same name of webhook_registry, for what was to be delivered.",
    )
    _add_company(limit)
    limit.add_argument("person", help="the name as it is stored, or a hash that limited lists")
    limit.add_argument("--end", action="store_true", help="store the person again, when next read")
    commands.add_parser(
        "limited",
        help="list the limited persons: keep the list apart from the backups",
        description="Country, number and hash of a name on each line, as the command limit takes "
        "them.",
    )
    owners = commands.add_parser("owners", help="remove what is kept of a customer")
    removal = owners.add_subparsers(dest="action", required=True).add_parser(
        "remove", help="delete the events about a customer's webhooks"
    )
    removal.add_argument("owner", help="the owner of API keys and webhooks")
    removal.add_argument("--dry-run", action="store_true", help="only count")
    republish = commands.add_parser(
        "republish",
        help="publish events again that have no receipt of the dispatcher",
        description="For lost receipts: after the webhooks database was restored from a backup. "
        "The serving process publishes them, at the pace of the dispatcher.",
    )
    republish.add_argument(
        "--since", type=moment, required=True, metavar="TIME", help="RFC 3339, with a time zone"
    )
    commands.add_parser(
        "removed",
        help="list the companies that were removed: keep the list apart from the backups",
        description="One country and number on each line, as the command remove takes them.",
    )
    restored = commands.add_parser(
        "restored",
        help="after a restore: give out no revision, event id or feed position a second time",
        description="Run it before anything else reads or writes the restored database.",
    )
    restored.add_argument(
        "--skip",
        type=_positive,
        default=1_000_000,
        metavar="N",
        help="more than any company changed, and than events were published, since the backup "
        "(default: %(default)s)",
    )
    add_sync(commands)
    add_ledger(commands)
    return parser


def _add_company(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("country", type=Country, choices=list(Country), metavar="country")
    parser.add_argument("number", help="the registration number")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a number above 0")
    return number


async def _command(chosen: argparse.Namespace, settings: CommandSettings) -> int:
    url = settings.mongo_url.get_secret_value()
    async with connected_for_command(url, name="ingest-command", is_long=True) as client:
        register = database(client, settings.register_db)
        match chosen.command:
            case "indexes":
                kept_for = settings.history_retention
                return await _indexes(register, kept_for, drop=chosen.drop_replaced)
            case "remove":
                return await _remove(register, chosen)
            case "limit":
                return await _limit(register, chosen)
            case "limited":
                return await _limited(register)
            case "owners":
                return await _remove_owner(register, chosen)
            case "republish":
                return await _republish(register, chosen.since)
            case "removed":
                return await _removed(register)
            case "restored":
                return await _restored(register, chosen.skip, settings.outbox_retention)
            case _:
                return await run_import(
                    register, chosen, sole_proprietors=settings.sole_proprietors_accounts
                )


async def _indexes(register: Database, retention: timedelta, *, drop: bool) -> int:
    if drop:
        say(f"dropped: {', '.join(await drop_replaced(register)) or 'none existed'}")
    else:
        await make_indexes(register, history_retention=retention)
    return SOUND


async def _remove(register: Database, chosen: argparse.Namespace) -> int:
    key = _company(chosen)
    if key is None:
        return MISUSED
    source = companies_of(chosen.country).name
    was_known = await Stores.of(register).remove_company(source, key)
    say("removed" if was_known else "it was not stored; imports will not store it")
    return SOUND


def _company(chosen: argparse.Namespace) -> CompanyKey | None:
    try:
        number = parse_registration_number(chosen.number, chosen.country)
    except InvalidIdentifier as invalid:
        # A malformed number would leave a tombstone that no company matches, and report success.
        say(f"{chosen.number}: {invalid}")
        return None
    return CompanyKey(chosen.country, number)


async def _limit(register: Database, chosen: argparse.Namespace) -> int:
    key = _company(chosen)
    if key is None:
        return MISUSED
    try:
        name = hash_of_name(key, chosen.person)
    except ValueError as invalid:
        say(str(invalid))
        return MISUSED
    stores = Stores.of(register)
    if chosen.end:
        was_limited = await stores.writer.end_limit(key, name)
        say("ended" if was_limited else "the person was not limited")
        return SOUND
    done = await stores.limit(companies_of(chosen.country).name, key, name)
    found = "left out" if done.was_named else "not stored; imports will not store the person"
    say(f"{found}; {counted(done.events, 'event')} deleted")
    if done.left:
        say(f"still named in: {', '.join(done.left)}; remove takes out the whole company")
    return SOUND


async def _limited(register: Database) -> int:
    for key, name in await Stores.of(register).writer.limits():
        sys.stdout.write(f"{key.country} {key.number} {name}\n")
    return SOUND


async def _remove_owner(register: Database, chosen: argparse.Namespace) -> int:
    count = await remove_owner(register, chosen.owner, dry_run=chosen.dry_run)
    say(f"{counted(count, 'event')} {'found' if chosen.dry_run else 'deleted'}")
    return SOUND


async def _republish(register: Database, since: datetime) -> int:
    count = await republish(register, since=since, at=utc_now())
    say(f"{counted(count, 'event')}; those without a receipt of the dispatcher are published again")
    return SOUND


async def _removed(register: Database) -> int:
    async for country, number in removed(register):
        sys.stdout.write(f"{country} {number}\n")
    return SOUND


async def _restored(register: Database, skip: int, retention: timedelta) -> int:
    count = await skip_ahead(register, skip, retention=retention, at=utc_now())
    say(f"{counted(count, 'company')} and the event feed continue {skip:,} further on")
    return SOUND
