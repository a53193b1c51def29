"""Exports over HTTP: companies as JSON lines, in one response for as long as the client reads."""

import asyncio
import zlib
from typing import Any, Final

import structlog
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.typedefs import Handler

from common.runtime.public_port.conditional import takes_gzip
from gateway.events.feed import write_cursor
from gateway.exports.exporting import Export, ExportCompanies
from gateway.exports.queries import parse_export
from gateway.http.middleware import REQUEST_CONTEXT, parameters_of
from gateway.http.responses import NO_STORE
from gateway.lookups.codes import StoredCodes
from gateway.lookups.find import countries_of
from gateway.problems import InvalidParameter

EXPORT_PATH: Final = "/api/export"
EVENTS_CURSOR: Final = "Events-Cursor"
JSON_LINES: Final = "application/x-ndjson"

#: Logarithms of the window (16 more selects gzip) and of the memory.
_GZIP: Final = (15 + 16, 8)

log = structlog.get_logger()


def export_handler(companies: ExportCompanies, codes: StoredCodes) -> Handler:
    """Returns the handler of exports; problems before the first row are ordinary responses."""

    async def export(request: web.Request) -> web.StreamResponse:
        context = request[REQUEST_CONTEXT]
        parameters = parameters_of(request)
        stored = await codes.explaining(parameters, countries_of(parameters), caller=context.caller)
        asked = parse_export(parameters, stored)
        if request.version < HttpVersion11:
            # HTTP/1.0 ends a response by closing the connection, as a failure does.
            raise InvalidParameter("an export needs HTTP/1.1, which marks its end")
        key = context.required_key
        begun = await companies.begin(asked, key, context.caller)
        return ExportResponse(begun, is_compressed=takes_gzip(request))

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
