"""Raw records of a register's file, in any of its formats."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common.domain.quantities import counted
from lookup.records.csv_records import CsvRecords, Dialect, delimiter_of
from lookup.records.json_records import JsonRecords
from lookup.records.records import FileBroken, Raw, Rejected
from lookup.records.streams import Found, OnBytes, Window, ignore_progress, stream
from lookup.records.xml_records import XmlRecords

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
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


def raw_records(
    path: Path,
    dialect: Dialect | None = None,
    on_bytes: OnBytes = ignore_progress,
    *,
    element: str | None = None,
) -> Iterator[RawRecord | Rejected]:
    """Yields the records of a file of any size, plain or gzip, one at a time.

    JSON: a list, search responses, or one record or page per line; CSV if a dialect is given, and
    XML if the name of its records' elements is.
    Raises FileBroken after the intact part.
    """
    window = Window(stream(path, on_bytes))
    number = 0
    broken: FileBroken | None = None
    try:
        for number, one in enumerate(_opened(window, dialect, element), start=1):
            if one.content is None:
                yield Rejected(number, one.place, one.fault)
            else:
                yield RawRecord(number, one.place, one.content, one.text)
    except FileBroken as end:
        broken = end
    # A record without an end is then a consequence of the truncated stream.
    broken = window.broken or broken
    if broken is not None:
        raise FileBroken(f"{broken} ({counted(number, 'record')} before)")


def _opened(window: Window, dialect: Dialect | None, element: str | None) -> Iterator[Found]:
    while window.pending < _BEGINNING and window.more():
        pass
    if window.data.startswith(_BYTE_ORDER_MARK):
        window.at = len(_BYTE_ORDER_MARK)
    beginning = window.data[window.at : window.at + _BEGINNING].lstrip()
    if beginning.startswith((b"{", b"[")):
        return iter(JsonRecords(window))
    if dialect is not None and delimiter_of(beginning, dialect):
        return iter(CsvRecords(window, dialect))
    if element is not None and beginning.startswith(b"<?xml"):
        return iter(XmlRecords(window, element))
    raise FileBroken(f"neither JSON nor a table of this register{_seems(beginning)}")


def _seems(beginning: bytes) -> str:
    lowered = beginning.lower()
    for start, what in _OTHERS:
        if lowered.startswith(start):
            return f": it begins like {what}"
    return ""
