"""`python -m lookup serve` runs the service; other commands do one thing and end."""

import argparse
import asyncio
import errno
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import NoReturn

from tqdm import tqdm

from common.contracts.company import Country, company_key
from common.contracts.failures import Unavailable
from common.domain.numbers import InvalidIdentifier, parse_registration_number
from common.mongo import Client, Database, connected, database, translated_errors
from common.runtime.backoff import delays
from common.runtime.service import chosen_command, run
from common.runtime.settings import load
from lookup.app import build
from lookup.ingest.apply import ApplyRecords
from lookup.ingest.load import FileOrigin, LoadFile, NotWhole, Summary, WrongSource
from lookup.ingest.load_states import StoredLoadStates
from lookup.ingest.outbox import StoredUnconfirmedEvents
from lookup.ingest.processes import reading_processes
from lookup.ingest.read import ReadDocuments
from lookup.ingest.reading import documents, likely_source
from lookup.ingest.records import Rejected, SourceVersion
from lookup.ingest.remove import RemoveCompany
from lookup.ingest.stored_digests import MongoDigests
from lookup.ingest.writes import StoredRegisterWriter
from lookup.registers.table import companies_of, sources
from lookup.settings import Settings, StoreSettings
from lookup.store.indexes import make_indexes
from lookup.sync_commands import add_sync, run_sync

