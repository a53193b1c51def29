"""Annual accounts of Denmark: their settings, source, index, documents, and a pass over them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog
from pydantic import AnyHttpUrl, Field
from yarl import URL

from common.contracts.company import CompanyKey, Country
from common.runtime.settings import Duration, duration
from ingest.changes.accounts import ApplyAccounts, FiledAccounts
from ingest.following.dependencies import SyncDependencies
from ingest.following.passes import PassTelemetry
from ingest.following.register_client import (
    PAGE,
    Call,
    RegisterClient,
    RegisterFault,
    RegisterUnavailable,
    UntrustedRegister,
)
from ingest.loading.accounts import BATCH, ReadAccounts, store_accounts, waits_for
from ingest.loading.load import Tally
from ingest.loading.stores import Cursor, Position, Stores, is_due
from ingest.records.records import Raw, Record, RecordRejected
from ingest.records.source import Part, RegisterSource
from ingest.registers.cvr.accounts_facts import WANTED
from ingest.registers.cvr.annual_accounts import Filing, read_filing, without_figures
from ingest.registers.cvr.filings import changed_at, filing_of
from ingest.registers.cvr.sync import DK_COMPANIES, found_hits
from ingest.registers.cvr.xbrl import MAX_SIZE, Instance, UnreadableDocument, read_instance
from ingest.settings import RegisterSettings, RegisterUrl
from register_store.documents import BEGINNING

log = structlog.get_logger()

#: The host that the index names in the addresses of documents.
DOCUMENT_HOST: Final = "regnskaber.virk.dk"


class FilingsSettings(RegisterSettings):
    """The settings of the Danish register's annual accounts."""

    cvr_filings_url: RegisterUrl = Field(
        default=AnyHttpUrl("https://distribution.virk.dk:8443/offentliggoerelser"),
        description="the index of filings of annual accounts, which needs no password; "
        "http://distribution.virk.dk/offentliggoerelser is the same in clear",
    )
    cvr_documents_url: RegisterUrl = Field(
        default=AnyHttpUrl(f"https://{DOCUMENT_HOST}"),
        description="the only host that their documents are fetched from; if it has no TLS, "
        f"http://{DOCUMENT_HOST}, where figures can be altered on the way",
    )
    cvr_documents_timeout: Duration = duration("PT20S", "timeout of one document")
    cvr_filings_interval: Duration = duration(
        "PT10M", "time between passes over the index, which the register updates as often"
    )
    cvr_documents_at_once: int = Field(
        default=4, ge=1, le=16, description="documents that are fetched at once"
    )
    cvr_filings_overlap: Duration = duration(
        "P1D", "time after its own time stamp at which a filing may still appear"
    )

    def warn(self) -> None:
        """Logs a warning if documents are fetched over plain HTTP."""
        if self.cvr_documents_url.scheme == "http":
            log.warning("cvr.documents_plaintext", url=str(self.cvr_documents_url))


def _no_record(_raw: Raw, _today: object) -> Record:
    raise RecordRejected("a filing of annual accounts, which dk-regnskab reads")


def _key(raw: Raw) -> str | None:
    identity = raw.get("_id")
    return identity if isinstance(identity, str) else None


DK_ACCOUNTS: Final = RegisterSource(
    name="dk-regnskab", part=Part.ACCOUNTS, country=Country.DK, parse=_no_record, key=_key
)
SOURCES: Final = (DK_ACCOUNTS,)

#: Hits of one search; a window with more is halved.
_MAX_HITS: Final = 2000
_WANTED: Final = (
    "cvrNummer",
    "offentliggoerelsestype",
    "regnskab",
    "omgoerelse",
    "offentliggoerelsesTidspunkt",
    "indlaesningsTidspunkt",
    "sidstOpdateret",
    "dokumenter",
)
#: Times have milliseconds, so a shorter window is halved by number.
_LEAST: Final = timedelta(milliseconds=1)
_FIRST_WINDOW: Final = timedelta(days=30)
_NUMBERS: Final = 10**8


