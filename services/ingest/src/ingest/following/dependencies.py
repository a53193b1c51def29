"""Dependencies of passes: one database and one set of connections for all sources."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from aiohttp import ClientSession
from pydantic import AnyHttpUrl
from yarl import URL

from common.leases import StoredLeases
from common.mongo import Database
from ingest.changes.states import Conflict
from ingest.following.downloads import DownloadedFile
from ingest.following.passes import FAILURES, Passes, Sync
from ingest.following.register_client import RegisterClient, RetryPolicy
from ingest.following.settings import RegisterSettings
from ingest.following.telemetry import PassTelemetry
from ingest.loading.batches import Tally
from ingest.loading.due import apply_due
from ingest.loading.load import LoadFile
from ingest.loading.progress import FileOrigin
from ingest.loading.read import ReadDocuments, Reader
from ingest.loading.stores import Stores
from ingest.records.records import CompanyRecord, OwnersRecord, UnitRecord
from ingest.records.source import RegisterSource
from ingest.settings import SyncSettings

S = TypeVar("S", bound=RegisterSettings)

#: Passes that another process may overtake; each one begins with a request to the register.
_TRIES = 5

Records = Sequence[CompanyRecord | OwnersRecord | UnitRecord]


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

    async def __call__(self, records: Records) -> None:
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

    async def _are_missing(self, records: Records) -> bool:
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


#: Returns the pass over a source of a register.
Follow = Callable[[RegisterSource, SyncDependencies, PassTelemetry], Sync]