#: How `import` ends: all is well; records were refused; wrong use; a file broke off; no database.
SOUND, REFUSED, MISUSED, BROKEN, AWAY = 0, 1, 2, 3, 4
#: Rejected records, and stale ones, that an import names.
MAX_NAMED = 20


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves or runs a command, and exits with its status."""
    chosen = chosen_command(_parser(), arguments)
    if chosen.command == "serve":
        run("lookup", load(Settings), build)
        return
    if chosen.command == "sync":
        sys.exit(run_sync(chosen))
    try:
        with translated_errors():
            status = asyncio.run(_command(chosen, load(StoreSettings)))
    except Unavailable as outage:
        _say(f"{outage}; run the same command again when it is back, it goes on where it stopped")
        status = AWAY
    sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lookup")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("serve", help="run the service until SIGTERM or SIGINT")
    commands.add_parser("indexes", help="make the indexes that the register's collections need")
    load_files = commands.add_parser(
        "import",
        help="load files of a register",
        description="Exit status: 0 all loaded, 1 records were refused, 2 wrong use, 3 a file "
        "broke off (what is whole was loaded) or is too small to be whole (nothing was), 4 the "
        "database is away.",
    )
    names = list(sources())
    load_files.add_argument("source", choices=names, metavar="source", help=", ".join(names))
    load_files.add_argument("files", type=Path, nargs="+", metavar="file")
    load_files.add_argument(
        "--last-modified",
        type=_moment,
        metavar="TIME",
        help="the register's time of the file, RFC 3339; the file's own time when not given",
    )
    load_files.add_argument(
        "--force",
        action="store_true",
        help="load a file that has under half of the records of the last complete load",
    )
    load_files.add_argument(
        "--verbose",
        action="store_true",
        help=f"name all refused and stale records, not only the first {MAX_NAMED} of each",
    )
    telling = load_files.add_mutually_exclusive_group()
    telling.add_argument(
        "--publish",
        dest="publish_events",
        action="store_true",
        default=None,
        help="tell every change as an event, although the source is loaded for the first time",
    )
    telling.add_argument(
        "--mute",
        dest="publish_events",
        action="store_false",
        default=None,
        help="tell nobody of what this import changes",
    )
    remove = commands.add_parser(
        "remove", help="purge a company that its register ordered removed; it stays out"
    )
    remove.add_argument("country", type=Country, choices=list(Country), metavar="country")
    remove.add_argument("number", help="its registration number")
    republish = commands.add_parser(
        "republish",
        help="publish events again that the dispatcher has no receipt of",
        description="For lost receipts: after the webhooks database was restored from a backup. "
        "The serving process publishes them, at the pace of the dispatcher.",
    )
    republish.add_argument(
        "--since", type=_moment, required=True, metavar="TIME", help="RFC 3339, with its zone"
    )
    add_sync(commands)
    return parser


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise argparse.ArgumentTypeError("write it with its zone: 2026-03-02T05:00:00Z")
    return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class File:
    path: Path
    size: int
    modified: datetime

    @classmethod
    def at(cls, path: Path, *, modified: datetime | None) -> "File":
        """`modified` is what the register said; the file system's word counts where it did not.

        Raises OSError for what cannot be read.
        """
        stat = path.stat()
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        if not path.is_file():
            # It is read twice: to see that it is whole, and to load it.
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        told = modified or datetime.fromtimestamp(stat.st_mtime, UTC)
        # MongoDB keeps milliseconds, and what is compared with it must not have more.
        return cls(path, stat.st_size, told.replace(microsecond=told.microsecond // 1000 * 1000))


def _files(chosen: argparse.Namespace) -> list[File]:
    try:
        return [File.at(path, modified=chosen.last_modified) for path in chosen.files]
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}")
        sys.exit(MISUSED)


async def _command(chosen: argparse.Namespace, settings: StoreSettings) -> int:
    url = settings.mongo_url.get_secret_value()
    async with connected(url, name="lookup-command", operation_limit=None) as client:
        register = database(client, settings.register_db)
        match chosen.command:
            case "indexes":
                await make_indexes(register)
                return SOUND
            case "remove":
                return await _remove(client, register, chosen)
            case "republish":
                return await _republish(register, chosen.since)
            case _:
                return await _import(client, register, chosen)


async def _remove(client: Client, register: Database, chosen: argparse.Namespace) -> int:
    try:
        number = parse_registration_number(chosen.number, chosen.country)
    except InvalidIdentifier as invalid:
        # Anything else would leave a tombstone that keeps nothing out, and look like success.
        _say(f"{chosen.number}: {invalid}")
        return MISUSED
    key = company_key(chosen.country, number)
    writer = StoredRegisterWriter(client, register)
    companies = companies_of(chosen.country)
    remove = RemoveCompany(companies.name, writer, StoredLoadStates(register), _now)
    was_known = await remove(key)
    _say("removed" if was_known else "it was not known; it will stay out")
    return SOUND


async def _republish(register: Database, since: datetime) -> int:
    # The timeout plays no part in what the command does.
    events = StoredUnconfirmedEvents(register, receipt_timeout=timedelta(0))
    count = await events.republish(since=since, at=_now())
    _say(f"{count:,} events: those without a receipt of the dispatcher are published again")
    return SOUND


def _apply(client: Client, register: Database) -> ApplyRecords:
    return ApplyRecords(
        StoredRegisterWriter(client, register),
        now=_now,
        waits=lambda: delays(Random(), first=0.02, most=1.0),  # noqa: S311 (spreads retries)
    )


async def _import(client: Client, register: Database, chosen: argparse.Namespace) -> int:
    files = _files(chosen)
    async with reading_processes() as reader:
        read = ReadDocuments(MongoDigests(register), reader)
        return max([await _load(client, register, read, file, chosen) for file in files])


async def _load(
    client: Client,
    register: Database,
    read: ReadDocuments,
    file: File,
    chosen: argparse.Namespace,
) -> int:
    name, source = file.path.name, sources()[chosen.source]
    with tqdm(total=file.size, unit="B", unit_scale=True, desc=name, disable=None) as bar:
        report = _Report(name, bar, limit=None if chosen.verbose else MAX_NAMED)
        load_file = LoadFile(
            read,
            _apply(client, register),
            StoredLoadStates(register),
            now=_now,
            origin=FileOrigin.IMPORTED,
            refuse=report.refuse,
            stale=report.stale,
        )
        try:
            await load_file.check(source, partial(documents, file.path, source), force=chosen.force)
        except WrongSource as fault:
            likely = likely_source(file.path, sources().values())
            hint = f"; try {likely.name}" if likely else ""
            _say(f"{name}: not a file of {source.name}: {fault}{hint}")
            return MISUSED
        except NotWhole as fault:
            _say(f"{name}: not loaded: {fault}; --force loads it all the same")
            return BROKEN
        summary = await load_file(
            source,
            documents(file.path, source, on_bytes=bar.update),
            file_version=SourceVersion(file.modified),
            publish_events=chosen.publish_events,
            force=chosen.force,
        )
    report.end(summary)
    if summary.broken is not None:
        return BROKEN
    return REFUSED if summary.refused else SOUND


class _Report:
    """Tells of a file, on standard error, what could not be stored and how much could."""

    def __init__(self, name: str, bar: "tqdm[NoReturn]", *, limit: int | None) -> None:
        self._name = name
        self._bar = bar
        self._limit = limit
        self._reasons: Counter[str] = Counter()
        self._stale = 0

    def refuse(self, refused: Rejected) -> None:
        self._reasons[refused.reason] += 1
        place = f"record {refused.number} at {refused.place}"
        self._name_one(self._reasons.total(), f"{place}: {refused.reason}")

    def stale(self, identity: str) -> None:
        self._stale += 1
        self._name_one(self._stale, f"{identity}: stale, a newer one is stored")

    def _name_one(self, count: int, what: str) -> None:
        if self._limit is None or count <= self._limit:
            self._bar.write(f"{self._name}: {what}", file=sys.stderr)

    def end(self, summary: Summary) -> None:
        counts = ", ".join(f"{count:,} {word}" for word, count in summary.counts().items())
        _say(f"{self._name}: {counts}")
        for reason, count in summary.elsewhere.most_common():
            _say(f"  left aside, {count:,}: {reason}")
        for reason, count in self._reasons.most_common():
            _say(f"  refused, {count:,}: {reason}")
        if self._limit is not None and max(self._stale, summary.refused) > self._limit:
            _say(f"  only the first {self._limit} of each are named; --verbose names all")
        if summary.broken is not None:
            _say(f"  NOT READ TO ITS END: {summary.broken}")


def _now() -> datetime:
    return datetime.now(UTC)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
