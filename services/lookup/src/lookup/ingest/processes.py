"""Worker processes that parse documents while the main process writes to the database."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from common.runtime.processes import Workers, processors, workers
from lookup.ingest.reading import understood
from lookup.ingest.records import RawDocument, Record, Rejected
from lookup.ingest.register_source import Parser

#: Fewer documents than this are parsed in this process; starting a worker would take longer.
_WORTH_IT: Final = 200
#: More worker processes than this would wait for the process that writes.
_MAX_PROCESSES: Final = 2


class ReadInProcesses:
    """`Reader`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    async def __call__(
        self, parser: Parser, documents: Sequence[RawDocument], /
    ) -> Sequence[Record | Rejected]:
        if len(documents) < _WORTH_IT:
            return _all_understood(parser, documents)
        return await self._workers.run(_all_understood, parser, documents)


@asynccontextmanager
async def reading_processes() -> AsyncIterator[ReadInProcesses]:
    """A reader while the body runs; one processor is reserved for the process that writes."""
    async with workers(min(max(processors() - 1, 1), _MAX_PROCESSES)) as processes:
        yield ReadInProcesses(processes)


def _all_understood(
    parser: Parser, documents: Sequence[RawDocument]
) -> Sequence[Record | Rejected]:
    return [understood(parser, document) for document in documents]
