"""Requests, answers and times of all registers."""

import hashlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from io import BytesIO
from typing import Any

import orjson
from aiohttp import web

from register_samples.files import write_gzipped_array
from register_samples.registers import Document

#: Reads the text of a parameter; raises ValueError.
Reader = Callable[[str], Any]


class BadRequest(ValueError):
    """The register refuses the request; the message states the reason."""


def read(request: web.Request, **known: Reader) -> dict[str, Any]:
    """Returns parameters by name; raises BadRequest unless each is known and valid."""
    values: dict[str, Any] = {}
    for name, text in request.query.items():
        if name not in known or name in values:
            raise BadRequest(f"{name}: it is unknown, or given more than once")
        try:
            values[name] = known[name](text)
        except ValueError as error:
            raise BadRequest(f"{name}: {error}") from None
    return values


def moment(text: str) -> datetime:
    """Returns a time with its zone."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise BadRequest("a time needs its zone")
    return at.astimezone(UTC)


def whole_number(least: int, most: int = sys.maxsize) -> Reader:
    def read_number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise BadRequest(f"it is from {least} to {most}")
        return value

    return read_number


def json_answer(content: object, *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(content), status=status, content_type="application/json")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A register's whole file, which is generated at intervals and older than the register."""

    body: bytes
    modified: datetime
    content_type: str

    @classmethod
    def gzipped_array(cls, documents: Iterable[Document], modified: datetime) -> "Snapshot":
        body = BytesIO()
        write_gzipped_array(body, documents)
        return cls(body.getvalue(), modified, "application/gzip")

    def answer(self, request: web.Request) -> web.Response:
        """Returns the file, or 304 if the client has it already."""
        etag = f'"{hashlib.sha256(self.body).hexdigest()[:32]}"'
        modified = self.modified.astimezone(UTC).replace(microsecond=0)
        headers = {"ETag": etag, "Last-Modified": format_datetime(modified, usegmt=True)}
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers=headers)
        return web.Response(body=self.body, headers=headers, content_type=self.content_type)


class Stamps:
    """Times in milliseconds, each later than those before and than any written time."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self._last = datetime.min.replace(tzinfo=UTC)

    def next(self) -> datetime:
        now = self.now()
        whole = now.replace(microsecond=now.microsecond // 1000 * 1000)
        self._last = max(whole, self._last + timedelta(milliseconds=1))
        return self._last

    def pass_by(self, written: datetime) -> None:
        """Makes the next time later than this one, too."""
        self._last = max(self._last, written)


def iso(at: datetime) -> str:
    """Returns a text such as `2026-06-28T00:20:10.625Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
