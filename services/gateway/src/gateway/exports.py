"""Exports: the companies of a register as JSON lines, in one response read page by page.

Each key has at most one in progress, for as long as its client reads.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Annotated, Any, Final, Protocol

import structlog
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.typedefs import Handler
from prometheus_client import Counter, Gauge
from pydantic import AfterValidator, PlainValidator, ValidationInfo

from common.contracts.company import Country, Include
from common.contracts.failures import Unavailable
from common.contracts.find import ExportPage, ExportRequest, FindRequest, FindSort
from common.contracts.lookup import SearchType
from common.contracts.watchlists import WatchlistId, part_after
from common.domain.countries import FORMATS
from common.runtime.public_port.conditional import takes_gzip
from common.runtime.tasks import background, delays
from gateway.access.clients import Caller
from gateway.access.keys import ApiKey, ApiKeys, export_job
from gateway.events.feed import write_cursor
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.parameters import REQUIRED, Invalid, Parameters, once, one_country, single
from gateway.http.responses import LEFT_OUT, NO_STORE
from gateway.lookups.codes import Stored, StoredCodes
from gateway.lookups.find import Filters, countries_of
from gateway.lookups.lookup import included_parts
from gateway.lookups.protected import ProtectedCompanies
from gateway.lookups.terms import InvalidTerm, normalise
from gateway.lookups.watched import FindWatched, watchlist_id
from gateway.problems import InvalidParameter, LookupTimeout, RateLimited, ServiceUnavailable

#: How long the keys of a killed gateway cannot begin another export.
LEASE: Final = timedelta(seconds=20)
#: Seconds after which a refused client tries again: with its usual three retries it outlasts the
#: lease of a gateway that was killed.
_RETRY_AFTER: Final = 10
#: Exports of one process: a reader that reads nothing holds 3 MB for the minute until it is closed.
MAX_EXPORTS: Final = 20
#: Seconds between two renewals, and between two checks of the key: a revocation takes effect within
#: 10 s.
RENEW_EVERY: Final = 4.0
#: Numbers of a watchlist that a request carries, of four bytes each.
NUMBERS: Final = 10_000
#: Seconds for which a failed read of a page is repeated.
PATIENCE: Final = 30.0

_RUNNING = Gauge("exports_running", "Exports in progress")
_ENDED = Counter("exports_total", "Ended exports by outcome", ["outcome"])
_COMPANIES = Counter("exported_companies_total", "Companies in the pages of exports")

_FAILURES = (ServiceUnavailable, LookupTimeout)


class Exports(Protocol):
    """The companies of a register, in pages."""

    async def export(self, request: ExportRequest, *, caller: Caller) -> ExportPage:
        """Returns the next page; raises ServiceUnavailable, LookupTimeout or InternalError."""


class Lease(Protocol):
    """A job of one holder at a time; both methods may raise `Unavailable`."""

    async def take(self, job: str, *, span: timedelta) -> bool:
        """Takes or renews the lease; False while another holds it."""

    async def give_up(self, job: str) -> None:
        """Releases the lease."""


class ExportEnded(Exception):
    """An export has to end before its last page; the message says why."""


@dataclass(frozen=True, slots=True)
class ExportCompanies:
    """Begins exports, and ends them when the service stops."""

    exports: Exports
    #: A lease with a holder of its own.
    new_lease: Callable[[], Lease]
    keys: ApiKeys
    now: Callable[[], datetime]
    random: Random = field(default_factory=Random)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _begun: "set[Export]" = field(default_factory=set)

    async def begin(self, request: ExportRequest, key: ApiKey, caller: Caller) -> "Export":
        """Reads the first page; raises a Problem, RateLimited while the key has an export."""
        if len(self._begun) >= MAX_EXPORTS:
            raise ServiceUnavailable("too many exports are in progress here; retry")
        export = Export(self, request, key, caller, self.new_lease(), export_job(key.id))
        # Before the first wait: simultaneous requests count one another.
        self._begun.add(export)
        try:
            await self._take_lease(export)
        except BaseException:
            self.end(export)
            raise
        try:
            await export.read_first()
        except BaseException:
            await export.release()
            raise
        return export

    async def _take_lease(self, export: "Export") -> None:
        try:
            is_free = await export.lease.take(export.job, span=LEASE)
        except Unavailable:
            raise ServiceUnavailable() from None
        if not is_free:
            raise RateLimited(
                "another export of this key is in progress; one at a time", retry_after=_RETRY_AFTER
            )

    def end(self, export: "Export") -> None:
        """Makes room for another export."""
        self._begun.discard(export)

    def close(self) -> None:
        """Ends all exports, also later ones; their clients resume at another gateway."""
        self._closing.set()

    async def watch(self, export: "Export") -> None:
        """Renews the export's lease; raises ExportEnded when it has to end."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RENEW_EVERY):
                    await self._closing.wait()
                raise ExportEnded("shutdown")
            with suppress(Unavailable):  # renewed the next time
                if not await export.lease.take(export.job, span=LEASE):
                    raise ExportEnded("superseded")
            with suppress(ServiceUnavailable):
                current = await self.keys.get(export.key.id)
                if current is None or not current.is_valid(self.now()):
                    raise ExportEnded("revoked")


