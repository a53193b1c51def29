"""Rows of a CSV file of any size; a quoted cell may contain line breaks."""

import csv
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from common.domain.quantities import counted
from lookup.records.records import FileBroken
from lookup.records.streams import MAX_BLANK, Found, Window

#: A longer row has lost a quotation mark.
MAX_ROW_SIZE = 1 << 20

_DELIMITERS = b",;\t"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The format of one publisher's tables."""

    encoding: str
    #: The name of the first column, which identifies the table.
    first_column: bytes
    #: The beginning of a row, searched for when the previous row has lost its end.
    row_start: re.Pattern[bytes]


@dataclass(frozen=True, slots=True)
class _Line:
    text: bytes
    place: str


class CsvRecords:
    """Iterates over the rows below the header, each a dict of its filled cells by column.

    Broken rows are yielded with their error. Raises FileBroken, with the position, if the file ends
    inside a row.
    """

    def __init__(self, window: Window, dialect: Dialect) -> None:
        self._window = window
        self._dialect = dialect
        self._line_number = 0
        #: Lines that were read as part of a broken row, to be read again.
        self._given_back: deque[_Line] = deque()
        self._delimiter = ","
        self._header: list[str] = []

    def __iter__(self) -> Iterator[Found]:
        header = b"".join(line.text for line in self._next_row())
        self._delimiter = delimiter_of(header, self._dialect) or self._delimiter
        try:
            self._header = self._cells(header)
        except (UnicodeDecodeError, csv.Error) as fault:
            raise FileBroken(f"the header is unreadable: {fault}") from None
        while lines := self._next_row():
            yield self._row(lines)

    def _row(self, lines: list[_Line]) -> Found:
        text = b"".join(line.text for line in lines)
        if text.count(b'"') % 2:
            return self._broken(lines, "a quotation mark is missing")
        try:
            cells = self._cells(text)
        except (UnicodeDecodeError, csv.Error) as fault:
            return self._broken(lines, str(fault))
        if len(cells) != len(self._header):
            given = counted(len(cells), "cell")
            return self._broken(lines, f"{given} instead of {len(self._header)}")
        named = zip(self._header, cells, strict=True)
        return Found(lines[0].place, {name: cell for name, cell in named if cell})

    def _cells(self, text: bytes) -> list[str]:
        row = text.decode(self._dialect.encoding).rstrip("\r\n")
        return next(csv.reader([row], delimiter=self._delimiter), [])

    def _broken(self, lines: list[_Line], fault: str) -> Found:
        """Refuses a row up to the swallowed line on which another row begins."""
        for at, line in enumerate(lines[1:], start=1):
            if self._dialect.row_start.match(line.text):
                self._given_back.extendleft(reversed(lines[at:]))
                break
        else:
            if not lines[-1].text.endswith(b"\n"):
                raise FileBroken(f"the file ends inside the row at {lines[0].place}")
        return Found(lines[0].place, None, fault)

    def _next_row(self) -> list[_Line]:
        """Returns the lines of the next row, by its quotation marks; empty at the end."""
        lines: list[_Line] = []
        quotes = size = blank = 0
        while size <= MAX_ROW_SIZE and (line := self._next_line()):
            if not lines and not line.text.strip():
                blank += len(line.text)
                if blank > MAX_BLANK:
                    raise FileBroken(f"only white space precedes {line.place}")
                continue
            lines.append(line)
            size += len(line.text)
            quotes += line.text.count(b'"')
            if quotes % 2 == 0:
                break
        return lines

    def _next_line(self) -> _Line | None:
        if self._given_back:
            return self._given_back.popleft()
        text = self._window.take_line(max_size=MAX_ROW_SIZE)
        self._line_number += 1
        return _Line(text, f"line {self._line_number}") if text else None


def delimiter_of(header: bytes, dialect: Dialect) -> str | None:
    """Returns the column separator; None if the header is not that of such a table."""
    name = re.escape(dialect.first_column)
    match = re.match(b'"?' + name + b'"?([' + _DELIMITERS + b"])", header, re.IGNORECASE)
    return None if match is None else match[1].decode()
