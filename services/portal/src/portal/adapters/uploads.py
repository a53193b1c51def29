"""Customers' files of the open sessions: in memory, bounded, and matched in the background.

From the beginning of the matching a file is also kept by the API, from where it is opened again
(ADR 0152). It leaves the memory when its owner says so, signs out or is idle for as long as a
session may be.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog
from aiohttp import web

from company_registry import (
    ApiError,
    AsyncClient,
    CompanyRegistryError,
    MatchRecord,
    MatchResult,
    NoResponse,
)
from company_registry.columns import Columns, recognised
from company_registry.progress import Progress
from company_registry.spreadsheets import LONGER, Row
from portal.adapters.keeping import CannotKeep, Opened, keep_results, keep_table
from portal.domain.customers import Outcomes, Table
from portal.domain.wording import LimitReached, detail

#: Bytes of the files and results of all sessions.
MAX_HELD: Final = 128 * 2**20
#: Bytes that one key may have; the largest file takes 57 MiB.
MAX_HELD_PER_KEY: Final = 64 * 2**20
#: Files that are matched at the same time, of all sessions; others wait.
_MATCHING: Final = 8
#: Seconds between two checks for unused files.
_SWEEP: Final = 60.0
#: The part of a key's rate that matching uses; the rest is left to its owner's pages.
SHARE: Final = 0.75
#: Rows by which the columns are chosen that a person may then change.
_JUDGED: Final = 1000
#: Bytes that the results of a row take.
_RESULT: Final = 500

log = structlog.get_logger()


class Count(Protocol):
    """A gauge of the files that are held."""

    def set(self, value: float) -> None:
        """Takes their number."""


class TooManyCustomers(LimitReached):
    """The files of other sessions take all of the memory for files."""

    detail = "Many files are being matched. Try again when some are done."


class TooManyOfKey(LimitReached):
    """The files of this key take all of the memory that a key may have."""

    status = 429
    title = "Too many files"
    detail = "Other files of your key are being matched or reviewed. Remove one of them first."


@dataclass(slots=True)
class Upload:
    """A file with the decisions about its rows."""

    #: Together with the key, it opens the file.
    id: str
    key: str
    name: str
    table: Table
    columns: Columns
    used_at: float
    #: The file, which may be read again, until the matching begins.
    data: bytes
    outcomes: Outcomes = field(default_factory=Outcomes)
    #: The task that matches it, from the beginning of that to its end.
    task: asyncio.Task[None] | None = None
    #: True from the beginning of the matching.
    has_begun: bool = False
    #: Why the matching ended before its end.
    fault: str = ""
    #: How far the matching is; None before it begins.
    progress: Progress | None = None
    #: The id under which the API keeps it; empty while it does not, and why.
    file_id: str = ""
    unkept: str = ""
    #: Rows that are to be searched again, with a result.
    again: deque[int] = field(default_factory=deque)

    @property
    def is_complete(self) -> bool:
        """True if every row is decided."""
        return len(self.outcomes.piles) == len(self.table.rows)

    @property
    def left(self) -> Sequence[int]:
        """The rows to be matched next: those without a result, else those to be searched again."""
        first = len(self.outcomes.piles)
        if not self.is_complete:
            return range(first, len(self.table.rows))
        return list(self.again) or self.outcomes.to_repeat

    @property
    def held(self) -> int:
        """Bytes that it holds, or will hold once it is matched."""
        return self.table.size + max(len(self.data), _RESULT * len(self.table.rows))


class Uploads:
    """The files of all sessions of this process."""

    def __init__(self, count: Count, *, clock: Callable[[], float], idle_timeout: float) -> None:
        self._count = count
        self._clock = clock
        self._idle_timeout = idle_timeout
        #: By id.
        self.held: dict[str, Upload] = {}
        self._turns = asyncio.Semaphore(_MATCHING)
        self._tasks: asyncio.TaskGroup | None = None

    async def running(self, _app: web.Application) -> AsyncIterator[None]:
        """Owns the tasks from the start to the end of the application, which ends them."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            sweep = tasks.create_task(self._sweep())
            yield
            sweep.cancel()
            for upload in list(self.held.values()):
                self.forget(upload)

    def hold(self, key: str, name: str, data: bytes, table: Table) -> Upload:
        """Keeps a file for its session; raises TooManyCustomers, TooManyOfKey."""
        first = [Row(table.row(place)) for place in range(min(len(table.rows), _JUDGED))]
        id_, columns = secrets.token_urlsafe(16), recognised(table.header, rows=first)
        upload = Upload(id_, key, name, table, columns, self._clock(), data)
        of_key = sum(each.held for each in self.held.values() if each.key == key)
        if of_key + upload.held > MAX_HELD_PER_KEY:
            raise TooManyOfKey
        if sum(each.held for each in self.held.values()) + upload.held > MAX_HELD:
            raise TooManyCustomers
        self.held[upload.id] = upload
        self._count.set(len(self.held))
        return upload

    def hold_opened(self, key: str, opened: Opened, file_id: str) -> Upload:
        """Keeps a file that the API had; raises TooManyCustomers, TooManyOfKey."""
        upload = self.hold(key, opened.name, b"", opened.table)
        upload.columns, upload.outcomes = opened.columns, opened.outcomes
        upload.file_id, upload.has_begun = file_id, True
        if not upload.is_complete:
            upload.fault = "The matching was interrupted."
        return upload

    def find(self, upload_id: str, key: str) -> Upload | None:
        """Returns the file with an id, if the key is its own."""
        upload = self.held.get(upload_id)
        if upload is None or upload.key != key:
            return None
        upload.used_at = self._clock()
        return upload

    def forget(self, upload: Upload) -> None:
        """Ends the matching of a file, and drops it."""
        if upload.task is not None:
            upload.task.cancel()
        self.held.pop(upload.id, None)
        self._count.set(len(self.held))

    def begin(self, upload: Upload, registry: AsyncClient) -> None:
        """Matches the rows that have no result yet, or were not searched, in the background."""
        if upload.task is None and self._tasks is not None:
            upload.has_begun, upload.fault, upload.data = True, "", b""
            upload.task = self._tasks.create_task(self._match(upload, registry))

    async def _match(self, upload: Upload, registry: AsyncClient) -> None:
        try:
            async with self._turns:
                await self._keep_table(upload, registry)
                try:
                    await self._go_through(upload, registry)
                finally:
                    await self._keep_results(upload, registry)
        except ApiError as error:
            upload.fault = detail(error)
        except NoResponse:
            upload.fault = "The company registry does not respond."
        except CompanyRegistryError as error:
            log.error("customers.invalid_response", exc_info=error)
            upload.fault = "The company registry answered in a way that this portal cannot read."
        finally:
            upload.task = None

    async def _keep_table(self, upload: Upload, registry: AsyncClient) -> None:
        if upload.file_id or upload.outcomes.piles:
            return
        try:
            upload.file_id = await keep_table(registry, upload.name, upload.table, upload.columns)
        except CannotKeep:
            upload.unkept = "The file is too large to be kept."
        except ApiError as error:
            upload.unkept = detail(error)
        except CompanyRegistryError:
            upload.unkept = "The company registry did not keep it."

    async def _keep_results(self, upload: Upload, registry: AsyncClient) -> None:
        if not upload.file_id:
            return
        table, columns, outcomes = upload.table, upload.columns, upload.outcomes
        try:
            await keep_results(registry, upload.file_id, table, columns, outcomes)
        except (CannotKeep, CompanyRegistryError) as error:
            # The table and the decisions are kept; opened again, it is matched again.
            log.warning("customers.results_not_kept", reason=type(error).__name__)

    async def _go_through(self, upload: Upload, registry: AsyncClient) -> None:
        table, columns, left = upload.table, upload.columns, upload.left
        total = len(table.rows)
        progress = upload.progress = Progress(total, self._clock, total - len(left), SHARE)
        records = (
            columns.record(str(row), table.row(row)) for row in left if not table.is_longer(row)
        )
        answers = registry.match(records, share=SHARE, on_pace=progress.take)
        async with aclosing(answers):
            for row in left:
                if table.is_longer(row):
                    result = MatchResult(MatchRecord(str(row)), None, error=LONGER)
                else:
                    result = await anext(answers)
                upload.outcomes.take(row, result)
                if upload.again and upload.again[0] == row:
                    upload.again.popleft()
                progress.advance()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            oldest = self._clock() - self._idle_timeout
            for upload in [each for each in self.held.values() if each.used_at < oldest]:
                self.forget(upload)
