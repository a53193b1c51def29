"""Raw records of a register's file of any size, plain or gzip: JSON, CSV or XML.

A damaged file ends where it is damaged, like a truncated one: what precedes is read, and FileBroken
says at which byte or line. A row with bad quotation marks damages only itself (`tables`).
"""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import orjson

from common.domain.sentences import counted
from ingest.records.records import MAX_RECORD_SIZE, FileBroken, FileRecord, Raw, Rejected
from ingest.records.tables import PART, Dialect, csv_records, delimiter_of
from ingest.records.xml_records import XmlRecords

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = codecs.BOM_UTF8
#: More than the white space before JSON, or the name of a table's first column.
_BEGINNING = 256
#: Beginnings of files that are mistaken for a register's, in lower case.
_OTHERS = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<", "XML"),
    (b"%pdf", "a PDF"),
    (b"pk\x03\x04", "a ZIP archive or a spreadsheet"),
)

#: Receives the number of bytes of the compressed file that were read since the last call.
OnBytes = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record of a file before parsing."""

    #: From 1.
    number: int
    #: `byte 1234` or `line 7` of the decompressed content.
    place: str
    raw: Raw
    #: The JSON of `raw`; None if it is a row or an element, or was assembled from something else.
    text: bytes | None = None
    #: True for a row that was read in spite of its quotation marks.
    is_repaired: bool = False


def raw_records(
    path: Path,
    dialect: Dialect | None = None,
    on_bytes: OnBytes = lambda _count: None,
    *,
    element: str | None = None,
) -> Iterator[RawRecord | Rejected]:
    """Yields the records of a file, one at a time.

    JSON: a list, search responses, or one record or page per line; CSV if a dialect is given, and
    XML if the name of its records' elements is. Raises FileBroken after the intact part.
    """
    number = 0
    try:
        for number, one in enumerate(_opened(stream(path, on_bytes), dialect, element), start=1):
            if one.content is None:
                yield Rejected(number, one.place, one.fault)
            else:
                yield RawRecord(number, one.place, one.content, one.text, one.is_repaired)
    except FileBroken as broken:
        raise FileBroken(f"{broken} ({counted(number, 'record')} before)") from None


def stream(path: Path, on_bytes: OnBytes = lambda _count: None) -> Iterator[bytes]:
    """Yields a file's content in parts, decompressed if it begins as gzip.

    Raises FileBroken for a truncated or corrupt gzip file, after the intact part, and OSError.
    """
    with path.open("rb") as file:
        is_gzip = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        file.seek(0)
        counting = _Counting(file, on_bytes)
        content = gzip.GzipFile(fileobj=counting) if is_gzip else counting
        passed = 0
        try:
            while part := content.read1(PART):
                passed += len(part)
                yield part
        except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
            kind = "truncated" if isinstance(fault, EOFError) else "corrupt"
            raise FileBroken(f"{kind} gzip data after byte {passed} of its content") from None


class _Counting(io.BufferedReader):
    """A file that reports how much of it was read."""

    def __init__(self, file: BinaryIO, on_bytes: OnBytes) -> None:
        super().__init__(file)  # type: ignore[arg-type]
        self._on_bytes = on_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        part = super().read(size)
        self._on_bytes(len(part))
        return part

    def read1(self, size: int = -1, /) -> bytes:
        part = super().read1(size)
        self._on_bytes(len(part))
        return part


def _opened(
    parts: Iterator[bytes], dialect: Dialect | None, element: str | None
) -> Iterator[FileRecord]:
    first, broken = b"", None
    try:
        while len(first) < _BEGINNING and (part := next(parts, b"")):
            first += part
    except FileBroken as fault:
        broken = fault
    mark = len(_BYTE_ORDER_MARK) if first.startswith(_BYTE_ORDER_MARK) else 0
    beginning = first[mark:_BEGINNING].lstrip()
    content = chain((first[mark:],), parts if broken is None else _broken(broken))
    if beginning.startswith((b"{", b"[")):
        return iter(JsonRecords(content, offset=mark))
    if dialect is not None and (delimiter := delimiter_of(beginning, dialect)):
        return csv_records(content, dialect.encoding, delimiter)
    if element is not None and beginning.startswith(b"<?xml"):
        return iter(XmlRecords(content, element))
    raise FileBroken(f"neither JSON nor a table of this register{_seems(beginning)}")


def _broken(fault: FileBroken) -> Iterator[bytes]:
    yield from ()
    raise fault


def _seems(beginning: bytes) -> str:
    lowered = beginning.lower()
    for start, what in _OTHERS:
        if lowered.startswith(start):
            return f": it begins like {what}"
    return ""


_BLANK = re.compile(r"[ \t\r\n,]*+")
# Repeated groups are atomic, not possessive: a possessive group fails to match before Python 3.11.5
# (gh-106052), and Debian 12 has 3.11.2.
_STRING = r'"(?>(?:[^"\\]|\\.)*)"'
#: A member of an object before its list of records: a text, a number, or a small object.
_MEMBER = (
    rf"\s*+{_STRING}\s*+:\s*+"
    rf'(?:{_STRING}|[^\s"{{}}\[\],]++|\{{(?>(?:[^{{}}\[\]]|\{{[^{{}}\[\]]*+\}})*)\}})\s*+,'
)
#: The beginning of a page of Elasticsearch, HAL or Peppol, up to its list of records.
_PAGE = re.compile(
    rf'\{{(?>(?:{_MEMBER})*)\s*+"(?:'
    rf'bc"\s*+:\s*+\[|hits"\s*+:\s*+\{{(?>(?:{_MEMBER})*)\s*+"hits"\s*+:\s*+\[|'
    r'_embedded"\s*+:\s*+\{\s*+"\w++"\s*+:\s*+\[)',
    re.DOTALL,
)
#: More than the text of a page before its list.
_BEFORE_LIST = 1 << 14
_TOKEN = re.compile(rf"{_STRING}|[\[\]{{}}]", re.DOTALL)


class _NotJson(Exception):
    """A value of Python's JSON that is not one of JSON."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotJson(f"{name} is not a JSON value")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


