"""Exports in progress: at most one per key, read page by page."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Final, Protocol

from prometheus_client import Counter, Gauge

from common.contracts.failures import Unavailable
from common.contracts.find import ExportPage, ExportRequest
from common.runtime.tasks import background, delays
from gateway.access.clients import Caller
from gateway.access.keys import ApiKey, ApiKeys, export_job
from gateway.problems import LookupTimeout, RateLimited, ServiceUnavailable

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
        lease, job = self.new_lease(), export_job(key.id)
        try:
            is_free = await lease.take(job, span=LEASE)
        except Unavailable:
            raise ServiceUnavailable() from None
        if not is_free:
            raise RateLimited(
                "another export of this key is in progress; one at a time", retry_after=_RETRY_AFTER
            )
        export = Export(self, request, key, caller, lease, job)
        self._begun.add(export)
        try:
            await export.read_first()
        except BaseException:
            await export.release()
            raise
        return export

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
        self._page = await self.companies.exports.export(self.request, caller=self.caller)
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

    async def _read_after(self, number: str) -> ExportPage:
        """Reads a page, again after failures: a lookup service may be restarting."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + PATIENCE
        request = self.request.model_copy(update={"after": number})
        for delay in delays(self.companies.random):
            try:
                return await self.companies.exports.export(request, caller=self.caller)
            except _FAILURES as problem:
                if clock() + delay > deadline:
                    raise ExportEnded(problem.code) from problem
                await asyncio.sleep(delay)
        raise AssertionError("delays never end")
