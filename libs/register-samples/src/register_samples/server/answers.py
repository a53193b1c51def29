"""Answers that the registers have in common."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from io import BytesIO

import orjson
from aiohttp import web

from register_samples.files import write_gzipped_array
from register_samples.templates import Document


def json_answer(content: object, *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(content), status=status, content_type="application/json")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole file as a register offers it: made now and then, and older than the register."""

    body: bytes
    modified: datetime
    content_type: str

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'

    def answer(self, request: web.Request) -> web.Response:
        """The file, or 304 where the client has this one already."""
        modified = self.modified.astimezone(UTC).replace(microsecond=0)
        headers = {"ETag": self.etag, "Last-Modified": format_datetime(modified, usegmt=True)}
        if request.headers.get("If-None-Match") == self.etag:
            return web.Response(status=304, headers=headers)
        return web.Response(body=self.body, headers=headers, content_type=self.content_type)


def gzipped_array(documents: Iterable[Document], modified: datetime) -> Snapshot:
    """A JSON array, gzipped, as the Norwegian register offers its files."""
    body = BytesIO()
    write_gzipped_array(body, documents)
    return Snapshot(body.getvalue(), modified, "application/gzip")