def decode(text: bytes) -> object:
    """Returns the value of a record's text, which `JsonRecords` has read."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # it refuses lone surrogates
        return json.loads(text)


def encode(value: Mapping[str, Any]) -> bytes:
    """Returns a value as JSON, with its lone surrogates."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value).encode()


class JsonRecords:
    """Iterates over the records of a JSON text: lists, concatenated pages, JSON lines.

    The decoder of the standard library tells where a value ends, so that a position is exact and a
    record keeps its text; it is faster than an event parser (ADR 0072).
    """

    def __init__(
        self, parts: Iterator[bytes], *, offset: int = 0, max_size: int = MAX_RECORD_SIZE
    ) -> None:
        """`offset` is the position in the file at which the parts begin."""
        self._parts = parts
        self._max_size = max_size
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._at = 0
        #: The position in the file, in bytes.
        self._offset = self._read = offset
        #: Why nothing follows the text that was read.
        self._end: FileBroken | None = None

    def __iter__(self) -> Iterator[FileRecord]:
        while self._skip_blank():
            page = self._page()
            if self._text[self._at] == "[":
                self._pass(self._at + 1)
                yield from self._list()
            elif page is not None:
                depth = page[0].count("{") - page[0].count("}")
                self._pass(page.end())
                yield from self._list()
                self._leave(depth)
            else:
                yield self._record()
        if self._end is not None:
            raise self._end

    def _list(self) -> Iterator[FileRecord]:
        while self._skip_blank():
            if self._text[self._at] == "]":
                self._pass(self._at + 1)
                return
            yield self._record()
        raise self._ended("a list of records")

    def _page(self) -> re.Match[str] | None:
        while len(self._text) - self._at < _BEFORE_LIST and self._more():
            pass
        return _PAGE.match(self._text, self._at)

    def _leave(self, depth: int) -> None:
        """Skips the rest of a page, whose records have been read."""
        if self._skip_blank() and self._text[self._at] not in '"}':
            raise FileBroken(f"not JSON at byte {self._offset}, after a list of records")
        while depth:
            token = _TOKEN.search(self._text, self._at)
            if token is None:
                if len(self._text) - self._at > self._max_size or not self._more():
                    raise self._ended("a page, after its records")
                continue
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
            self._pass(token.end())

    def _record(self) -> FileRecord:
        begin = self._offset
        while True:
            try:
                value, end = _JSON.raw_decode(self._text, self._at)
                break
            except json.JSONDecodeError as fault:
                # The record may go on in what was not read yet.
                too_long = len(self._text) - self._at > self._max_size
                if too_long or not self._more():
                    raise self._broken(fault, begin) from None
            except (_NotJson, RecursionError) as fault:
                reason = str(fault) if isinstance(fault, _NotJson) else "nested too deeply"
                raise FileBroken(f"{reason}, in the record at byte {begin}") from None
        text = self._pass(end)
        if len(text) > self._max_size:
            return FileRecord(f"byte {begin}", None, f"longer than {self._max_size:,} bytes")
        if not isinstance(value, dict):
            return FileRecord(f"byte {begin}", None, "not an object")
        return FileRecord(f"byte {begin}", value, text=text)

    def _broken(self, fault: json.JSONDecodeError, begin: int) -> FileBroken:
        goes_on = fault.pos >= len(self._text) or fault.msg.startswith("Unterminated string")
        if goes_on and len(self._text) - self._at <= self._max_size:
            return self._ended(f"the record at byte {begin}")
        at = begin + len(self._text[self._at : fault.pos].encode())
        return FileBroken(f"not JSON at byte {at}, in the record at byte {begin}: {fault.msg}")

    def _ended(self, inside: str) -> FileBroken:
        return self._end or FileBroken(f"the file ends inside {inside}")

    def _skip_blank(self) -> bool:
        """Moves to the next significant character; False if there is none."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            if blank is not None:
                self._pass(blank.end())
            if self._at < len(self._text):
                return True
            if not self._more():
                return False

    def _pass(self, end: int) -> bytes:
        """Moves to an index, and returns the text before it."""
        text = self._text[self._at : end].encode()
        self._at = end
        self._offset += len(text)
        return text

    def _more(self) -> bool:
        """Reads on; False at the end. A record is read in steps that double."""
        if self._end is not None:
            return False
        texts, wanted = [self._text[self._at :]], max(len(self._text) - self._at, 1)
        while wanted > 0 and self._end is None:
            try:
                part = next(self._parts, b"")
                texts.append(self._decoder.decode(part, final=not part))
            except FileBroken as broken:
                self._end = broken
            except UnicodeDecodeError as fault:
                good = fault.object[: fault.start]
                texts.append(good.decode())
                held = len(fault.object) - len(part)
                at = self._read - held + fault.start
                self._end = FileBroken(f"not UTF-8, at byte {at}")
            else:
                self._read += len(part)
                if not part:
                    break
            wanted -= len(texts[-1])
        if not any(texts[1:]):
            return False
        self._text, self._at = "".join(texts), 0
        return True
