"""Spreadsheets for download: CSV, and XLSX by XlsxWriter."""

import asyncio
import csv
import io
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from typing import IO, Final, Literal, Protocol

import xlsxwriter

from portal.domain.wording import LimitReached

Format = Literal["csv", "xlsx"]

#: Spreadsheets that this process writes at the same time; further ones wait for their turn.
MAX_WRITING: Final = 4
#: Seconds that they wait.
_TURN: Final = 30.0

_WIDTH: Final = 18

#: A number, which is one in a workbook too, or a text.
Cell = str | float


class TooManyDownloads(LimitReached):
    """Other spreadsheets took all of the time that one may wait."""

    detail = "Other spreadsheets are being written. Try again in a moment."


class _Rows(Protocol):
    def write(self, rows: Sequence[Sequence[Cell]]) -> None:
        """Writes the next rows."""

    def close(self) -> None:
        """Completes the file."""


class _Csv:
    """UTF-8 with a mark, without which spreadsheets take the text for another encoding."""

    def __init__(self, file: IO[bytes]) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
        self._writer = csv.writer(self._text)

    def write(self, rows: Sequence[Sequence[Cell]]) -> None:
        self._writer.writerows([_text(cell) for cell in row] for row in rows)

    def close(self) -> None:
        self._text.detach()


def _text(cell: Cell) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else cell


class _Xlsx:
    """A workbook of texts and numbers, whose rows are on the disk as soon as they are written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._book = xlsxwriter.Workbook(file, {"constant_memory": True})
        self._sheet = self._book.add_worksheet()
        self._sheet.freeze_panes(1, 0)
        self._next = 0

    def write(self, rows: Sequence[Sequence[Cell]]) -> None:
        if self._next == 0 and rows:
            self._sheet.set_column(0, len(rows[0]) - 1, _WIDTH)
        for row in rows:
            for column, cell in enumerate(row):
                if isinstance(cell, float):
                    self._sheet.write_number(self._next, column, cell)
                elif cell:
                    # A text stays a text: neither a formula, nor a number, nor a link.
                    self._sheet.write_string(self._next, column, cell)
            self._next += 1

    def close(self) -> None:
        self._book.close()


_WRITERS: Final[dict[Format, Callable[[IO[bytes]], _Rows]]] = {"csv": _Csv, "xlsx": _Xlsx}


class Spreadsheet:
    """A file on the disk that rows are added to."""

    def __init__(self, file: IO[bytes], format_: Format) -> None:
        self._file = file
        self._rows: _Rows | None = _WRITERS[format_](file)

    async def add(self, rows: Sequence[Sequence[Cell]]) -> None:
        """Writes rows off the event loop."""
        if self._rows is not None:
            await asyncio.to_thread(self._rows.write, rows)

    async def complete(self) -> bytes:
        """Returns the whole file."""
        return await asyncio.to_thread(self._content)

    def _content(self) -> bytes:
        self.close()
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        """Completes the file if it is not, also one that nobody will read: it has others below."""
        rows, self._rows = self._rows, None
        if rows is not None:
            rows.close()


class Spreadsheets:
    """The files that are being written, of which there are never many."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(MAX_WRITING)

    @asynccontextmanager
    async def writing(self, format_: Format) -> AsyncIterator[Spreadsheet]:
        """Yields a spreadsheet, whose file is gone after the body; raises TooManyDownloads."""
        try:
            async with asyncio.timeout(_TURN):
                await self._turns.acquire()
        except TimeoutError:
            raise TooManyDownloads from None
        try:
            with tempfile.TemporaryFile() as file, closing(Spreadsheet(file, format_)) as sheet:
                yield sheet
        finally:
            self._turns.release()
