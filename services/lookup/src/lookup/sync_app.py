"""The sync put together: every source's use case over one database and one set of connections."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Final

from aiohttp import ClientSession, encode_basic_auth
from pydantic import AnyHttpUrl
from yarl import URL

from common.contracts.company import Country, company_key, unit_key
from common.mongo import Client, Database, connected, database
from common.runtime.backoff import delays
from lookup.ingest.apply import ApplyRecords, RegisterWriter
from lookup.ingest.companies_first import CompaniesFirst, Records, nothing_first
from lookup.ingest.cursors import StoredCursors
from lookup.ingest.http_client import RegisterClient, RetryPolicy, sessions
from lookup.ingest.leases import Leases
from lookup.ingest.load import FileOrigin, LoadFile, LoadStates
from lookup.ingest.load_states import StoredLoadStates
from lookup.ingest.pass_telemetry import PassTelemetry
from lookup.ingest.passes import FAILURES, Passes, Sync
from lookup.ingest.read import ReadDocuments, Reader
from lookup.ingest.records import Kind
from lookup.ingest.remove import RemoveCompany, RemoveUnit
from lookup.ingest.sources import Cursors, Entities, Feed
from lookup.ingest.stored_digests import MongoDigests
from lookup.ingest.stored_keys import MongoKeys
from lookup.ingest.tally import Tally
from lookup.ingest.writes import StoredRegisterWriter
from lookup.registers.brreg.feed import FILES, BrregEntities, BrregRoles
from lookup.registers.brreg.feeds import RoleFeed, UpdateFeed
from lookup.registers.brreg.reconcile import Reconcile
from lookup.registers.brreg.refresh import RefreshEntities
from lookup.registers.brreg.sync import SyncNorway
from lookup.registers.cvr.scroll import CvrDocuments
from lookup.registers.cvr.sync import SyncDenmark
from lookup.registers.downloads import DownloadedFile
from lookup.registers.peppol.export import EXPORT
from lookup.registers.peppol.sync import SyncPeppol
from lookup.registers.peppol.vanished import DropVanished
from lookup.registers.processes import reading_processes
from lookup.settings import SyncSettings

#: How long a process that died keeps others from its sources.
LEASE: Final = timedelta(seconds=30)

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


async def connect(
    settings: SyncSettings, stack: AsyncExitStack, *, holder: str, now: Clock = utc_now
) -> "Wiring":
    """Connects onto `stack`; `holder` names this process in its leases."""
    random = Random()  # noqa: S311 (spreads retries, guards nothing)
    retry_policy = RetryPolicy(
        settings.register_user_agent,
        partial(delays, random, first=settings.register_delay.total_seconds(), most=60.0),
        settings.register_timeout,
        settings.register_tries,
        file_hosts=settings.register_file_hosts,
    )
    url = settings.mongo_url.get_secret_value()
    client = await stack.enter_async_context(
        connected(url, name="lookup-sync", operation_limit=None)
    )
    session = await stack.enter_async_context(
        sessions(retry_policy, ca_file=settings.register_ca_file)
    )
    reader = await stack.enter_async_context(reading_processes())
    register = database(client, settings.register_db)
    return Wiring(settings, client, register, session, reader, retry_policy, random, holder, now)


@dataclass(frozen=True, slots=True)
class Wiring:
    """Makes the passes over each source."""

    settings: SyncSettings
    client: Client
    register: Database
    session: ClientSession
    reader: Reader
    retry_policy: RetryPolicy
    random: Random
    holder: str
    now: Clock

    def passes(self, kind: Kind) -> Passes:
        journal = PassTelemetry(kind, self.now, causes=[failure.value for failure in FAILURES])
        return Passes(
            source=kind,
            sync=self._sync(kind, journal),
            cursors=self.cursors,
            leases=self.leases,
            journal=journal,
            span=LEASE,
            now=self.now,
        )

    def _sync(self, kind: Kind, journal: PassTelemetry) -> Sync:
        match kind:
            case Kind.NO_ENTITIES | Kind.NO_UNITS | Kind.NO_ROLES:
                return self._norway(kind, journal)
            case Kind.DK_COMPANIES | Kind.DK_UNITS:
                return self._denmark(kind)
            case Kind.PEPPOL:
                return self._peppol(journal)

    def _norway(self, kind: Kind, journal: PassTelemetry) -> SyncNorway:
        client = self.way_to(self.settings.brreg_url, "brreg")
        bring = self._bring(kind, client)
        return SyncNorway(
            kind=kind,
            feed=self._feed(kind, client),
            whole=self._file(client, kind, FILES[kind]),
            bring=bring,
            load=self._load(journal),
            reconcile=Reconcile(
                kind, bring, self._read, self._apply, MongoKeys(self.register), self.now
            ),
            cursors=self.cursors,
            reconcile_every=self.settings.reconcile_interval,
            now=self.now,
        )

    def _feed(self, kind: Kind, client: RegisterClient) -> Feed:
        size = self.settings.sync_page_size
        if kind is Kind.NO_ROLES:
            return RoleFeed(client, page_size=size, now=self.now)
        return UpdateFeed(client, kind, page_size=size)

    def _bring(self, kind: Kind, client: RegisterClient) -> RefreshEntities:
        entities: Entities = (
            BrregRoles(client) if kind is Kind.NO_ROLES else BrregEntities(client, kind)
        )
        return RefreshEntities(
            kind=kind,
            entities=entities,
            writer=self.writer,
            apply=self._apply,
            states=self.states,
            prepare=self._companies_first(kind, Kind.NO_ENTITIES),
            purge=self._purge(kind),
            now=self.now,
        )

    def _purge(self, kind: Kind) -> Callable[[str], Awaitable[bool]]:
        async def purge(number: str) -> bool:
            if kind is Kind.NO_UNITS:
                remove_unit = RemoveUnit(self._apply, self.writer, self.states, self.now)
                return await remove_unit(unit_key(Country.NO, number))
            remove = RemoveCompany(self.writer, self.states, self.now)
            return await remove(company_key(Country.NO, number))

        return purge

    def _companies_first(self, kind: Kind, companies: Kind) -> Callable[[Records], Awaitable[None]]:
        if kind is companies:
            return nothing_first
        journal = PassTelemetry(companies, self.now)
        sync = self._sync(companies, journal)

        async def read_on() -> None:
            tally, begun_at = Tally(), self.now()
            cursor = await sync(tally)
            journal.done(tally, cursor, self.now() - begun_at, moved=True)

        return CompaniesFirst(read_on, companies, self.writer, self.cursors)

    def _denmark(self, kind: Kind) -> SyncDenmark:
        password = self.settings.cvr_password.get_secret_value()
        authorization = encode_basic_auth(self.settings.cvr_user, password)
        client = self.way_to(self.settings.cvr_url, "cvr", Authorization=authorization)
        return SyncDenmark(
            kind=kind,
            documents=CvrDocuments(client, kind, page_size=self.settings.sync_page_size),
            writer=self.writer,
            apply=self._apply,
            states=self.states,
            cursors=self.cursors,
            prepare=self._companies_first(kind, Kind.DK_COMPANIES),
            overlap=self.settings.cvr_overlap,
            now=self.now,
        )

    def _peppol(self, journal: PassTelemetry) -> SyncPeppol:
        client = self.way_to(self.settings.peppol_url, "peppol")
        return SyncPeppol(
            export=self._file(client, Kind.PEPPOL, EXPORT),
            load=self._load(journal),
            drop=DropVanished(
                self._apply, self.writer, MongoKeys(self.register), self.states, self.now
            ),
            cursors=self.cursors,
            every=self.settings.peppol_interval,
            most_a_day=self.settings.peppol_downloads_a_day,
            now=self.now,
        )

    def way_to(self, base: AnyHttpUrl, register: str, **headers: str) -> RegisterClient:
        url = URL(str(base).rstrip("/"))
        return RegisterClient(
            self.session, url, register=register, retry_policy=self.retry_policy, headers=headers
        )

    def _file(self, client: RegisterClient, kind: Kind, path: str) -> DownloadedFile:
        return DownloadedFile(client, kind, path, folder=self.settings.download_dir, now=self.now)

    def _load(self, journal: PassTelemetry) -> LoadFile:
        return LoadFile(
            self._read,
            self._apply,
            self.states,
            now=self.now,
            origin=FileOrigin.DOWNLOADED,
            refuse=journal.refused,
        )

    @property
    def _read(self) -> ReadDocuments:
        return ReadDocuments(MongoDigests(self.register), self.reader)

    @property
    def _apply(self) -> ApplyRecords:
        waits = partial(delays, self.random, first=0.02, most=1.0)
        return ApplyRecords(self.writer, self.now, waits)

    # What the use cases write through; a test puts its own in between.

    @property
    def leases(self) -> Leases:
        return Leases(self.register, holder=self.holder)

    @property
    def writer(self) -> RegisterWriter:
        return StoredRegisterWriter(self.client, self.register)

    @property
    def states(self) -> LoadStates:
        return StoredLoadStates(self.register)

    @property
    def cursors(self) -> Cursors:
        return StoredCursors(self.register)