@dataclass(frozen=True, slots=True)
class Window:
    """Changes from a time to before another, of companies from a number to before another."""

    since: datetime
    until: datetime
    low: int = 0
    high: int = _NUMBERS

    def halves(self) -> tuple["Window", "Window"]:
        """Returns two windows with the same changes. Old filings of a day share one time."""
        span = (self.until - self.since) // 2
        if span >= _LEAST:
            middle = self.since + span
            return replace(self, until=middle), replace(self, since=middle)
        number = (self.low + self.high) // 2
        return replace(self, high=number), replace(self, low=number)

    @property
    def is_least(self) -> bool:
        """True if it has one time and one company."""
        return self.until - self.since < 2 * _LEAST and self.high - self.low <= 1

    def query(self) -> Mapping[str, Any]:
        """Returns the search for its changes."""
        times = {"gte": _iso(self.since), "lt": _iso(self.until)}
        filters: list[Mapping[str, Any]] = [
            {"term": {"offentliggoerelsestype": "regnskab"}},
            {"range": {"sidstOpdateret": times}},
        ]
        if (self.low, self.high) != (0, _NUMBERS):
            filters.append({"range": {"cvrNummer": {"gte": self.low, "lt": self.high}}})
        return {
            "size": _MAX_HITS,
            "sort": [{"sidstOpdateret": "asc"}],
            "query": {"bool": {"filter": filters}},
            "_source": list(_WANTED),
        }


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class FilingIndex:
    """The index of filings. Raises RegisterUnavailable and RegisterFault."""

    client: RegisterClient

    async def hits(self, window: Window) -> list[Raw] | None:
        """Returns the hits of a window; None if there are too many for one search."""
        call = Call("POST", self.client.url("_search"), json=window.query(), limit=PAGE)
        content = (await self.client.ask(call)).content
        found = found_hits(content)
        total = content["hits"].get("total")
        count = total.get("value") if isinstance(total, dict) else total
        if not isinstance(count, int):
            raise RegisterFault("the response has no number of hits")
        if count <= len(found):
            return found
        if count > _MAX_HITS and not window.is_least:
            return None
        raise RegisterFault(f"the response has {len(found)} of {count} hits")


#: Statuses that say that there is no such document, and all that are no fault that may pass.
_NONE: Final = (400, 404, 410)
_ANSWERS: Final = (200, 401, 403, *_NONE)


#: Documents that do not exist, one after another; then the address is taken to be a wrong one.
_MAX_MISSING: Final = 100


@dataclass(slots=True)
class Documents:
    """The documents of filings, from one host. Raises what `RegisterClient` does."""

    #: Each sends one request at a time.
    clients: "asyncio.Queue[RegisterClient]"
    #: The host that the documents are fetched from, whatever the scheme of an address.
    base: URL
    timeout: timedelta
    missing: int = 0

    async def __call__(self, address: str) -> bytes:
        """Returns a document as it was sent; raises UnreadableDocument if there is none."""
        url = URL(address)
        if url.host not in (DOCUMENT_HOST, self.base.host) or url.user is not None:
            raise UnreadableDocument(f"its address is on another host, {url.host}")
        path = self.base.raw_path.rstrip("/") + url.raw_path
        call = Call("GET", self.base.with_path(path, encoded=True), accepted=_ANSWERS)
        client = await self.clients.get()
        try:
            answer = await client.fetch(call, limit=MAX_SIZE, timeout=self.timeout)
        except UntrustedRegister:
            raise
        except RegisterFault as fault:
            raise UnreadableDocument(str(fault)) from None
        finally:
            self.clients.put_nowait(client)
        self.missing = self.missing + 1 if answer.status in _NONE else 0
        if self.missing >= _MAX_MISSING:
            raise RegisterFault(f"{_MAX_MISSING} documents are not at {self.base}")
        if answer.status in _NONE:
            raise UnreadableDocument(f"the register has none: status {answer.status}")
        if answer.status != 200:
            # Credentials refused here would be refused for every document.
            raise RegisterUnavailable(f"{url.path}: status {answer.status}")
        return bytes(answer.content)


