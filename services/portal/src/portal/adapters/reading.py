"""Reading of uploaded spreadsheets, in a process of its own, which a hostile file may exhaust.

Run as a program, it reads the file from its standard input, and the sheet and the row of the header
from its arguments. It writes a JSON document per line: how the file was read, then the rows.
"""

import asyncio
import json
import resource
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final
from weakref import WeakValueDictionary

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
_CPU: Final = 5
_TIME: Final = 20.0
#: Files that are read at the same time, and the seconds that others wait for their turn.
_AT_ONCE: Final = 1
_TURN: Final = 30.0
#: Uploads that are received or wait for their turn at the same time: of one key, and of all.
_MAX_OF_KEY: Final = 3
_MAX_OF_ALL: Final = 10
#: Files of one key that are received or read again within so many seconds.
_RATE: Final = 20
_WINDOW: Final = 600.0

#: Lines that say why a file cannot be read begin so; rows are lists.
_FAULT: Final = b'"'


class TooManyFiles(LimitReached):
    """Other files took all of the time that one may wait."""

    detail = "Other files are being read. Try again in a moment."


class TooManyFilesOfKey(LimitReached):
    """One key sends or has read as many files as it may."""

    status = 429
    title = "Too many files"
    detail = f"Your key may send {_MAX_OF_KEY} files at a time, and {_RATE} in ten minutes."


class Unreadable(Exception):
    """A file that cannot be read; the message is a sentence for its owner."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The sheet and the row of the header that a person has chosen; None where nobody has."""

    sheet: str | None = None
    header_row: int | None = None


class Reader:
    """Reads files one after the other; keys take turns."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is monotonic, in seconds."""
        self._clock = clock
        self._turns = asyncio.Semaphore(_AT_ONCE)
        #: A key waits for its turn with one file, so that its others delay no other key's.
        self._of_key: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._received: Counter[str] = Counter()
        #: When files of each key were counted.
        self._counted: dict[str, deque[float]] = {}

    @contextmanager
    def receiving(self, key: str) -> Iterator[None]:
        """Counts an upload while it is in progress; raises TooManyFiles, TooManyFilesOfKey."""
        if self._received[key] >= _MAX_OF_KEY:
            raise TooManyFilesOfKey
        if self._received.total() >= _MAX_OF_ALL:
            raise TooManyFiles
        self.count(key)
        self._received[key] += 1
        try:
            yield
        finally:
            self._received -= Counter([key])

    def count(self, key: str) -> None:
        """Counts a file against the rate of a key; raises TooManyFilesOfKey, and counts none."""
        oldest = self._clock() - _WINDOW
        for each, times in list(self._counted.items()):
            while times and times[0] <= oldest:
                times.popleft()
            if not times:
                del self._counted[each]
        times = self._counted.setdefault(key, deque())
        if len(times) >= _RATE:
            raise TooManyFilesOfKey
        times.append(self._clock())

    async def read(self, key: str, file: IO[bytes], choice: Choice = Choice()) -> Table:
        """Returns the table of a file of a key; raises Unreadable, TooManyFiles."""
        own = self._of_key.setdefault(key, asyncio.Lock())
        try:
            async with asyncio.timeout(_TURN) as waiting, own, self._turns:
                waiting.reschedule(None)
                return await _read(file, choice)
        except TimeoutError:
            raise TooManyFiles from None


async def _read(file: IO[bytes], choice: Choice) -> Table:
    given = (json.dumps(choice.sheet), json.dumps(choice.header_row))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, *given),
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
    about = json.loads(lines[0])
    return Table(rows=lines[1:], **{**about, "sheets": tuple(about["sheets"])})


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
    choice = Choice(*map(json.loads, sys.argv[1:]))
    for line in lines_of(sys.stdin.buffer.read(MAX_FILE + 1), choice):
        sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def lines_of(data: bytes, choice: Choice = Choice()) -> Iterator[bytes]:
    """Returns what the process writes about a file: its rows, or at last why it cannot be read."""
    try:
        for document in _documents(data, choice):
            text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
            yield text.encode(errors="replace")
    except Unreadable as error:
        yield json.dumps(str(error)).encode()


def _documents(data: bytes, choice: Choice) -> Iterator[dict[str, Any] | list[Any]]:
    try:
        sheet = read_sheet(data, sheet=choice.sheet, header_row=choice.header_row)
    except ValueError as error:
        raise Unreadable(f"The file {error}.") from None
    if not sheet.header:
        raise Unreadable("The file is empty.")
    if len(sheet.header) > MAX_COLUMNS:
        raise Unreadable(f"The file has more than {MAX_COLUMNS} columns. Remove some.")
    if len(sheet.rows) > MAX_ROWS:
        raise Unreadable(f"The file has more than {MAX_ROWS:,} rows. Split it.")
    if not sheet.rows:
        raise Unreadable("The file has a header, and no row below it.")
    yield {
        "header": [_cell(name) for name in sheet.header],
        "header_row": sheet.header_row,
        "sheet": sheet.name,
        "sheets": sheet.names,
        "description": sheet.description,
    }
    for row in sheet.rows:
        yield [row.number, int(row.is_longer), *map(_cell, row.cells)]


def _cell(text: str) -> str:
    return " ".join(text.strip()[:_MAX_CELL].splitlines())


if __name__ == "__main__":
    main()
