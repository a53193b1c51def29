"""A register's whole file: downloaded where it is newer than the one that was read last."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from lookup.ingest.feeds import BEGINNING
from lookup.ingest.http_client import Answer, Call, RegisterClient
from lookup.ingest.reading import documents
from lookup.ingest.records import SourceVersion
from lookup.ingest.register_source import RegisterSource
from lookup.ingest.sources import Download, RegisterFault


class DownloadedFile:
    """`WholeFile` over HTTP; the file is in `folder` while it is read, and then gone.

    It has no name there, so that the kernel takes its room back even from a process that is killed.
    """

    def __init__(
        self,
        client: RegisterClient,
        source: RegisterSource,
        path: str,
        *,
        folder: Path | None,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._source = source
        self._path = path
        self._folder = folder
        self._now = now

    @asynccontextmanager
    async def newest(self, *, known: str | None = None) -> AsyncIterator[Download | None]:
        asked_at = self._now()
        with TemporaryFile(dir=self._folder) as nameless:
            file = Path(f"/proc/self/fd/{nameless.fileno()}")
            condition = {} if known is None else {"If-None-Match": known}
            url = self._client.url(self._path)
            call = Call("GET", url, headers=condition, accepted=(200, 304))
            answer = await self._client.download(call, file)
            if answer.status == 304:
                yield None
                return
            yield Download(
                SourceVersion(_modified(answer, asked_at)),
                answer.headers.get("ETag"),
                partial(documents, file, self._source),
            )


def _modified(answer: Answer, asked_at: datetime) -> datetime:
    """When the file was made: not later than it was asked for.

    A file of the future would make every change until then older than itself.
    """
    text = answer.headers.get("Last-Modified")
    if text is None:
        return asked_at
    try:
        return max(min(parsedate_to_datetime(text).astimezone(UTC), asked_at), BEGINNING)
    except (ValueError, OverflowError):
        raise RegisterFault(f"Last-Modified is no time: {text}") from None