#: Returns a document by its address; raises UnreadableDocument.
Fetch = Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class ReadFilings:
    """Reads filings with their documents, which are dropped after that."""

    fetch: Fetch
    #: Receives a filing whose document is not readable, and the reason.
    unreadable: Callable[[Filing, str], None]

    async def __call__(self, hit: Raw) -> FiledAccounts | None:
        """Returns the accounts of a hit; raises RecordRejected for an unusable one."""
        filing = filing_of(hit)
        return None if filing is None else await self.accounts(filing)

    async def accounts(self, filing: Filing) -> FiledAccounts:
        """Returns the accounts of a filing, without figures if no document is readable."""
        key = CompanyKey(Country.DK, filing.number)
        instances, reasons = [], []
        for address in filing.documents:
            try:
                content = await self.fetch(address)
                instances.append(await asyncio.to_thread(read_instance, content, WANTED))
            except UnreadableDocument as reason:
                reasons.append(str(reason))
        try:
            accounts = self._read(filing, instances, reasons)
        except UnreadableDocument as reason:
            reasons.append(str(reason))
            accounts = [without_figures(filing, "document_unreadable")]
        for each in reasons:
            self.unreadable(filing, each)
        return FiledAccounts(key, accounts)

    def _read(
        self, filing: Filing, instances: Sequence[Instance], reasons: Sequence[str]
    ) -> list[Any]:
        if not instances:
            return [without_figures(filing, *["document_unreadable"][: len(reasons)])]
        found = read_filing(filing, instances)
        if not reasons:
            return found
        return [
            each.model_copy(update={"warnings": (*each.warnings, "document_unreadable")})
            for each in found
        ]


def from_folder(folder: Path | None) -> ReadAccounts:
    """Returns a reader whose documents are files, named as the last part of their address.

    Raises ValueError if there is no such folder.
    """
    if folder is None or not folder.is_dir():
        raise ValueError(f"--documents: {DK_ACCOUNTS} needs the folder of the filings' documents")

    async def fetch(address: str) -> bytes:
        name = URL(address).name
        if not name or "/" in name:
            raise UnreadableDocument("its address names no file")
        try:
            return await asyncio.to_thread(_file, folder / name)
        except OSError:
            raise UnreadableDocument(f"the folder has no readable file {name}") from None

    return ReadFilings(fetch, _note)


def _file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_SIZE + 1)


def _note(filing: Filing, reason: str) -> None:
    log.warning(
        "accounts.document_unreadable", filing=filing.id, company=filing.number, reason=reason
    )


#: Documents that have no answer one after another; then the pass ends.
_MAX_FAILED: Final = 10
#: Time for which a filing is tried again whose document has no answer.
_PATIENCE: Final = timedelta(days=1)


@dataclass
class Recent:
    """Filings of the overlap that this process has stored, and those whose document failed."""

    stored: dict[tuple[str, str], datetime] = field(default_factory=dict)
    failing: dict[str, datetime] = field(default_factory=dict)

    def forget(self, before: datetime) -> None:
        """Drops what the next pass does not see again."""
        self.stored = {key: at for key, at in self.stored.items() if at >= before}


def _version(hit: Raw) -> tuple[str, str]:
    return str(hit.get("_id")), str(hit.get("_source", {}).get("sidstOpdateret"))


