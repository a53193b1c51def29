"""Rows of a register's CSV file, of which each may be damaged by itself.

Norway's tables have texts with quotation marks that are not doubled. Such a row is read if it can
be read in one way only, or else refused, and the next one begins at the next line.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from common.domain.sentences import counted
from ingest.records.records import FileBroken, FileRecord

#: Bytes that are read at once.
PART: Final = 1 << 18
#: A longer line of a table has no end.
_MAX_LINE: Final = 1 << 20
#: More than the lines of a row whose cells are all quoted: it has a few where an address has them.
_MAX_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """The format of one publisher's tables."""

    encoding: str
    #: The name of the first column, which identifies the table.
    first_column: bytes


def delimiter_of(header: bytes, dialect: Dialect) -> str | None:
    """Returns the column separator; None if the header is not that of such a table."""
    name = re.escape(dialect.first_column)
    match = re.match(b'"?' + name + b'"?([,;\t])', header, re.IGNORECASE)
    return None if match is None else match[1].decode()


def csv_records(parts: Iterator[bytes], encoding: str, delimiter: str) -> Iterator[FileRecord]:
    """Yields the rows below the header, each a dict of its cells by column.

    A row with too few or too many cells is refused, and so is one with quotation marks that leave
    open where its cells end. Raises FileBroken, with the line, for a file that ends inside a row,
    a line without an end, and another encoding.
    """
    text = io.TextIOWrapper(
        io.BufferedReader(_Parts(parts), PART), encoding, errors="surrogateescape", newline=""
    )
    header: Sequence[str] = ()
    for row in _Rows(text, delimiter):
        place = f"line {row.line}"
        try:
            "".join(row.cells).encode()
        except UnicodeEncodeError:
            raise FileBroken(f"not {encoding}, in the row at {place}") from None
        if row.fault:
            yield FileRecord(place, None, row.fault)
        elif not header:
            header = row.cells
        elif len(row.cells) == len(header):
            cells = dict(zip(header, row.cells, strict=True))
            yield FileRecord(place, cells, is_repaired=row.is_repaired)
        elif row.cells:
            found = counted(len(row.cells), "cell")
            yield FileRecord(place, None, f"{found} instead of {len(header)}")


class _Row(NamedTuple):
    """A row of a table: its first line, its cells, or the reason for which it has none."""

    line: int
    cells: Sequence[str]
    fault: str = ""
    is_repaired: bool = False


class _Rows:
    """Iterates over the rows of a table, the header first.

    After a row that `csv` refuses, its lines are read again: as that row, or else all but the first
    as the next ones.
    """

    def __init__(self, text: io.TextIOWrapper, delimiter: str) -> None:
        self._text = text
        self._delimiter = delimiter
        #: Lines that are read again, the next one last.
        self._again: list[str] = []
        #: The lines of the present row.
        self._seen: list[str] = []
        self._at_end = False
        self._line = 1
        self._columns = 0

    def __iter__(self) -> Iterator[_Row]:
        reader = self._reader()
        while True:
            try:
                row = _Row(self._line, next(reader))
            except StopIteration:
                return
            except csv.Error as fault:
                row = self._repaired() or self._refused(fault)
                reader = self._reader()
            self._columns = self._columns or len(row.cells)
            if 0 < len(row.cells) < self._columns and self._is_cut():
                raise FileBroken(f"the file ends inside the row at line {self._line}")
            yield row
            self._line += len(self._seen)
            self._seen.clear()

    def _reader(self) -> Iterator[list[str]]:
        return csv.reader(self._lines(), delimiter=self._delimiter, strict=True)

    def _lines(self) -> Iterator[str]:
        while line := self._next_line():
            self._seen.append(line)
            yield line

    def _next_line(self) -> str:
        """Returns the next line; an empty text at the end."""
        if self._again:
            return self._again.pop()
        line = self._text.readline(_MAX_LINE)
        if len(line) == _MAX_LINE:
            raise FileBroken(
                f"not a row at line {self._line}: longer than {_MAX_LINE:,} characters"
            )
        self._at_end = self._at_end or not line
        return line

    def _repaired(self) -> _Row | None:
        """Returns the row if all of its cells are quoted and divide it in one way only."""
        row = ""
        for used in range(1, _MAX_LINES + 1):
            if used > len(self._seen):
                following = self._next_line()
                if not following:
                    return None
                self._seen.append(following)
            row += self._seen[used - 1]
            bare = row.rstrip("\r\n")
            cells = bare[1:-1].split(f'"{self._delimiter}"')
            if len(cells) > self._columns or not bare.startswith('"') or "\n" in cells[0]:
                return None
            if len(cells) == self._columns and bare.endswith('"'):
                self._keep(used)
                return _Row(self._line, cells, is_repaired=True)
        return None

    def _refused(self, fault: csv.Error) -> _Row:
        """Returns the first of the lines as a refused row; raises FileBroken at the file's end."""
        is_last = self._at_end and len(self._seen) == 1
        if is_last and (self._is_cut() or not self._seen[0].rstrip("\r\n").endswith('"')):
            raise FileBroken(f"the file ends inside the row at line {self._line}: {fault}")
        self._keep(1)
        return _Row(self._line, (), f"not a row: {fault}")

    def _is_cut(self) -> bool:
        """Returns True if the last of the lines has no end."""
        return not self._seen[-1].endswith(("\n", "\r"))

    def _keep(self, used: int) -> None:
        """Gives back the lines after the first of those that were seen."""
        self._again.extend(reversed(self._seen[used:]))
        del self._seen[used:]


class _Parts(io.RawIOBase):
    """The parts of a file as a binary file."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._left:
            part = next(self._parts, b"")
            if not part:
                return 0
            self._left = memoryview(part)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size
