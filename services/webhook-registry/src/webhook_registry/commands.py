"""`python -m webhook_registry serve` runs the service; other commands are one-off jobs."""

import argparse
import asyncio
import secrets
import sys
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from common.contracts.company import CompanyKey, Country
from common.contracts.failures import Unavailable
from common.contracts.webhooks import Webhook
from common.domain.limited import hash_of_name
from common.domain.numbers import InvalidIdentifier, parse_registration_number
from common.domain.sentences import counted
from common.mongo import Database, DatabaseClock, database, translated_errors
from common.mongo_commands import IndexConflict, connected_for_command
from common.runtime.service import chosen_command, run
from common.runtime.settings import load
from webhook_registry.app import build, build_digests
from webhook_registry.settings import DigestSettings, Settings
from webhook_registry.webhooks import enabled, stopped_by_operator
from webhook_store.customer_files import reseal_files
from webhook_store.digests import reseal_tokens
from webhook_store.indexes import drop_replaced, make_indexes
from webhook_store.removals import OwnerRemoval, forget_person
from webhook_store.secrets import SecretKeys
from webhook_store.settings import SealedStoreSettings, StoreSettings
from webhook_store.webhooks import Registrations, reseal


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves or runs a command; exits with 1 on failure and 2 on misuse."""
    chosen = chosen_command(_parser(), arguments)
    if chosen.command == "serve":
        run("webhook-registry", load(Settings), build)
        return
    if chosen.command == "digests":
        run("webhook-digests", load(DigestSettings), build_digests)
        return
    try:
        with translated_errors():
            failure = asyncio.run(_command(chosen))
    except (Unavailable, IndexConflict) as error:
        failure = str(error)
    if failure is not None:
        sys.exit(failure)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m webhook_registry")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("serve", help="run the service until SIGTERM or SIGINT")
    commands.add_parser("digests", help="send news by e-mail until SIGTERM or SIGINT")
    indexes = commands.add_parser("indexes", help="create the indexes of the webhooks' collections")
    indexes.add_argument(
        "--drop-replaced",
        action="store_true",
        help="drop those of earlier releases instead, once no process of one runs",
    )
    commands.add_parser("reseal", help="seal every secret with the newest key")
    disable = commands.add_parser(
        "disable", help="disable a webhook; its owner cannot enable it again"
    )
    enable = commands.add_parser("enable", help="enable a webhook that was disabled for any reason")
    for command in (disable, enable):
        command.add_argument("webhook_id", help="wh_…")
    limit = commands.add_parser(
        "limit", help="delete the events to be delivered that name a person, after limit of ingest"
    )
    limit.add_argument("country", type=Country, choices=list(Country), metavar="country")
    limit.add_argument("number", help="the registration number")
    limit.add_argument("person", help="the name as it was stored, or its hash")
    owners = commands.add_parser("owners", help="remove what is kept of a customer")
    removal = owners.add_subparsers(dest="action", metavar="action", required=True).add_parser(
        "remove", help="delete a customer's webhooks, deliveries, watchlists, digests and files"
    )
    removal.add_argument("owner", help="the owner of the webhooks")
    removal.add_argument("--dry-run", action="store_true", help="only count")
    return parser


async def _command(chosen: argparse.Namespace) -> str | None:
    # The others decrypt no secret, so their Jobs need no keys.
    is_sealed = chosen.command in {"reseal", "disable", "enable"}
    settings = load(SealedStoreSettings if is_sealed else StoreSettings)
    url = settings.mongo_url.get_secret_value()
    async with connected_for_command(url, name="webhook-registry-command", is_long=True) as mongo:
        webhooks = database(mongo, settings.webhooks_db)
        if not isinstance(settings, SealedStoreSettings):
            return await _without_keys(webhooks, chosen)
        keys = SecretKeys.parse(settings.webhook_secret_keys, random_bytes=secrets.token_bytes)
        clock = DatabaseClock(mongo)
        await clock.measure()
        if chosen.command == "reseal":
            done = await reseal(webhooks, keys, at=clock())
            tokens, failed = await reseal_tokens(webhooks, keys)
            files, closed = await reseal_files(webhooks, keys)
            count = done.webhooks + tokens + files
            sys.stdout.write(f"{count} sealed anew with key {keys.newest_id}\n")
            failed = [*done.failed, *failed, *closed]
            return f"none of the keys opens: {', '.join(failed)}" if failed else None
        decide = stopped_by_operator if chosen.command == "disable" else enabled
        return await _change(webhooks, keys, chosen.webhook_id, partial(decide, at=clock()))


async def _without_keys(webhooks: Database, chosen: argparse.Namespace) -> str | None:
    match chosen.command:
        case "limit":
            return await _limit(webhooks, chosen)
        case "owners":
            await _remove_owner(webhooks, chosen)
        case _ if chosen.drop_replaced:
            dropped = ", ".join(await drop_replaced(webhooks)) or "none existed"
            sys.stdout.write(f"dropped: {dropped}\n")
        case _:
            await make_indexes(webhooks)
    return None


async def _limit(webhooks: Database, chosen: argparse.Namespace) -> str | None:
    try:
        company = CompanyKey(
            chosen.country, parse_registration_number(chosen.number, chosen.country)
        )
        name = hash_of_name(company, chosen.person)
    except (InvalidIdentifier, ValueError) as invalid:
        return str(invalid)
    count = await forget_person(webhooks, company, name)
    sys.stdout.write(f"{counted(count, 'event')} deleted\n")
    return None


async def _remove_owner(webhooks: Database, chosen: argparse.Namespace) -> None:
    removal = OwnerRemoval(webhooks, chosen.owner)
    if chosen.dry_run:
        counts = await removal.count()
    else:
        clock = DatabaseClock(webhooks.client)
        await clock.measure()
        counts = await removal.run(at=clock())
    sys.stdout.write(
        f"{counted(counts.webhooks, 'webhook')}, {counted(counts.watchlists, 'watchlist')} with "
        f"{counted(counts.companies, 'company')}, {counted(counts.digests, 'digest')}, "
        f"{counted(counts.files, 'file')} of customers, {counted(counts.attempts, 'attempt')} "
        f"{'found' if chosen.dry_run else 'deleted'}\n"
    )


async def _change(
    webhooks: Database, keys: SecretKeys, webhook_id: str, decide: Callable[[Webhook], Webhook]
) -> str | None:
    registrations = Registrations(webhooks, keys, Random())  # noqa: S311 (guards nothing)
    owner = await registrations.owner_of(webhook_id)
    if owner is not None:
        await registrations.change(owner, webhook_id, decide)
        return None
    return f"there is no webhook {webhook_id}"