@dataclass(frozen=True, slots=True)
class SyncAccounts:
    """Follows the index of filings by the time of their last change."""

    index: FilingIndex
    read: ReadFilings
    apply: ApplyAccounts
    stores: Stores
    overlap: timedelta
    every: timedelta
    at_once: int
    recent: Recent = field(default_factory=Recent)

    async def __call__(self, tally: Tally) -> Cursor:
        """Runs one pass: all changes since the cursor, and the overlap before it again.

        Raises RegisterUnavailable, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        name, states = DK_ACCOUNTS.name, self.stores.states
        if unstored := await waits_for(DK_COMPANIES.name, self.stores, source=name):
            return unstored
        cursor = await self.stores.cursors.read(name)
        if cursor is None:
            await states.begin(name, at=self.stores.now())
            cursor = Cursor(Position(BEGINNING), until=BEGINNING)
        publish_events = await states.is_loaded(name)
        until = self.stores.now()
        if not is_due(cursor.until, self.every, until):
            return cursor
        async for window, hits in self._windows(cursor, until):
            missing = await self._store(hits, tally, publish_events=publish_events)
            if missing:
                raise RegisterUnavailable(f"no answer for the document of {missing}")
            reached = max(window.until, cursor.position.at)
            moved = replace(cursor, position=Position(reached))
            if window.high == _NUMBERS and reached != cursor.position.at:
                cursor = await self.stores.cursors.move(name, moved)
        self.recent.forget(until - self.overlap - timedelta(hours=1))
        if not publish_events:
            await states.finish(name, at=self.stores.now(), counts={"read": tally.read})
        return await self.stores.cursors.move(name, replace(cursor, until=until))

    async def _windows(self, cursor: Cursor, until: datetime) -> Any:
        """Yields windows in order, each with its hits."""
        start = max(cursor.position.at - self.overlap, BEGINNING)
        span = _FIRST_WINDOW if cursor.position.at > BEGINNING else until - start
        while start < until:
            end = min(start + span, until)
            waiting = [Window(start, end)]
            while waiting:
                window = waiting.pop()
                hits = await self.index.hits(window)
                if hits is None:
                    first, second = window.halves()
                    span = max(first.until - first.since, _LEAST)
                    waiting += [second, first]
                else:
                    yield window, hits
            start, span = end, span * 2

    async def _store(
        self, hits: Sequence[Raw], tally: Tally, *, publish_events: bool
    ) -> str | None:
        """Stores the filings of a window; returns the id of one whose document has no answer."""
        missing: str | None = None
        new = [hit for hit in hits if _version(hit) not in self.recent.stored]
        for start in range(0, len(new), BATCH):
            some = new[start : start + BATCH]
            failed: list[str] = []
            filed = await self._read_all(some, tally, failed)
            found = [each for each in filed if each is not None]
            await store_accounts(found, self.apply, tally, publish_events=publish_events)
            for hit in some:
                if str(hit.get("_id")) not in failed:
                    self.recent.stored[_version(hit)] = changed_at(hit) or BEGINNING
            missing = missing or next(iter(failed), None)
        return missing

    async def _read_all(
        self, hits: Sequence[Raw], tally: Tally, failed: list[str]
    ) -> list[FiledAccounts | None]:
        """Reads filings, some at once; those whose document has no answer go to `failed`."""
        places: Iterator[tuple[int, Raw]] = iter(enumerate(hits))
        results: list[FiledAccounts | None] = [None] * len(hits)

        async def work() -> None:
            for number, hit in places:
                results[number] = await self._one(hit, tally, failed)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.at_once):
                    group.create_task(work())
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return results

    async def _one(self, hit: Raw, tally: Tally, failed: list[str]) -> FiledAccounts | None:
        """Returns the accounts of a hit, which is counted if it has none."""
        tally.read += 1
        try:
            filing = filing_of(hit)
        except RecordRejected as refusal:
            tally.refused(str(refusal))
            return None
        if filing is None:
            tally.results["elsewhere"] += 1
            return None
        try:
            filed = await self.read.accounts(filing)
        except RegisterUnavailable as fault:
            return self._failed(filing, failed, fault)
        self.recent.failing.pop(filing.id, None)
        if any("document_unreadable" in each.warnings for each in filed.accounts):
            tally.results["unreadable"] += 1
        return filed

    def _failed(
        self, filing: Filing, failed: list[str], fault: RegisterUnavailable
    ) -> FiledAccounts | None:
        """Leaves a filing to the next pass; after a day of that its document is unreadable."""
        now = self.stores.now()
        since = self.recent.failing.setdefault(filing.id, now)
        if now - since < _PATIENCE:
            failed.append(filing.id)
            if len(failed) >= _MAX_FAILED:
                raise fault
            return None
        _note(filing, f"no answer for a day: {fault}")
        accounts = [without_figures(filing, "document_unreadable")]
        return FiledAccounts(CompanyKey(Country.DK, filing.number), accounts)


def follow(
    _source: RegisterSource, dependencies: SyncDependencies, _telemetry: PassTelemetry
) -> SyncAccounts:
    """Returns the pass over the index of filings."""
    settings = dependencies.settings_of(FilingsSettings)
    base = URL(str(settings.cvr_documents_url).rstrip("/"))
    clients: asyncio.Queue[RegisterClient] = asyncio.Queue()
    # A document's redirect leads nowhere else, whatever whole files may do.
    policy = replace(dependencies.retry_policy, file_hosts=())
    client_of = partial(replace(dependencies, retry_policy=policy).client_of, register="cvr")
    for _ in range(settings.cvr_documents_at_once):
        clients.put_nowait(
            client_of(
                settings.cvr_documents_url,
                unreached="; if the register's documents have no TLS, see CVR_DOCUMENTS_URL",
            )
        )
    documents = Documents(clients, base, settings.cvr_documents_timeout)
    return SyncAccounts(
        FilingIndex(client_of(settings.cvr_filings_url)),
        ReadFilings(documents, _note),
        dependencies.apply_accounts,
        dependencies.stores,
        settings.cvr_filings_overlap,
        settings.cvr_filings_interval,
        settings.cvr_documents_at_once,
    )
