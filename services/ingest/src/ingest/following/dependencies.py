"""Dependencies of passes: one database, one set of connections, downloaded files."""

from array import array
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar, cast

from aiohttp import ClientSession
from pydantic import AnyHttpUrl
from yarl import URL

from common.leases import StoredLeases
from common.mongo import Database
from ingest.changes.accounts import ApplyAccounts
from ingest.changes.states import Conflict
from ingest.following.passes import FAILURES, Passes, PassTelemetry, Sync
from ingest.following.register_client import (
    Answer,
    Call,
    RegisterClient,
    RegisterFault,
    RetryPolicy,
    http_date,
)
from ingest.loading.load import (
    LoadFile,
    NotWhole,
    Piece,
    ReadDocuments,
    Reader,
    Tally,
    WrongSource,
    apply_due,
)
from ingest.loading.stores import FileOrigin, Stores
from ingest.records.records import OwnersRecord, SourceVersion, Stored, UnitRecord
from ingest.records.source import RegisterSource, documents
from ingest.settings import RegisterSettings, SyncSettings
from register_store.documents import BEGINNING

#: Parts are sorted one by one, since sorting creates an object for every number.
_PARTS = 256
_BYTES = 8


class SeenKeys:
    """A set of keys by hashes of 8 bytes.

    With ten million keys, a lookup of another key is wrong once in 10^12 times.
    """

    def __init__(self) -> None:
        self._parts = [array("Q") for _ in range(_PARTS)]
        self._is_sorted = True

    def add(self, key: str) -> None:
        """Adds a key; further lookups sort the set again."""
        number = _hash(key)
        self._parts[number % _PARTS].append(number)
        self._is_sorted = False

    def __contains__(self, key: str) -> bool:
        if not self._is_sorted:
            self._parts = [array("Q", sorted(part)) for part in self._parts]
            self._is_sorted = True
        number = _hash(key)
        part = self._parts[number % _PARTS]
        place = bisect_left(part, number)
        return place < len(part) and part[place] == number


def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=_BYTES).digest(), "big")


@dataclass(frozen=True, slots=True)
class Download:
    """A whole file of a register; valid within the context that returned it."""

    version: SourceVersion
    etag: str | None
    #: Reads the file from its start; raises FileBroken after the intact part.
    documents: Callable[[], Iterator[Piece]]


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A register's file of all records, which exists in `folder` only while it is read.

    It has no name there, so the kernel frees its space even if the process is killed.
    """

    client: RegisterClient
    source: RegisterSource
    path: str
    folder: Path | None
    now: Callable[[], datetime]

    @asynccontextmanager
    async def newest(self, *, known: str | None = None) -> AsyncIterator[Download | None]:
        """The newest file; None if its ETag is `known`.

        Raises RegisterUnavailable and RegisterFault.
        """
        requested_at = self.now()
        with TemporaryFile(dir=self.folder) as nameless:
            file = Path(f"/proc/self/fd/{nameless.fileno()}")
            condition = {} if known is None else {"If-None-Match": known}
            url = self.client.url(self.path)
            call = Call("GET", url, headers=condition, accepted=(200, 304))
            answer = await self.client.download(call, file)
            if answer.status == 304:
                yield None
                return
            yield Download(
                SourceVersion(_modified(answer, requested_at)),
                answer.headers.get("ETag"),
                partial(documents, file, self.source),
            )


async def check_whole(load: LoadFile, source: RegisterSource, file: Download) -> None:
    """Raises RegisterFault for a download that is not the register's whole file."""
    try:
        await load.check(source, file.documents)
    except (WrongSource, NotWhole) as unfit:
        raise RegisterFault(f"not a whole file: {unfit}") from None


async def load_whole(
    load: LoadFile,
    source: RegisterSource,
    file: Download,
    documents: Iterator[Piece],
    tally: Tally,
) -> None:
    """Checks a register's whole file and loads its documents; raises RegisterFault if broken."""
    await check_whole(load, source, file)
    await load(source, documents, file_version=file.version, tally=tally)
    if tally.broken is not None:
        raise RegisterFault(f"the whole file is broken: {tally.broken}")


def _modified(answer: Answer, requested_at: datetime) -> datetime:
    """Returns the time of the file, at most the time of the request.

    A file dated in the future would make every change until then look older than itself.
    """
    text = answer.headers.get("Last-Modified")
    if text is None:
        return requested_at
    try:
        return max(min(http_date(text), requested_at), BEGINNING)
    except (ValueError, OverflowError):
        raise RegisterFault(f"Last-Modified is not a time: {text}") from None


S = TypeVar("S", bound=RegisterSettings)

