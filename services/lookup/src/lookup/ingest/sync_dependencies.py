"""Dependencies of passes: one database and one set of connections for all sources."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from aiohttp import ClientSession
from pydantic import AnyHttpUrl
from yarl import URL

from common.mongo import Database
from lookup.ingest.companies_first import CompaniesFirst
from lookup.ingest.downloads import DownloadedFile
from lookup.ingest.http_client import RegisterClient, RetryPolicy
from lookup.ingest.leases import StoredLeases
from lookup.ingest.load import LoadFile
from lookup.ingest.load_states import FileOrigin
from lookup.ingest.pass_telemetry import PassTelemetry
from lookup.ingest.passes import FAILURES, Passes
from lookup.ingest.read import ReadDocuments, Reader
from lookup.ingest.register_settings import RegisterSettings
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.stores import Stores
from lookup.settings import SyncSettings

S = TypeVar("S", bound=RegisterSettings)


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

    def passes(self, source: RegisterSource) -> Passes:
        causes = [failure.value for failure in FAILURES]
        telemetry = PassTelemetry(source.name, self.stores.now, causes=causes)
        sync = source.follow(source, self, telemetry)
        return Passes(source.name, sync, self.stores, self.leases, telemetry)

    def companies_first(
        self, source: RegisterSource, companies: RegisterSource
    ) -> CompaniesFirst | None:
        """Stores the companies of a source's new records first; None for the companies' own."""
        if source is companies:
            return None
        telemetry = PassTelemetry(companies.name, self.stores.now)
        sync = companies.follow(companies, self, telemetry)
        return CompaniesFirst(companies.name, sync, telemetry, self.stores)

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
        return DownloadedFile(client, source, path, folder=folder, now=self.stores.now)

    def load(self, telemetry: PassTelemetry) -> LoadFile:
        return LoadFile(
            self.stores, self.read, origin=FileOrigin.DOWNLOADED, refuse=telemetry.refused
        )

    @property
    def read(self) -> ReadDocuments:
        return ReadDocuments(self.stores.parts, self.reader)