@dataclass(slots=True, eq=False)
class Export:
    """One export, whose first page is read."""

    companies: ExportCompanies
    request: ExportRequest
    key: ApiKey
    caller: Caller
    lease: Lease
    job: str
    #: Companies sent so far.
    count: int = 0
    position: int = 0
    _page: ExportPage = field(init=False)

    async def read_first(self) -> None:
        """Reads the first page, and with it the place in the event feed."""
        self._page = await self._read(self.request)
        self.position = self._page.position

    @asynccontextmanager
    async def pages(self) -> AsyncIterator[AsyncIterator[bytes]]:
        """The pages; while one is taken the next is read, and no more.

        Raises an exception group with ExportEnded or a Problem when the export cannot go on.
        """
        outcome = "broken"
        _RUNNING.inc()
        try:
            async with background(self.companies.watch(self)), aclosing(self._pages()) as pages:
                yield pages
            outcome = "complete"
        finally:
            _RUNNING.dec()
            _ENDED.labels(outcome).inc()
            await self.release()

    async def abandon(self) -> None:
        """Ends the export before its first page is sent."""
        _ENDED.labels("broken").inc()
        await self.release()

    async def release(self) -> None:
        """Lets the key, and this process, begin another export."""
        self.companies.end(self)
        with suppress(Unavailable):  # the lease ends by itself
            await self.lease.give_up(self.job)

    async def _pages(self) -> AsyncGenerator[bytes]:
        page = self._page
        del self._page  # a slow client holds two pages, not the first one, too
        while page.last is not None:
            following = asyncio.create_task(self._read_after(page.last))
            try:
                yield page.lines
                self._sent(page)
                page = await following
            finally:
                following.cancel()
                # If the client has left, it does not matter whether the read failed.
                await asyncio.gather(following, return_exceptions=True)
        yield page.lines
        self._sent(page)

    def _sent(self, page: ExportPage) -> None:
        self.count += page.count
        _COMPANIES.inc(page.count)

    async def _read(self, request: ExportRequest) -> ExportPage:
        asked, following = with_next_numbers(request)
        page = await self.companies.exports.export(asked, caller=self.caller)
        is_limited = asked.filter is not None and asked.filter.numbers is not None
        if is_limited and not page.limited:
            raise ServiceUnavailable("the lookup service is of an earlier release")
        return page if page.last is not None else page.model_copy(update={"last": following})

    async def _read_after(self, number: str) -> ExportPage:
        """Reads a page, again after failures: a lookup service may be restarting."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + PATIENCE
        request = self.request.model_copy(update={"after": number})
        for delay in delays(self.companies.random):
            try:
                return await self._read(request)
            except _FAILURES as problem:
                if clock() + delay > deadline:
                    raise ExportEnded(problem.code) from problem
                await asyncio.sleep(delay)
        raise AssertionError("delays never end")


EXPORT_PATH: Final = "/api/export"
EVENTS_CURSOR: Final = "Events-Cursor"
JSON_LINES: Final = "application/x-ndjson"

#: Logarithms of the window (16 more selects gzip) and of the memory.
_GZIP: Final = (15 + 16, 8)

#: Alternatives are of a search, subsidiaries have lines of their own.
_NOT_EXPORTED: Final = (Include.ALTERNATIVES, Include.SUBSIDIARIES)
#: Parts of a company in a copy.
INCLUDES: Final = tuple(part for part in Include if part not in _NOT_EXPORTED)

log = structlog.get_logger()


def export_handler(
    companies: ExportCompanies,
    finds: FindWatched,
    codes: StoredCodes,
    protected: ProtectedCompanies,
) -> Handler:
    """Returns the handler of exports; problems before the first row are ordinary responses."""

    async def export(request: web.Request) -> web.StreamResponse:
        context = request[REQUEST_CONTEXT]
        parameters = parameters_of(request)
        stored = await codes.explaining(parameters, countries_of(parameters), caller=context.caller)
        asked, watchlist = parse_export(parameters, stored)
        if request.version < HttpVersion11:
            # HTTP/1.0 ends a response by closing the connection, as a failure does.
            raise InvalidParameter("an export needs HTTP/1.1, which marks its end")
        key, left_out = context.required_key, None
        if watchlist is not None:
            every = asked.filter or FindRequest(country=asked.country, limit=0)
            [watched] = await finds.limited([every], watchlist, context)
            asked = asked.model_copy(update={"filter": watched})
        if protected.are_left_out(context):
            shown, left_out = await protected.export(asked.country, asked.filter, context.caller)
            asked = asked.model_copy(update={"filter": shown})
        begun = await companies.begin(asked, key, context.caller)
        response = ExportResponse(begun, is_compressed=takes_gzip(request))
        if left_out is not None:
            response.headers[LEFT_OUT] = str(left_out)
        return response

    return export


class ExportResponse(web.StreamResponse):
    """A response that is sent while its pages are read.

    An export that cannot be completed ends without the last chunk of its coding, so that no client
    takes it for complete.
    """

    def __init__(self, export: Export, *, is_compressed: bool) -> None:
        super().__init__(
            headers={
                hdrs.CONTENT_TYPE: JSON_LINES,
                hdrs.CACHE_CONTROL: NO_STORE,
                EVENTS_CURSOR: write_cursor(export.position),
            }
        )
        self._export = export
        self._gzip: Any = None
        if is_compressed:
            self.headers[hdrs.CONTENT_ENCODING] = "gzip"
            self._gzip = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, *_GZIP)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Sends the headers; the export of a client that has left meanwhile ends."""
        try:
            return await super().prepare(request)
        except BaseException:
            await self._export.abandon()
            raise

    async def write_eof(self, data: bytes = b"") -> None:
        """Sends the pages; aiohttp calls it when the middleware has added its headers."""
        reason = "client"
        began = asyncio.get_running_loop().time()
        try:
            async with self._export.pages() as pages:
                async for lines in pages:
                    await self._write(lines)
            if self._gzip is not None:
                await self.write(self._gzip.flush())
            await super().write_eof(data)
            reason = "complete"
        except BaseExceptionGroup as group:
            reason = ", ".join(str(error) or repr(error) for error in group.exceptions)
            raise ConnectionError("the export ends before its last page") from group
        finally:
            log.info(
                "export.done",
                request_id=self._export.caller.request_id,
                key_id=self._export.key.id,
                country=self._export.request.country,
                companies=self._export.count,
                result=reason,
                duration_ms=round((asyncio.get_running_loop().time() - began) * 1000),
            )

    async def _write(self, lines: bytes) -> None:
        if self._gzip is not None:
            # In a thread, because a page takes milliseconds.
            lines = await asyncio.to_thread(self._gzip.compress, lines)
        if lines:
            await self.write(lines)


