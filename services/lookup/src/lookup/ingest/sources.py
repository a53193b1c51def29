"""Interfaces of a pass to registers and to the store, with the errors of registers."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from lookup.ingest.batches import Piece
from lookup.ingest.feeds import Cursor
from lookup.ingest.records import SourceVersion
from lookup.ingest.register_source import RegisterSource


class RegisterUnavailable(Exception):
    """A register cannot be reached; the message describes the last attempt."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        #: The wait that the register requested.
        self.retry_after = retry_after


class RegisterFault(Exception):
    """A register's answer cannot be used, and a retry would not help."""


@dataclass(frozen=True, slots=True)
class Download:
    """A whole file of a register; valid within the context that returned it."""

    version: SourceVersion
    etag: str | None
    #: Reads the file from its start; raises FileBroken after the intact part.
    documents: Callable[[], Iterator[Piece]]


class WholeFile(Protocol):
    """A register's file of all records. Raises RegisterUnavailable and RegisterFault."""

    def newest(self, *, known: str | None = None) -> AbstractAsyncContextManager[Download | None]:
        """The newest file; None if its ETag is `known`."""


class Cursors(Protocol):
    """The stored cursors of the sources. Every method may raise `Unavailable`."""

    async def read(self, source: str) -> Cursor | None: ...

    async def move(self, source: str, cursor: Cursor) -> Cursor:
        """Replaces the cursor of the same revision; returns the stored successor.

        Raises Conflict if another process has moved it since it was read.
        """


class Leases(Protocol):
    """Leases of jobs for one of several processes. Every method may raise `Unavailable`."""

    async def take(self, job: str, *, span: timedelta) -> bool:
        """Takes or renews the lease for `span` from now; False while another process holds it."""

    async def give_up(self, job: str) -> None:
        """Releases the lease, so that another process can acquire it immediately."""


class StoredKeys(Protocol):
    """The keys of stored records. Every method may raise `Unavailable`."""

    def of(self, source: RegisterSource, *, until: datetime) -> AsyncIterator[Sequence[str]]:
        """Batches of keys of the records whose version is not newer than `until`.

        For roles, the companies with owners from them; for e-invoicing, the identifiers.
        """
