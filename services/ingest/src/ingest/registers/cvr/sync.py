"""The Danish register: its settings, sources, scrolled documents, and a pass over them."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final

import structlog
from aiohttp import encode_basic_auth
from pydantic import AfterValidator, AnyHttpUrl, Field, SecretStr, model_validator

from common.contracts.company import Country
from common.domain.countries import FORMATS
from common.runtime.settings import Duration, duration
from ingest.following.dependencies import CompaniesFirst, SyncDependencies
from ingest.following.passes import PassTelemetry
from ingest.following.register_client import (
    SCROLL,
    Call,
    RegisterClient,
    RegisterFault,
    RegisterUnavailable,
)
from ingest.loading.load import Item, Tally, UnchangedDocument
from ingest.loading.stores import Cursor, Position, Stores
from ingest.records.records import (
    Raw,
    RecordRejected,
    RegisteredInError,
    Rejected,
    SourceVersion,
    Stored,
)
from ingest.records.source import Part, RegisterSource, parse
from ingest.registers.cvr.companies import company_record, unit_record
from ingest.registers.cvr.documents import unwrapped
from ingest.registers.cvr.ledger import COMPANIES, UNITS
from ingest.settings import RegisterSettings, RegisterUrl
from register_store.documents import BEGINNING

#: The register as it was served before it had TLS, which a firewall may still require.
_PLAINTEXT_URL: Final = "http://distribution.virk.dk/cvr-permanent"
#: The index of beneficial owners, which its users may not publish.
_BENEFICIAL_OWNERS: Final = "cvr-re"


def _without_beneficial_owners(url: AnyHttpUrl) -> AnyHttpUrl:
    if _BENEFICIAL_OWNERS in (url.path or "").lower().split("/"):
        raise ValueError(
            f"{_BENEFICIAL_OWNERS} has the beneficial owners, which are given on application "
            "only and must not be published: use …/cvr-permanent"
        )
    return url


class CvrSettings(RegisterSettings):
    """The settings of the Danish register."""

    cvr_url: Annotated[RegisterUrl, AfterValidator(_without_beneficial_owners)] = Field(
        default=AnyHttpUrl("https://distribution.virk.dk:8443/cvr-permanent"),
        description=f"the Danish register; {_PLAINTEXT_URL} is the same in clear",
    )
    cvr_user: str = Field(default="", description="user name issued by the Danish register")
    cvr_password: SecretStr = Field(default=SecretStr(""), description="its password")
    cvr_allow_plaintext: bool = Field(
        default=False, description="allow sending that password if CVR_URL is plain HTTP"
    )
    cvr_overlap: Duration = duration(
        "PT1H", "time after its own time stamp at which a Danish change may still appear"
    )

    def missing(self) -> str | None:
        """Returns a message if the register cannot be followed without more settings, else None."""
        if self.cvr_user:
            return None
        return (
            "the Danish register needs CVR_USER and CVR_PASSWORD: write to "
            "cvrselvbetjening@erst.dk, who send a declaration to sign; free, in some days. "
            "Meanwhile follow no-enheter, no-underenheter, no-roller and peppol, which need none"
        )

    @property
    def unreached(self) -> str:
        """The remedy if no connection to the register is made."""
        if self.cvr_url.scheme == "http":
            return ""
        return (
            f"; if a firewall lets no connection to {self.cvr_url.host}:{self.cvr_url.port} "
            f"through, CVR_URL={_PLAINTEXT_URL} with CVR_ALLOW_PLAINTEXT=true reads the same, "
            "with the password in clear"
        )

    def warn(self) -> None:
        """Logs a warning if the register is reached over plain HTTP."""
        if self.cvr_url.scheme == "http":
            structlog.get_logger().warning("cvr.plaintext", url=str(self.cvr_url))

    @model_validator(mode="after")
    def _password_is_encrypted(self) -> "CvrSettings":
        if self.cvr_url.scheme == "http" and not self.cvr_allow_plaintext and self.cvr_user:
            raise ValueError(
                "CVR_URL is plain HTTP, which exposes the password: "
                "set CVR_ALLOW_PLAINTEXT=true to accept that"
            )
        return self


#: The name of each part in URLs and in documents.
INDEXES: Final = {Part.COMPANY: "virksomhed", Part.UNIT: "produktionsenhed"}
WRAPPINGS: Final = {Part.COMPANY: "Vrvirksomhed", Part.UNIT: "VrproduktionsEnhed"}

#: Maximum documents per page. One has 60 kB and needs several times that once parsed.
MAX_DOCUMENTS: Final = 100

#: Time that the register keeps a scroll between two pages.
_KEPT = "1m"


class CvrDocuments:
    """Documents of companies or production units. Raises RegisterUnavailable and RegisterFault."""

    def __init__(
        self,
        client: RegisterClient,
        source: RegisterSource,
        *,
        page_size: int,
        today: Callable[[], date],
    ) -> None:
        self._client = client
        self._today = today
        self._source = source
        #: When the register loaded a document, and when its content last changed.
        self._loaded = f"{WRAPPINGS[source.part]}.sidstIndlaest"
        self._changed = f"{WRAPPINGS[source.part]}.sidstOpdateret"
        self._size = min(page_size, MAX_DOCUMENTS)

    def loaded_since(self, at: datetime) -> AsyncIterator[Sequence[Item]]:
        """Yields pages of every document that was loaded at `at` or later, in that order.

        Some changes do not move the time of the last change, such as new counts of employees.
        """
        return self._pages(_since(self._loaded, at), {self._loaded: "asc"})

    def changed_without_load_time(self, at: datetime) -> AsyncIterator[Sequence[Item]]:
        """Yields pages of the documents without a load time that changed at `at` or later.

        Documents without either time come first.
        """
        missing = {"bool": {"must_not": [{"exists": {"field": self._changed}}]}}
        query = {
            "bool": {
                "must_not": [{"exists": {"field": self._loaded}}],
                "should": [_since(self._changed, at), missing],
                "minimum_should_match": 1,
            }
        }
        return self._pages(query, {self._changed: {"order": "asc", "missing": "_first"}})

    async def _pages(
        self, query: Mapping[str, Any], order: Mapping[str, Any]
    ) -> AsyncIterator[Sequence[Item]]:
        # A repeated scroll request returns the next page, so the documents of a lost answer are
        # lost. Scroll requests are therefore not retried; the next pass restarts from the cursor.
        body = {"query": query, "sort": [order], "size": self._size}
        url = self._client.url(f"{INDEXES[self._source.part]}/_search", {"scroll": _KEPT})
        number = 0
        items, rest = await self._page(Call("POST", url, json=body, limit=SCROLL), number)
        while items:
            yield items
            number += len(items)
            items, rest = await self._page(rest, number)

    async def _page(self, call: Call, before: int) -> tuple[Sequence[Item], Call]:
        """Returns the page of a response, and the call for the next.

        The response itself is released before the next one is fetched. Raises RegisterUnavailable
        for a partial one.
        """
        content = (await self._client.ask(call)).content
        found = found_hits(content)
        items = [self._read(number, hit) for number, hit in enumerate(found, start=before + 1)]
        scroll = {"scroll": _KEPT, "scroll_id": content.get("_scroll_id")}
        url = self._client.url("/_search/scroll")
        return items, Call("POST", url, json=scroll, repeatable=False, limit=SCROLL)

    def _read(self, number: int, hit: Raw) -> Item:
        try:
            return parse(self._source.parse, hit, self._today(), self._source.ledger)
        except RecordRejected as refusal:
            return Rejected(number, f"_id {hit.get('_id')}", str(refusal))


def found_hits(content: Any) -> list[Raw]:
    """Returns the hits of a search; raises RegisterUnavailable for a part of them."""
    if not isinstance(content, dict):
        raise RegisterFault("the response is not an object")
    shards = content.get("_shards")
    # Elasticsearch returns 200 with the hits of the shards that did not fail.
    if content.get("timed_out") or (isinstance(shards, dict) and shards.get("failed")):
        raise RegisterUnavailable("the response to a search is partial")
    hits = content.get("hits")
    found = hits.get("hits") if isinstance(hits, dict) else None
    if not isinstance(found, list) or not all(isinstance(hit, dict) for hit in found):
        raise RegisterFault("the response has no list of hits")
    return found


def _since(field: str, at: datetime) -> Mapping[str, Any]:
    return {"range": {field: {"gte": at.astimezone(UTC).isoformat()}}}


def _key(wrapping: str, field: str, digits: int, raw: Raw) -> str | None:
    """Returns the key of a document; its number may be a JSON number without leading zeros."""
    try:
        number = unwrapped(raw, wrapping, field)[field]
    except RecordRejected:
        return None
    if type(number) is int:
        number = str(number).zfill(digits)
    return f"{Country.DK}:{number}" if isinstance(number, str | int) else None


_FORMATS: Final = FORMATS[Country.DK]

DK_COMPANIES: Final = RegisterSource(
    name="dk-virksomhed",
    part=Part.COMPANY,
    country=Country.DK,
    parse=company_record,
    key=partial(_key, WRAPPINGS[Part.COMPANY], "cvrNummer", _FORMATS.vat_digits),
    ledger=COMPANIES,
)
DK_UNITS: Final = replace(
    DK_COMPANIES,
    name="dk-produktionsenhed",
    part=Part.UNIT,
    parse=unit_record,
    key=partial(_key, WRAPPINGS[Part.UNIT], "pNummer", _FORMATS.unit_digits),
    ledger=UNITS,
)

SOURCES: Final = (DK_COMPANIES, DK_UNITS)


@dataclass(frozen=True, slots=True)
class SyncDenmark:
    """Synchronises companies or production units."""

    source: RegisterSource
    documents: CvrDocuments
    stores: Stores
    #: Stores the companies of new records first.
    prepare: CompaniesFirst | None
    #: Time after its own time stamp at which a change may still appear.
    overlap: timedelta

    async def __call__(self, tally: Tally) -> Cursor:
        """Runs one pass: all changes since the cursor, and the overlap before it again.

        Raises RegisterUnavailable, RegisterFault, Unavailable and Conflict; finished work stays.
        """
        cursor = await self.stores.cursors.read(self.source.name)
        if cursor is None:
            await self.stores.states.begin(self.source.name, at=self.stores.now())
            cursor = Cursor(Position(BEGINNING), until=BEGINNING)
        publish_events = await self.stores.states.is_loaded(self.source.name)
        version = SourceVersion(self.stores.now())
        store = partial(self._store, version=version, publish_events=publish_events)
        since = max(cursor.position.at - self.overlap, BEGINNING)
        # These move the cursor last: it may not pass documents that were loaded before it.
        times = [BEGINNING]
        async for items in self.documents.changed_without_load_time(since):
            times += await store(items, tally)
        async for items in self.documents.loaded_since(since):
            if loaded := await store(items, tally):
                reached = max(*loaded, cursor.position.at)
                until = max(cursor.until, reached)
                moved = replace(cursor, position=Position(reached), until=until)
                cursor = await self.stores.cursors.move(self.source.name, moved)
        cursor = replace(cursor, position=Position(max(*times, cursor.position.at)))
        return await self.stores.cursors.move(
            self.source.name, await self._ended_pass(cursor, version.at, tally)
        )

    async def _store(
        self, items: Sequence[Item], tally: Tally, *, version: SourceVersion, publish_events: bool
    ) -> list[datetime]:
        """Stores a page; returns the times of its documents, without those in the future."""
        found = [one for one in tally.usable(items) if not isinstance(one, UnchangedDocument)]
        records = await self._records(found, version, tally)
        if records:
            if publish_events and self.prepare is not None:
                await self.prepare(records)
            verdicts = await self.stores.apply(records, version, publish_events=publish_events)
            tally.judged(records, verdicts)
        # The cursor must not pass changes before a document that is dated in the future.
        dated = [one.version.at for one in found if one.version is not None]
        times = [at for at in dated if at <= version.at]
        settles = times or len(dated) < len(found)
        tally.unreadable_tail = 0 if settles else tally.unreadable_tail + len(items)
        return times

    async def _ended_pass(self, cursor: Cursor, requested_at: datetime, tally: Tally) -> Cursor:
        """Raises RegisterFault if the first load found no document."""
        if not await self.stores.states.is_loaded(self.source.name):
            if tally.read == tally.results["refused"]:
                raise RegisterFault("the register returned no readable document")
            counts = {"read": tally.read, **tally.results}
            await self.stores.states.finish(self.source.name, at=self.stores.now(), counts=counts)
        return cursor if tally.unreadable_tail else replace(cursor, until=requested_at)

    async def _records(
        self, found: Iterable[Stored | RegisteredInError], version: SourceVersion, tally: Tally
    ) -> list[Stored]:
        """Returns the records of a page, one per document; withdrawn ones if stored, as ended."""
        # The later of two versions: a document that changes during the scroll appears twice.
        newest = {record.key: record for record in found}.values()
        records = [record for record in newest if isinstance(record, Stored)]
        mistakes = [record for record in newest if isinstance(record, RegisteredInError)]
        ended = await self.stores.apply.ended_by_mistake(mistakes, version)
        tally.results["elsewhere"] += len(mistakes) - len(ended)
        return [*records, *ended]


def follow(
    source: RegisterSource, dependencies: SyncDependencies, _telemetry: PassTelemetry
) -> SyncDenmark:
    """Returns the pass over companies or production units."""
    settings = dependencies.settings_of(CvrSettings)
    password = settings.cvr_password.get_secret_value()
    authorization = encode_basic_auth(settings.cvr_user, password)
    client = dependencies.client_of(
        settings.cvr_url, "cvr", unreached=settings.unreached, Authorization=authorization
    )
    return SyncDenmark(
        source=source,
        documents=CvrDocuments(
            client,
            source,
            page_size=dependencies.settings.sync_page_size,
            today=dependencies.stores.today,
        ),
        stores=dependencies.stores,
        prepare=dependencies.companies_first(source, DK_COMPANIES, follow),
        overlap=settings.cvr_overlap,
    )