def with_next_numbers(request: ExportRequest) -> tuple[ExportRequest, str | None]:
    """Returns a request with the next numbers of its watchlist, and the last if others follow.

    A page would carry the numbers of the whole list otherwise (ADR 0131).
    """
    numbers = request.filter.numbers if request.filter is not None else None
    if request.filter is None or not numbers:
        return request, None
    part = part_after(numbers, int(request.after or 0), NUMBERS)
    asked = request.filter.model_copy(update={"numbers": part})
    last = int.from_bytes(part[-4:], "little")
    following = None
    if part and not numbers.endswith(part):
        following = f"{last:0{FORMATS[request.country].vat_digits}d}"
    return request.model_copy(update={"filter": asked}), following


def _after(values: Sequence[str], info: ValidationInfo) -> str:
    country = info.data.get("country", tuple(Country))[0]
    try:
        return normalise(SearchType.VAT, single(values), country)
    except InvalidTerm as invalid:
        raise Invalid(str(invalid)) from None


class _ExportQuery(Filters):
    country: Annotated[
        tuple[Country, ...], one_country(), AfterValidator(lambda country: (country,))
    ] = REQUIRED
    after: Annotated[str, PlainValidator(_after)] = ""
    include: Annotated[tuple[Include, ...], included_parts(INCLUDES)] = ()
    watchlist: Annotated[WatchlistId | None, once(watchlist_id)] = None


def parse_export(
    parameters: Parameters, stored: Stored
) -> tuple[ExportRequest, WatchlistId | None]:
    """Returns the request for a copy, and the watchlist of its companies.

    Raises MissingParameter or InvalidParameter.

    `stored` has the texts of codes, if a filter has words. Without `status` a copy has every
    company, unlike a list.
    """
    query = _ExportQuery.parse(parameters, stored=stored)
    [country] = query.country
    filters = query.request(country, statuses=(), sort=FindSort.NAME, limit=0, after=None)
    is_whole = filters == FindRequest(country=country, limit=0)
    asked = ExportRequest(
        country=country,
        include=query.include,
        filter=None if is_whole else filters,
        after=query.after,
    )
    return asked, query.watchlist
