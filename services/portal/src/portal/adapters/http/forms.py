"""The bodies of forms: of one type, bounded, and checked before anything parses them.

Anyone may send one, so that a body costs its reader no more than its sender: aiohttp takes 0.3 ms
for each part of a multipart form, and a charset such as punycode takes the square of the length.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from tempfile import TemporaryFile
from typing import IO, Any, Final, cast

import structlog
from aiohttp import BodyPartReader, MultipartReader, StreamReader, web

from common.runtime.public_port.server import send_continue
from portal.adapters.http.context import FORM, UPLOADED, FormLimits
from portal.domain.wording import LimitReached

FORM_TYPE: Final = "application/x-www-form-urlencoded"
UPLOAD_TYPE: Final = "multipart/form-data"

#: Bytes that are written at once.
_CHUNK: Final = 64 * 1024

log = structlog.get_logger()


async def _request(request: web.Request, content_type: str, longest: int) -> None:
    """Raises an error of HTTP for a body of another type, of an unknown or a too great length.

    Browsers state the length. Without it a body comes in chunks, which may have one byte each.
    """
    if not request.body_exists:
        return
    if request.content_type != content_type or (request.charset or "utf-8").lower() != "utf-8":
        raise web.HTTPUnsupportedMediaType
    if request.content_length is None:
        raise web.HTTPLengthRequired
    if request.content_length > longest:
        raise web.HTTPRequestEntityTooLarge(longest)
    await send_continue(request)


async def read_form(request: web.Request, limits: FormLimits) -> Mapping[str, Any]:
    """Returns the fields of a form without a file; handlers read them again without a cost."""
    await _request(request, FORM_TYPE, limits.size)
    if (await request.read()).count(b"&") >= limits.fields:
        raise web.HTTPRequestEntityTooLarge(limits.size)
    form = request[FORM] = await request.post()
    return form


class _CountedLines:
    """A body whose lines are counted: those of heads and around parts, of which a form has few."""

    def __init__(self, content: StreamReader, lines: int) -> None:
        self._content = content
        self._left = lines

    async def readline(self, **options: Any) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise web.HTTPBadRequest
        return await self._content.readline(**options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)


class NoRoom(LimitReached):
    """The disk of this process is full."""

    detail = "There is no room for files now. Try again later."


@contextmanager
def spooled() -> Iterator[IO[bytes]]:
    """A file without a name, which ends with the body or the process; raises NoRoom."""
    try:
        with TemporaryFile() as file:
            yield file
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT):
            log.error("upload.no_room")
            raise NoRoom from error
        raise


async def receive_upload(
    request: web.Request, limits: FormLimits, *, file: IO[bytes]
) -> dict[str, str]:
    """Writes the file of a form to `file`, and returns the other fields."""
    if not request.body_exists:
        raise web.HTTPBadRequest
    await _request(request, UPLOAD_TYPE, limits.upload_size)
    content = _CountedLines(request.content, limits.lines)
    parts = MultipartReader(request.headers, cast(StreamReader, content))
    fields: dict[str, str] = {}
    name = ""
    while (part := await parts.next()) is not None:
        if not isinstance(part, BodyPartReader) or len(fields) == limits.parts or not part.name:
            raise web.HTTPBadRequest
        if part.name == "file" and not name:
            name, fields[part.name] = part.filename or "", ""
            await _write(part, file)
        else:
            fields[part.name] = await _value(part, limits.field_size)
    file.seek(0)
    request[UPLOADED] = (name, file)
    return fields


async def _write(part: BodyPartReader, file: IO[bytes]) -> None:
    while chunk := await part.read_chunk(_CHUNK):
        await asyncio.to_thread(file.write, chunk)


async def _value(part: BodyPartReader, longest: int) -> str:
    value = b""
    while chunk := await part.read_chunk(_CHUNK):
        value += chunk
        if len(value) > longest:
            raise web.HTTPRequestEntityTooLarge(longest)
    return value.decode()