#: Passes that another process may overtake; each one begins with a request to the register.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class CompaniesFirst:
    """Reads the feed of companies on if new units or owners belong to unknown companies.

    A company and its units are registered together but appear in separate feeds.
    """

    #: The name of the companies' source.
    source: str
    #: One pass over the companies.
    sync: Sync
    telemetry: PassTelemetry
    stores: Stores

    async def __call__(self, records: Sequence[Stored]) -> None:
        """Raises Conflict if another process moves the cursor first every time."""
        for left in reversed(range(_TRIES)):
            if not await self._are_missing(records):
                return
            try:
                await self._read_on()
            except Conflict:
                # The other process may not have reached these companies.
                if not left:
                    raise
            else:
                return

    async def _are_missing(self, records: Sequence[Stored]) -> bool:
        """Returns True if companies of new records are unknown, and their source is followed."""
        units = [record for record in records if isinstance(record, UnitRecord)]
        owned = [record.key for record in records if isinstance(record, OwnersRecord)]
        known = await self.stores.writer.known(
            companies=[*owned, *(unit.company for unit in units if unit.company)],
            units=[unit.key for unit in units],
        )
        wanted = {*owned, *(unit.company for unit in units if unit.key not in known.units)}
        missing = wanted - {None, *known.companies, *known.tombstones}
        # A source of companies that is not followed is not started here.
        return bool(missing) and await self.stores.cursors.read(self.source) is not None

    async def _read_on(self) -> None:
        tally, begun_at = Tally(), self.stores.now()
        cursor = await self.sync(tally)
        self.telemetry.done(tally, cursor, self.stores.now() - begun_at, moved=True)


@dataclass(frozen=True, slots=True)
class SyncDependencies:
    """Makes the passes over each source, and the parts that registers compose them of."""

    settings: SyncSettings
    registers: Mapping[type[RegisterSettings], RegisterSettings]
    database: Database
    stores: Stores
    leases: StoredLeases
    session: ClientSession
    reader: Reader
    retry_policy: RetryPolicy

    def passes(self, source: RegisterSource, follow: "Follow") -> Passes:
        """Returns the passes over a source, each of which `follow` makes."""
        causes = [failure.value for failure in FAILURES]
        telemetry = PassTelemetry(source.name, self.stores.now, causes=causes)
        sync = follow(source, self, telemetry)

        async def due(tally: Tally) -> None:
            verdicts = await apply_due(source, self.stores)
            tally.results.update(verdict.value for verdict in verdicts)

        return Passes(source.name, sync, due, self.stores, self.leases, telemetry)

    def companies_first(
        self, source: RegisterSource, companies: RegisterSource, follow: "Follow"
    ) -> CompaniesFirst | None:
        """Stores the companies of a source's new records first; None for the companies' own."""
        if source is companies:
            return None
        telemetry = PassTelemetry(companies.name, self.stores.now)
        sync = follow(companies, self, telemetry)
        return CompaniesFirst(companies.name, sync, telemetry, self.stores)

    def settings_of(self, settings: type[S]) -> S:
        """Returns the settings of a register."""
        return cast(S, self.registers[settings])

    def client_of(
        self, base: AnyHttpUrl, register: str, *, unreached: str = "", **headers: str
    ) -> RegisterClient:
        """Returns a client for an interface of a register at the base URL."""
        return RegisterClient(
            self.session,
            URL(str(base).rstrip("/")),
            register=register,
            retry_policy=self.retry_policy,
            headers=headers,
            unreached=unreached,
        )

    def file(self, client: RegisterClient, source: RegisterSource, path: str) -> DownloadedFile:
        """Returns a whole file of a register, to be downloaded on request."""
        folder = self.settings.download_dir
        return DownloadedFile(client, source, path, folder=folder, now=self.stores.now)

    def load(self, telemetry: PassTelemetry) -> LoadFile:
        """Returns the loading of downloaded files; refused records go to the telemetry."""
        return LoadFile(
            self.stores, self.read, origin=FileOrigin.DOWNLOADED, refuse=telemetry.refused
        )

    @property
    def apply_accounts(self) -> ApplyAccounts:
        """Applies annual accounts."""
        stores, settings = self.stores, self.settings
        return ApplyAccounts(stores.writer, stores.now, settings.sole_proprietors_accounts)

    @property
    def read(self) -> ReadDocuments:
        """Returns the parsing of documents, except of unchanged ones."""
        return ReadDocuments(self.stores.parts, self.reader)


#: Returns the pass over a source of a register.
Follow = Callable[[RegisterSource, SyncDependencies, PassTelemetry], Sync]
