"""Reading of uploaded spreadsheets, in a process of its own, which a hostile file may exhaust.

Run as a program, it reads the file from its standard input and writes a JSON document per line: the
header, then the rows.
"""

import asyncio
import io
import json
import resource
import sys
from collections.abc import Iterator
from typing import IO, Any, Final

from python_calamine import CalamineError, CalamineWorkbook

from company_registry.spreadsheets import read_sheet
from portal.domain.customers import MAX_COLUMNS, MAX_ROWS, Table
from portal.domain.wording import LimitReached

#: Bytes of a file, and of its rows as they are held.
MAX_FILE: Final = 20 * 2**20
MAX_HELD: Final = 32 * 2**20
#: Characters of a cell; a longer one is cut.
_MAX_CELL: Final = 1000

#: Bytes of memory, and seconds of the processor and of the clock, of a process that reads.
_MEMORY: Final = 384 * 2**20
_CPU: Final = 20
_TIME: Final = 30.0
#: Files that are read at the same time, and the seconds that others wait for their turn.
_AT_ONCE: Final = 1
_TURN: Final = 30.0

_WORKBOOKS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
#: Lines that say why a file cannot be read begin so; rows are lists.
_FAULT: Final = b'"'


class TooManyFiles(LimitReached):
    """Other files took all of the time that one may wait."""

    detail = "Other files are being read. Try again in a moment."


class Unreadable(Exception):
    """A file that cannot be read; the message is a sentence for its owner."""


class Reader:
    """Reads files one after the other."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def read(self, file: IO[Any]) -> Table:
        """Returns the table of a file; raises Unreadable, TooManyFiles."""
        try:
            async with asyncio.timeout(_TURN):
                await self._turns.acquire()
        except TimeoutError:
            raise TooManyFiles from None
        try:
            return await _read(file)
        finally:
            self._turns.release()


async def _read(file: IO[Any]) -> Table:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        stdin=file,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        # Nothing of this process's settings, such as the key of sessions.
        env={},
    )
    assert process.stdout is not None, "a pipe was requested"  # noqa: S101 (not an input)
    try:
        async with asyncio.timeout(_TIME):
            lines = await _lines(process.stdout)
            status = await process.wait()
    except TimeoutError:
        raise Unreadable("The file takes too long to read. Save it as CSV.") from None
    finally:
        # Not one that has ended: its status would be lost.
        if process.returncode is None:
            process.kill()
            await process.wait()
    return table_of(lines, status)


def table_of(lines: list[bytes], status: int) -> Table:
    """Returns the table that a process wrote which ended so; raises Unreadable."""
    if lines and lines[-1].startswith(_FAULT):
        raise Unreadable(json.loads(lines[-1]))
    if status or not lines:
        raise Unreadable("The file cannot be read as a spreadsheet. Save it as XLSX or CSV.")
    return Table(json.loads(lines[0]), lines[1:])


async def _lines(output: asyncio.StreamReader) -> list[bytes]:
    held, lines = 0, []
    while chunk := await output.read(2**20):
        held += len(chunk)
        if held > MAX_HELD:
            raise Unreadable("The file has too much text. Remove columns that do not matter.")
        lines.append(chunk)
    return b"".join(lines).splitlines()


def main() -> None:
    """Writes the rows of the file on standard input, within the limits of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU, _CPU))
    # It writes no file: its output is a pipe.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in lines_of(sys.stdin.buffer.read(MAX_FILE + 1)):
        sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def lines_of(data: bytes) -> Iterator[bytes]:
    """Returns what the process writes about a file: its rows, or at last why it cannot be read."""
    try:
        for row in _rows(data):
            text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            yield text.encode(errors="replace")
    except Unreadable as error:
        yield json.dumps(str(error)).encode()


def _rows(data: bytes) -> Iterator[list[str]]:
    """Yields the header, and the rows that are not empty."""
    rows = _of_workbook(data) if data.startswith(_WORKBOOKS) else _of_text(data)
    header = next(rows, [])
    if not header:
        raise Unreadable("The file is empty.")
    if len(header) > MAX_COLUMNS:
        raise Unreadable(f"The file has more than {MAX_COLUMNS} columns. Remove some.")
    yield header
    count = 0
    for row in rows:
        count += 1
        if count > MAX_ROWS:
            raise Unreadable(f"The file has more than {MAX_ROWS:,} rows. Split it.")
        yield [*row, *[""] * len(header)][: len(header)]
    if not count:
        raise Unreadable("The file has a header, and no row below it.")


def _of_text(data: bytes) -> Iterator[list[str]]:
    try:
        sheet = read_sheet(data)
    except ValueError as error:
        raise Unreadable(f"The file {error}.") from None
    if sheet.header:
        yield [_cell(name) for name in sheet.header]
    for row in sheet.rows:
        yield [_cell(cell) for cell in row.cells]


def _of_workbook(data: bytes) -> Iterator[list[str]]:
    """Yields the rows of the first sheet that has any."""
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = (book.get_sheet_by_name(name) for name in book.sheet_names)
        sheet = next((each for each in sheets if each.height), None)
    except (CalamineError, OSError):
        raise Unreadable("The file cannot be read as a workbook. Save it again.") from None
    if sheet is None:
        return
    if sheet.width > MAX_COLUMNS:
        raise Unreadable(f"The file has more than {MAX_COLUMNS} columns. Remove some.")
    rows = ([_cell(cell) for cell in row] for row in sheet.iter_rows())
    yield from (row for row in rows if any(row))


def _cell(value: object) -> str:
    """Returns the text of a cell; a number without the point that a spreadsheet adds."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # JSON escapes every other character that ends a line.
    text = "" if value is None else str(value).strip()
    return " ".join(text[:_MAX_CELL].splitlines())


if __name__ == "__main__":
    main()
