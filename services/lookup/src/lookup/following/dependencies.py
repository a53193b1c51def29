"""Dependencies of passes: one database and one set of connections for all sources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from aiohttp import ClientSession
from pydantic import AnyHttpUrl
from yarl import URL

from common.mongo import Database
from lookup.following.companies_first import CompaniesFirst
from lookup.following.downloads import DownloadedFile
from lookup.following.passes import FAILURES, Passes, Sync
from lookup.following.register_client import RegisterClient, RetryPolicy
from lookup.following.settings import RegisterSettings
from lookup.following.telemetry import PassTelemetry
from lookup.loading.load import LoadFile
from lookup.loading.progress import FileOrigin
from lookup.loading.read import ReadDocuments, Reader
from lookup.loading.stores import Stores
from lookup.records.source import RegisterSource
from lookup.settings import SyncSettings
from lookup.store.leases import StoredLeases

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

    def passes(self, source: RegisterSource, follow: "Follow") -> Passes:
        """Returns the passes over a source, each of which `follow` makes."""
        causes = [failure.value for failure in FAILURES]
        telemetry = PassTelemetry(source.name, self.stores.now, causes=causes)
        sync = follow(source, self, telemetry)
        return Passes(source.name, sync, self.stores, self.leases, telemetry)

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

    def client_of(self, base: AnyHttpUrl, register: str, **headers: str) -> RegisterClient:
        """Returns a client for an interface of a register at the base URL."""
        url = URL(str(base).rstrip("/"))
        return RegisterClient(
            self.session, url, register=register, retry_policy=self.retry_policy, headers=headers
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
    def read(self) -> ReadDocuments:
        """Returns the parsing of documents, except of unchanged ones."""
        return ReadDocuments(self.stores.parts, self.reader)


#: Makes one pass over a source of a register.
Follow = Callable[[RegisterSource, SyncDependencies, PassTelemetry], Sync]
