"""A register's whole file, downloaded if it is newer than the last one read."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from ingest.following.register_client import Answer, Call, RegisterClient, http_date
from ingest.following.responses import RegisterFault
from ingest.loading.batches import Piece, Tally
from ingest.loading.load import LoadFile, NotWhole, WrongSource
from ingest.loading.progress import BEGINNING
from ingest.records.records import SourceVersion
from ingest.records.source import RegisterSource, documents


@dataclass(frozen=True, slots=True)
class Download:
    """A whole file of a register; valid within the context that returned it."""

    version: SourceVersion
    etag: str | None
    #: Reads the file from its start; raises FileBroken after the intact part.
    documents: Callable[[], Iterator[Piece]]


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A register's file of all records, which exists in `folder` only while it is read.

    It has no name there, so the kernel frees its space even if the process is killed.
    """

    client: RegisterClient
    source: RegisterSource
    path: str
    folder: Path | None
    now: Callable[[], datetime]

    @asynccontextmanager
    async def newest(self, *, known: str | None = None) -> AsyncIterator[Download | None]:
        """The newest file; None if its ETag is `known`.

        Raises RegisterUnavailable and RegisterFault.
        """
        requested_at = self.now()
        with TemporaryFile(dir=self.folder) as nameless:
            file = Path(f"/proc/self/fd/{nameless.fileno()}")
            condition = {} if known is None else {"If-None-Match": known}
            url = self.client.url(self.path)
            call = Call("GET", url, headers=condition, accepted=(200, 304))
            answer = await self.client.download(call, file)
            if answer.status == 304:
                yield None
                return
            yield Download(
                SourceVersion(_modified(answer, requested_at)),
                answer.headers.get("ETag"),
                partial(documents, file, self.source),
            )


async def check_whole(load: LoadFile, source: RegisterSource, file: Download) -> None:
    """Raises RegisterFault for a download that is not the register's whole file."""
    try:
        await load.check(source, file.documents)
    except (WrongSource, NotWhole) as unfit:
        raise RegisterFault(f"not a whole file: {unfit}") from None


async def load_whole(
    load: LoadFile,
    source: RegisterSource,
    file: Download,
    documents: Iterator[Piece],
    tally: Tally,
) -> None:
    """Loads the documents of a register's whole file; raises RegisterFault if it is broken."""
    summary = await load(source, documents, file_version=file.version)
    tally.loaded(summary)
    if summary.broken is not None:
        raise RegisterFault(f"the whole file is broken: {summary.broken}")


def _modified(answer: Answer, requested_at: datetime) -> datetime:
    """Returns the time of the file, at most the time of the request.

    A file dated in the future would make every change until then look older than itself.
    """
    text = answer.headers.get("Last-Modified")
    if text is None:
        return requested_at
    try:
        return max(min(http_date(text), requested_at), BEGINNING)
    except (ValueError, OverflowError):
        raise RegisterFault(f"Last-Modified is not a time: {text}") from None
