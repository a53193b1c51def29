"""`python -m ingest serve` runs the writer; every other command runs once."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Unavailable
from common.domain.numbers import InvalidIdentifier, parse_registration_number
from common.domain.sentences import counted
from common.mongo import Database, connected_for_command, database, translated_errors
from common.runtime.service import chosen_command
from common.runtime.settings import load
from ingest.import_commands import MISUSED, SOUND, UNAVAILABLE, add_import, moment, run_import, say
from ingest.loading.stores import Stores, utc_now
from ingest.publishing.receipts import republish
from ingest.publishing.restored import removed, skip_ahead
from ingest.registers.table import companies_of
from ingest.sync_commands import add_serve, add_sync, run_serve, run_sync
from register_store.indexes import drop_replaced, make_indexes
from register_store.settings import StoreSettings


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves or runs a command, and exits with its status."""
    chosen = chosen_command(_parser(), arguments)
    if chosen.command == "serve":
        sys.exit(run_serve(chosen))
    if chosen.command == "sync":
        sys.exit(run_sync(chosen))
    try:
        with translated_errors():
            status = asyncio.run(_command(chosen, load(StoreSettings)))
    except Unavailable as outage:
        say(f"{outage}; run the command again later; it continues where it stopped")
        status = UNAVAILABLE
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
    remove.add_argument("country", type=Country, choices=list(Country), metavar="country")
    remove.add_argument("number", help="the registration number")
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
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a number above 0")
    return number


async def _command(chosen: argparse.Namespace, settings: StoreSettings) -> int:
    url = settings.mongo_url.get_secret_value()
    async with connected_for_command(url, name="ingest-command", is_long=True) as client:
        register = database(client, settings.register_db)
        match chosen.command:
            case "indexes":
                return await _indexes(register, drop=chosen.drop_replaced)
            case "remove":
                return await _remove(register, chosen)
            case "republish":
                return await _republish(register, chosen.since)
            case "removed":
                return await _removed(register)
            case "restored":
                return await _restored(register, chosen.skip, settings.outbox_retention)
            case _:
                return await run_import(register, chosen)


async def _indexes(register: Database, *, drop: bool) -> int:
    if drop:
        say(f"dropped: {', '.join(await drop_replaced(register)) or 'none existed'}")
    else:
        await make_indexes(register)
    return SOUND


async def _remove(register: Database, chosen: argparse.Namespace) -> int:
    try:
        number = parse_registration_number(chosen.number, chosen.country)
    except InvalidIdentifier as invalid:
        # A malformed number would leave a tombstone that no company matches, and report success.
        say(f"{chosen.number}: {invalid}")
        return MISUSED
    key = CompanyKey(chosen.country, number)
    source = companies_of(chosen.country).name
    was_known = await Stores.of(register).remove_company(source, key)
    say("removed" if was_known else "it was not stored; imports will not store it")
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
