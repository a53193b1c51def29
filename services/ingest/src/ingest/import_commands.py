"""`python -m ingest import` and `ledger`: loads files of a register, and says what is read."""

import argparse
import errno
import os
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from common.mongo import Database
from common.runtime.workers import spare_the_collector
from ingest.changes.accounts import ApplyAccounts
from ingest.loading.accounts import LoadAccounts
from ingest.loading.load import (
    LoadFile,
    NotWhole,
    OddValues,
    ReadDocuments,
    Tally,
    WrongSource,
    apply_due,
    reading_processes,
)
from ingest.loading.stores import FileOrigin, Stores
from ingest.records.files import decode, raw_records
from ingest.records.ledger import Ledger
from ingest.records.records import (
    FileBroken,
    RawDocument,
    RecordRejected,
    Rejected,
    SourceVersion,
    to_milliseconds,
)
from ingest.records.source import RegisterSource, documents, likely_source
from ingest.registers.table import accounts_reader, sources

#: Exit status of `import`: success, refused records, wrong usage, truncated file, no database.
SOUND, REFUSED, MISUSED, BROKEN, UNAVAILABLE = 0, 1, 2, 3, 4
#: Maximum refused records, and stale records, that an import lists.
MAX_NAMED = 20


def add_import(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command's arguments to those of `python -m ingest`."""
    load_files = commands.add_parser(
        "import",
        help="load files of a register",
        description="Exit status: 0 all loaded, 1 records were refused, 2 wrong usage, 3 a file "
        "is truncated (its intact part was loaded) or incomplete (nothing was), 4 the "
        "database is unavailable.",
    )
    names = list(sources())
    load_files.add_argument("source", choices=names, metavar="source", help=", ".join(names))
    load_files.add_argument("files", type=Path, nargs="+", metavar="file")
    load_files.add_argument(
        "--documents",
        type=Path,
        metavar="FOLDER",
        help="the documents of filings, each named as the last part of its address (dk-regnskab)",
    )
    load_files.add_argument(
        "--last-modified",
        type=moment,
        metavar="TIME",
        help="the register's time of the file, RFC 3339; by default the file's modification time",
    )
    load_files.add_argument(
        "--force",
        action="store_true",
        help="load a file with under half of the records of the last complete load",
    )
    load_files.add_argument(
        "--verbose",
        action="store_true",
        help=f"list all refused and stale records, not only the first {MAX_NAMED} of each",
    )
    publishing = load_files.add_mutually_exclusive_group()
    publishing.add_argument(
        "--publish",
        dest="publish_events",
        action="store_true",
        default=None,
        help="publish every change as an event, even in the first load of the source",
    )
    publishing.add_argument(
        "--mute",
        dest="publish_events",
        action="store_false",
        default=None,
        help="publish no events",
    )


def moment(text: str) -> datetime:
    """Returns a time of the command line in UTC; one without a time zone is refused."""
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        given = None
    if given is None or given.tzinfo is None:
        raise argparse.ArgumentTypeError("add the time zone: 2026-03-02T05:00:00Z")
    return given.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class File:
    """A file to load, and the size and time that make its version."""

    path: Path
    size: int
    modified: datetime

    @classmethod
    def at(cls, path: Path, *, modified: datetime | None) -> "File":
        """Returns the version of a file: `modified` if given, else its modification time.

        Raises OSError for an unreadable file.
        """
        stat = path.stat()
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        if not path.is_file():
            # The file is read twice: to check that it is complete, and to load it.
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        made_at = modified or datetime.fromtimestamp(stat.st_mtime, UTC)
        return cls(path, stat.st_size, to_milliseconds(made_at))


def _files(chosen: argparse.Namespace) -> list[File]:
    try:
        return [File.at(path, modified=chosen.last_modified) for path in chosen.files]
    except OSError as error:
        say(f"{error.filename}: {error.strerror}")
        sys.exit(MISUSED)


async def run_import(
    register: Database, chosen: argparse.Namespace, *, sole_proprietors: bool
) -> int:
    """Loads the chosen files one after another; returns the highest exit status."""
    spare_the_collector()
    files, stores = _files(chosen), Stores.of(register)
    try:
        read_accounts = accounts_reader(sources()[chosen.source], chosen.documents)
    except ValueError as misused:
        say(str(misused))
        return MISUSED
    if read_accounts is not None:
        apply = ApplyAccounts(stores.writer, stores.now, sole_proprietors)
        load = LoadAccounts(read_accounts, apply)
        return max([await _load_accounts(stores, load, file, chosen) for file in files])
    async with reading_processes() as reader:
        read = ReadDocuments(stores.parts, reader)
        return max([await _load(stores, read, file, chosen) for file in files])


async def _load(stores: Stores, read: ReadDocuments, file: File, chosen: argparse.Namespace) -> int:
    name, source = file.path.name, sources()[chosen.source]
    with tqdm(total=file.size, unit="B", unit_scale=True, desc=name, disable=None) as bar:
        report = _Report(name, bar, limit=None if chosen.verbose else MAX_NAMED)
        load_file = LoadFile(
            stores,
            read,
            origin=FileOrigin.IMPORTED,
            refuse=report.refuse,
            stale=report.stale,
        )
        try:
            await load_file.check(source, partial(documents, file.path, source), force=chosen.force)
        except WrongSource as fault:
            likely = likely_source(file.path, sources().values(), stores.today())
            hint = f"; try {likely.name}" if likely else ""
            say(f"{name}: not a file of {source.name}: {fault}{hint}")
            return MISUSED
        except NotWhole as fault:
            say(f"{name}: not loaded: {fault}; --force loads it anyway")
            return BROKEN
        tally = await load_file(
            source,
            documents(file.path, source, on_bytes=bar.update),
            file_version=SourceVersion(file.modified),
            publish_events=chosen.publish_events,
            force=chosen.force,
        )
        await apply_due(source, stores, publish_events=chosen.publish_events)
    report.end(tally)
    if tally.broken is not None:
        return BROKEN
    return REFUSED if tally.results["refused"] else SOUND


async def _load_accounts(
    stores: Stores, load: LoadAccounts, file: File, chosen: argparse.Namespace
) -> int:
    """Loads a file of filings; events are published once all filings were synchronised."""
    name, publish_events = file.path.name, chosen.publish_events
    if publish_events is None:
        publish_events = await stores.states.is_loaded(chosen.source)
    with tqdm(total=file.size, unit="B", unit_scale=True, desc=name, disable=None) as bar:
        report = _Report(name, bar, limit=None if chosen.verbose else MAX_NAMED)
        records = raw_records(file.path, on_bytes=bar.update)
        tally = await load(records, publish_events=publish_events, refuse=report.refuse)
    report.end(tally)
    if tally.broken is not None:
        return BROKEN
    return REFUSED if tally.results["refused"] else SOUND


class _Report:
    """Reports refused and stale records and the counts of a file on standard error."""

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

    def stale(self, key: str) -> None:
        self._stale += 1
        self._name_one(self._stale, f"{key}: stale, the stored version is not older")

    def _name_one(self, count: int, what: str) -> None:
        if self._limit is None or count <= self._limit:
            self._bar.write(f"{self._name}: {what}", file=sys.stderr)

    def end(self, tally: Tally) -> None:
        counts = ", ".join(
            f"{count:,} {word.replace('_', ' ')}" for word, count in tally.of_file().items()
        )
        say(f"{self._name}: {counts}")
        for reason, count in tally.elsewhere.most_common():
            say(f"  not stored, {count:,}: {reason}")
        for path, count_and_example in tally.odd.most_common().items():
            say(f"  odd, left out or unknown: {path}: {count_and_example}")
        for reason, count in self._reasons.most_common():
            say(f"  refused, {count:,}: {reason}")
        if self._limit is not None and max(self._stale, tally.results["refused"]) > self._limit:
            say(f"  only the first {self._limit} of each are listed; --verbose lists all")
        if tally.broken is not None:
            say(f"  TRUNCATED: {tally.broken}")


def add_ledger(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds `ledger` to the commands."""
    parser = commands.add_parser(
        "ledger",
        help="say what is done with each part of a register's documents",
        description="Lists each member and code as read or left out, with the numbers of both. "
        "Exit status with a file: 0 all of it is in the ledger, 1 some is not.",
    )
    with_ledger = [name for name, one in sources().items() if one.ledger is not None]
    parser.add_argument(
        "source", choices=with_ledger, metavar="source", help=", ".join(with_ledger)
    )
    parser.add_argument("file", nargs="*", type=Path, help="compare all its documents as well")


def run_ledger(chosen: argparse.Namespace) -> int:
    """Lists the ledger of a source, and what of files is not in it; returns the exit status."""
    source = sources()[chosen.source]
    ledger = source.ledger
    if ledger is None:
        return MISUSED
    for row in ledger.rows():
        sys.stdout.write("\t".join(row) + "\n")
    for kind, count in (("members", ledger.paths), ("codes", ledger.codes)):
        say(f"{source}: {count.read:,} {kind} read, {count.left_out:,} left out")
    odd = OddValues()
    try:
        for path in chosen.file:
            _compare(ledger, source, path, odd)
    except (FileBroken, OSError) as fault:
        say(f"{source}: {fault}")
        return REFUSED
    if chosen.file:
        say(f"{source}: {len(odd.counts):,} unknown")
    for told, count_and_example in odd.most_common().items():
        say(f"  {told}: {count_and_example}")
    return REFUSED if odd.counts else SOUND


def _compare(ledger: Ledger, source: RegisterSource, path: Path, odd: OddValues) -> None:
    """Counts what of a file is not in the ledger; raises FileBroken and OSError."""
    for one in documents(path, source):
        raw = decode(one.text) if isinstance(one, RawDocument) else None
        if not isinstance(one, RawDocument) or not isinstance(raw, dict):
            continue
        try:
            found = ledger.unknown(raw)
        except RecordRejected as refusal:
            found = (str(refusal),)
        for told in found:
            odd.count(told, one.key or one.place)


def say(sentence: str) -> None:
    """Writes a line to standard error."""
    sys.stderr.write(sentence + "\n")
