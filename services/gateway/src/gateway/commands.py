"""Command line: `python -m gateway serve` runs the service; other commands are one-shot."""

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from common.contracts.events import rfc3339
from common.contracts.failures import Unavailable
from common.domain.sentences import counted
from common.mongo import database, translated_errors
from common.mongo_commands import IndexConflict, connected_for_command, create_indexes
from common.runtime.public_port.rates import Rate, parse_rate
from common.runtime.service import chosen_command, run
from common.runtime.settings import load
from gateway.access.keys import (
    KEY_INDEXES,
    ApiKey,
    MongoKeys,
    Scope,
    hash_of,
    utc_now,
    write_key,
)
from gateway.access.quotas import QUOTA_INDEXES
from gateway.access.requests import REQUEST_INDEXES, KeyRequests
from gateway.access.usage import KEPT_DAYS, USAGE_INDEXES, KeyUsage
from gateway.app import build
from gateway.keys.issuing import new_secret
from gateway.settings import KeySettings, Settings


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves or runs a command; exits with 1 on failure and with 2 on a usage error."""
    chosen = chosen_command(_parser(), arguments)
    if chosen.command == "serve":
        run("gateway", load(Settings), build)
        return
    try:
        with translated_errors():
            failure = asyncio.run(_command(chosen, load(KeySettings)))
    except (Unavailable, IndexConflict) as error:
        failure = str(error)
    if failure is not None:
        sys.exit(failure)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gateway")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("serve", help="run the service until SIGTERM or SIGINT")
    commands.add_parser("indexes", help="create the indexes of the gateway's collections")
    keys = commands.add_parser("keys", help="issue, list, count and revoke API keys")
    actions = keys.add_subparsers(dest="action", metavar="action", required=True)
    issue = actions.add_parser("issue", help="create a key and print it once")
    issue.add_argument(
        "--owner", required=True, type=_one_line, help="owner of the key and its webhooks"
    )
    issue.add_argument("--name", required=True, type=_one_line, help="purpose of the key")
    issue.add_argument(
        "--scope",
        required=True,
        action="append",
        type=Scope,
        choices=list(Scope),
        metavar="{" + ",".join(Scope) + "}",
        help="scope of the key; may be repeated",
    )
    issue.add_argument(
        "--rate",
        type=_rate,
        help="rate limit of the key, <count>/<second|minute|hour>; by default KEY_RATE",
    )
    issue.add_argument(
        "--expires",
        type=_moment,
        metavar="TIME",
        help="end of the key's validity, such as 2027-01-01 or 2027-01-01T12:00:00Z; by default "
        "none",
    )
    actions.add_parser("list", help="list all keys, newest first, without secrets")
    usage = actions.add_parser(
        "usage",
        help="list owners by their requests, the most first: keys, requests, refused, heavy, last "
        "day, rates",
    )
    usage.add_argument(
        "--days",
        type=_days,
        default=30,
        help=f"of the last days, at most {KEPT_DAYS - 1}; by default 30",
    )
    usage.add_argument("--owner", help="only of this owner")
    revoke = actions.add_parser("revoke", help="revoke a key; takes effect within 10 s")
    revoke.add_argument("id", help="the part of the key before the dot")
    owners = commands.add_parser("owners", help="remove what is kept of a customer")
    removal = owners.add_subparsers(dest="action", metavar="action", required=True).add_parser(
        "remove", help="delete a customer's keys; takes effect within 10 s"
    )
    removal.add_argument("owner", help="the owner of the keys")
    removal.add_argument("--dry-run", action="store_true", help="only count")
    return parser


def _one_line(text: str) -> str:
    # A tab or a line break would split a column or a row of `keys list`.
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError("must be one line and not empty")
    return text.strip()


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < KEPT_DAYS:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to {KEPT_DAYS - 1}")
    return int(text)


def _rate(text: str) -> Rate:
    try:
        return parse_rate(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError("must be a date or a time as in RFC 3339") from None
    if moment <= utc_now():
        raise argparse.ArgumentTypeError("must be in the future")
    return moment


async def _command(chosen: argparse.Namespace, settings: KeySettings) -> str | None:
    url = settings.mongo_url.get_secret_value()
    is_long = chosen.command == "indexes"
    async with connected_for_command(url, name="gateway-command", is_long=is_long) as mongo:
        access = database(mongo, settings.access_db)
        keys = MongoKeys(access)
        match chosen.command, getattr(chosen, "action", None):
            case "indexes", _:
                indexes = {**KEY_INDEXES, **QUOTA_INDEXES, **USAGE_INDEXES, **REQUEST_INDEXES}
                await create_indexes(access, indexes)
            case "keys", "issue":
                await _issue(keys, chosen)
            case "keys", "list":
                sys.stdout.writelines(_line(key) for key in await keys.all())
            case "keys", "usage":
                await _list_usage(keys, KeyUsage(access, now=utc_now), chosen)
            case "owners", _:
                for use in (KeyUsage(access, now=utc_now), KeyRequests(access, now=utc_now)):
                    await use.remove_owner(chosen.owner, dry_run=chosen.dry_run)
                count = await keys.remove_owner(chosen.owner, dry_run=chosen.dry_run)
                found = "found" if chosen.dry_run else "deleted"
                sys.stdout.write(f"{counted(count, 'key')} {found}\n")
            case _:
                if not await keys.revoke(chosen.id, at=utc_now()):
                    return f"there is no key {chosen.id}"
    return None


async def _issue(keys: MongoKeys, chosen: argparse.Namespace) -> None:
    key = new_secret()
    await keys.add(
        ApiKey(
            id=key.id,
            secret_hash=hash_of(key.secret),
            name=chosen.name,
            owner=chosen.owner,
            scopes=frozenset(chosen.scope),
            created_at=utc_now(),
            expires_at=chosen.expires,
            rate=chosen.rate,
        )
    )
    # Only the key goes to standard output, for scripts.
    sys.stdout.write(write_key(key) + "\n")
    sys.stderr.write("Store it now: it is not shown again.\n")


async def _list_usage(keys: MongoKeys, usage: KeyUsage, chosen: argparse.Namespace) -> None:
    since = utc_now().date() - timedelta(days=chosen.days - 1)
    now, valid = utc_now(), defaultdict[str, list[ApiKey]](list)
    for key in await keys.all():
        if key.is_valid(now):
            valid[key.owner].append(key)
    sys.stdout.write("owner\tkeys\trequests\trefused\theavy\tlast day\trates\n")
    for row in await usage.by_owner(since=since, owner=chosen.owner):
        of_owner = valid[row.owner]
        rates = sorted({"default rate" if key.rate is None else str(key.rate) for key in of_owner})
        cells = (row.owner, len(of_owner), *row.use, row.last_day, ", ".join(rates) or "no key")
        sys.stdout.write("\t".join(map(str, cells)) + "\n")


def _line(key: ApiKey) -> str:
    scopes = ",".join(sorted(key.scopes))
    rate = "default rate" if key.rate is None else str(key.rate)
    made = rfc3339(key.created_at)
    return f"{key.id}\t{key.owner}\t{key.name}\t{scopes}\t{made}\t{_state(key)}\t{rate}\n"


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {rfc3339(key.revoked_at)}"
    if key.expires_at is not None:
        return f"{'expires' if key.is_valid(utc_now()) else 'expired'} {rfc3339(key.expires_at)}"
    return "active"
