"""What following the registers needs of them and of the store."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from lookup.ingest.feeds import Answer, Cursor, FeedPage, Position
from lookup.ingest.load import Item, Piece
from lookup.ingest.records import SourceVersion
from lookup.ingest.register_source import RegisterSource


class RegisterAway(Exception):
    """A register cannot be asked now; the message tells what came of trying."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        #: How long the register wants to be left alone.
        self.retry_after = retry_after


class RegisterFault(Exception):
    """A register answers what cannot be used: its fault or ours, and asking again is no help."""


class Feed(Protocol):
    """The Norwegian register's word on what changed. Raises RegisterAway and RegisterFault."""

    async def page(self, after: Position) -> FeedPage:
        """The entries after a position, the oldest first; as many as fit on a page."""


class Entities(Protocol):
    """The Norwegian register's entities, units or roles. Raises RegisterAway and RegisterFault."""

    async def fetch(self, numbers: Sequence[str]) -> Mapping[str, Answer]:
        """What the register answers about each of these now."""


@dataclass(frozen=True, slots=True)
class Download:
    """A whole file of a register, for as long as the context that gave it."""

    version: SourceVersion
    etag: str | None
    #: Reads the file from its start; raises FileBroken after all that is whole.
    documents: Callable[[], Iterator[Piece]]


class WholeFile(Protocol):
    """A register's file of everything. Raises RegisterAway and RegisterFault."""

    def newest(self, *, known: str | None = None) -> AbstractAsyncContextManager[Download | None]:
        """The newest file; None if that is the one whose ETag is `known`."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Documents of the Danish register in the order of their changes."""

    items: tuple[Item, ...]
    #: The times of those that could be read.
    times: tuple[datetime, ...] = ()


class Documents(Protocol):
    """The Danish register's documents. Raises RegisterAway and RegisterFault."""

    def changed_since(self, at: datetime) -> AsyncIterator[DocumentPage]:
        """All that changed at that time or later, the oldest change first."""


class Cursors(Protocol):
    """How far each source was read. Every method may raise `Unavailable`."""

    async def read(self, source: str) -> Cursor | None: ...

    async def move(self, source: str, cursor: Cursor) -> Cursor:
        """Stores the successor of the cursor of the same revision, and gives it as stored.

        Raises Conflict when somebody else has moved it since it was read.
        """


class StoredKeys(Protocol):
    """The keys of what is stored. Every method may raise `Unavailable`."""

    def of(self, source: RegisterSource, *, until: datetime) -> AsyncIterator[Sequence[str]]:
        """Lists of keys, of what was stored from versions not newer than `until`.

        Of roles, the companies that have owners by them; of e-invoicing, the identifiers.
        """
