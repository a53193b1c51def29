"""Parses the documents of a file, except unchanged ones, in worker processes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import Final

from common.runtime.processes import processors, workers
from ingest.changes.stored_states import StoredParts
from ingest.records.records import Parser, RawDocument, Record, Rejected
from ingest.records.source import RegisterSource, all_understood

#: Fewer documents than this are parsed in this process; starting a worker would take longer.
_WORTH_IT: Final = 200
#: More worker processes than this would wait for the process that writes.
_MAX_PROCESSES: Final = 2

#: The record as which each document reads on a day, or the reason why it cannot be used.
Reader = Callable[[Parser, Sequence[RawDocument], date], Awaitable[Sequence[Record | Rejected]]]


@asynccontextmanager
async def reading_processes() -> AsyncIterator[Reader]:
    """Yields a reader in worker processes; one processor is left for the process that writes."""
    async with workers(min(max(processors() - 1, 1), _MAX_PROCESSES)) as processes:

        async def read(
            parser: Parser, documents: Sequence[RawDocument], today: date
        ) -> Sequence[Record | Rejected]:
            if len(documents) < _WORTH_IT:
                return all_understood(parser, documents, today)
            return await processes.run(all_understood, parser, documents, today)

        yield read


@dataclass(frozen=True, slots=True)
class UnchangedDocument:
    """An unchanged document; parsing it would give the stored record."""

    key: str


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """Parses documents whose digest is not the stored one."""

    parts: StoredParts
    reader: Reader

    async def __call__(
        self, source: RegisterSource, documents: Sequence[RawDocument | Rejected], today: date
    ) -> Sequence[Record | UnchangedDocument | Rejected]:
        """Returns a result for each document, in order. May raise `Unavailable`."""
        keys = [
            one.key for one in documents if isinstance(one, RawDocument) and one.key is not None
        ]
        stored = await self.parts.digests(source.part, keys) if keys else {}
        found = [
            _known(one, stored.get(one.key or "")) if isinstance(one, RawDocument) else one
            for one in documents
        ]
        unread = [one for one in found if isinstance(one, RawDocument)]
        read = iter(await self.reader(source.parse, unread, today) if unread else ())
        return [next(read) if isinstance(one, RawDocument) else one for one in found]


def _known(document: RawDocument, stored: bytes | None) -> RawDocument | UnchangedDocument:
    if document.key is None or stored is None or stored != document.digest:
        return document
    return UnchangedDocument(document.key)
