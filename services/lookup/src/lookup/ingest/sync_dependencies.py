"""Dependencies of passes: one database and one set of connections for all sources."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Final, TypeVar, cast

from aiohttp import ClientSession
from pydantic import AnyHttpUrl
from yarl import URL

from common.mongo import Client, Database
from common.runtime.backoff import delays
from lookup.ingest.apply import ApplyRecords, RegisterWriter
from lookup.ingest.companies_first import CompaniesFirst, Records, no_preparation
from lookup.ingest.cursors import StoredCursors
from lookup.ingest.downloads import DownloadedFile
from lookup.ingest.http_client import RegisterClient, RetryPolicy
from lookup.ingest.leases import StoredLeases
from lookup.ingest.load import LoadFile
from lookup.ingest.load_states import FileOrigin, LoadStates, StoredLoadStates
from lookup.ingest.pass_telemetry import PassTelemetry
from lookup.ingest.passes import FAILURES, Passes
from lookup.ingest.read import ReadDocuments, Reader
from lookup.ingest.register_settings import RegisterSettings
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sources import Cursors, Leases, StoredKeys
from lookup.ingest.stored_digests import MongoDigests
from lookup.ingest.stored_keys import MongoKeys
from lookup.ingest.tally import Tally
from lookup.ingest.writes import StoredRegisterWriter
from lookup.settings import SyncSettings

#: Time after which another process takes over the sources of one that died.
LEASE: Final = timedelta(seconds=30)

Clock = Callable[[], datetime]
S = TypeVar("S", bound=RegisterSettings)


@dataclass(frozen=True, slots=True)
class SyncDependencies:
    """Makes the passes over each source, and the parts that registers compose them of."""

    settings: SyncSettings
    registers: Mapping[type[RegisterSettings], RegisterSettings]
    client: Client
    register: Database
    session: ClientSession
    reader: Reader
    retry_policy: RetryPolicy
    random: Random
    holder: str
    now: Clock

    def passes(self, source: RegisterSource) -> Passes:
        causes = [failure.value for failure in FAILURES]
        telemetry = PassTelemetry(source.name, self.now, causes=causes)
        return Passes(
            source=source.name,
            sync=source.follow(source, self, telemetry),
            cursors=self.cursors,
            leases=self.leases,
            telemetry=telemetry,
            span=LEASE,
            now=self.now,
        )

    def companies_first(
        self, source: RegisterSource, companies: RegisterSource
    ) -> Callable[[Records], Awaitable[None]]:
        """Ensures that the companies of a source's new records are stored first."""
        if source is companies:
            return no_preparation
        telemetry = PassTelemetry(companies.name, self.now)
        sync = companies.follow(companies, self, telemetry)

        async def read_on() -> None:
            tally, begun_at = Tally(), self.now()
            cursor = await sync(tally)
            telemetry.done(tally, cursor, self.now() - begun_at, moved=True)

        return CompaniesFirst(read_on, companies.name, self.writer, self.cursors)

    def settings_of(self, kind: type[S]) -> S:
        """The settings of a register."""
        return cast(S, self.registers[kind])

    def client_of(self, base: AnyHttpUrl, register: str, **headers: str) -> RegisterClient:
        url = URL(str(base).rstrip("/"))
        return RegisterClient(
            self.session, url, register=register, retry_policy=self.retry_policy, headers=headers
        )

    def file(self, client: RegisterClient, source: RegisterSource, path: str) -> DownloadedFile:
        folder = self.settings.download_dir
        return DownloadedFile(client, source, path, folder=folder, now=self.now)

    def load(self, telemetry: PassTelemetry) -> LoadFile:
        return LoadFile(
            self.read,
            self.apply,
            self.states,
            now=self.now,
            origin=FileOrigin.DOWNLOADED,
            refuse=telemetry.refused,
        )

    @property
    def read(self) -> ReadDocuments:
        return ReadDocuments(MongoDigests(self.register), self.reader)

    @property
    def apply(self) -> ApplyRecords:
        waits = partial(delays, self.random, first=0.02, max_delay=1.0)
        return ApplyRecords(self.writer, self.now, waits)

    @property
    def keys(self) -> StoredKeys:
        return MongoKeys(self.register)

    # Stores that passes write to; tests wrap and replace them.

    @property
    def leases(self) -> Leases:
        return StoredLeases(self.register, holder=self.holder)

    @property
    def writer(self) -> RegisterWriter:
        return StoredRegisterWriter(self.client, self.register)

    @property
    def states(self) -> LoadStates:
        return StoredLoadStates(self.register)

    @property
    def cursors(self) -> Cursors:
        return StoredCursors(self.register)
