"""Common to commands over files: reading, progress, and a journal to continue from."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Annotated, Any, Final, Self

import typer
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from company_registry.cli.session import Exit, Session
from company_registry.progress import Progress, duration, limit
from company_registry.spreadsheets import Sheet, read_sheet
from company_registry.streams import Pace

SheetName = Annotated[
    str | None,
    typer.Option("--sheet", help="Sheet of a workbook; the first visible one unless given."),
]
HeaderRow = Annotated[
    int | None,
    typer.Option(
        "--header-row", min=1, help="Row of the header; that of the known names unless given."
    ),
]

#: Characters of a file: a filter of the service is far smaller.
_MAX_FILE = 1_000_000


def values(session: Session, given: Sequence[str]) -> list[str]:
    """The values, and in place of `@FILE` the lines of the file; `@-` is standard input."""
    found: list[str] = []
    for value in given:
        if value.startswith("@"):
            lines = (line.strip() for line in read_text(session, value[1:]).splitlines())
            found += [line for line in lines if line]
        else:
            found.append(value)
    return found


def read_text(session: Session, name: str) -> str:
    """A small file in UTF-8, or standard input as `-`; ends the command if it cannot be read."""
    try:
        if name == "-":
            name = "standard input"
            text = sys.stdin.read(_MAX_FILE + 1)
        else:
            with Path(name).open(encoding="utf-8-sig") as file:
                text = file.read(_MAX_FILE + 1)
    except OSError as error:
        session.fail(f"{name}: {error.strerror}", Exit.USAGE)
    except UnicodeDecodeError:
        session.fail(f"{name} is not a text in UTF-8", Exit.USAGE)
    if len(text) > _MAX_FILE:
        session.fail(f"{name} is larger than {_MAX_FILE} characters", Exit.USAGE)
    return text


def read_file(
    session: Session, file: Path, sheet: str | None = None, header_row: int | None = None
) -> Sheet:
    """Reads a spreadsheet, or standard input as `-`; ends the command if it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        found = read_sheet(data, sheet=sheet, header_row=header_row)
    except FileNotFoundError:
        session.fail(f"{file}: there is no such file", Exit.USAGE)
    except OSError as error:
        session.fail(f"{file}: {error.strerror}", Exit.USAGE)
    except ValueError as error:
        session.fail(f"{file} {error}", Exit.USAGE)
    if found.description:
        session.note(f"Read {file}: {found.description}")
    return found


@dataclass(frozen=True, slots=True)
class Journal:
    """The results of a run, a line each; the first line says which run it is."""

    file: IO[bytes]
    #: The results of earlier runs.
    done: list[dict[str, Any]]

    @classmethod
    @contextmanager
    def of(cls, out: Path, asked: str) -> Iterator[Self]:
        """The journal of a run, opened; one of another input or other options begins anew.

        Raises OSError.
        """
        path = _path(out)
        head = json.dumps({"asked": sha256(asked.encode()).hexdigest()}).encode()
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        # Without its line break the last line may be cut off.
        whole = lines[:-1] if lines[:1] == [head] else []
        with path.open("r+b" if whole else "wb") as file:
            file.write(b"\n".join([*(whole or [head]), b""]))
            file.truncate()
            file.flush()
            yield cls(file, [json.loads(line) for line in whole[1:]])

    def add(self, result: dict[str, Any]) -> None:
        """Keeps a result; it outlives this process."""
        self.file.write(json.dumps(result).encode() + b"\n")
        self.file.flush()

    @staticmethod
    def forget(out: Path) -> None:
        """Removes the journal of an output that is complete."""
        _path(out).unlink(missing_ok=True)


def _path(out: Path) -> Path:
    return out.with_name(f"{out.name}.journal")


#: Seconds of a job from which its duration is printed beforehand.
_LONG: Final = 60


class Telling:
    """Tells how far a job is, and beforehand how long the rate makes it take."""

    def __init__(self, session: Session, progress: Progress, on_row: Callable[[], None]) -> None:
        self._session = session
        self._progress = progress
        self._on_row = on_row
        self._is_told = False

    @property
    def done(self) -> int:
        """The rows that are done."""
        return self._progress.done

    def advance(self) -> None:
        """Counts a row."""
        self._progress.advance()
        self._on_row()

    def take(self, pace: Pace) -> None:
        """Takes the pace of the job, as it changes."""
        self._progress.take(pace)
        left, rate = self._progress.left, self._progress.pace.rate
        if not self._is_told and rate is not None and left is not None:
            self._is_told = True
            if left >= _LONG:
                self._session.note(f"About {duration(left)} at {limit(rate)}.")


class _Rest(ProgressColumn):
    """The rate and the time that is left over the whole run, and what holds it."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        """Returns them as they are now."""
        del task
        return Text(rest_of(self._progress))


def rest_of(progress: Progress) -> str:
    """Returns the speed, the time that is left and what holds a job: `14/s, 5 min left`."""
    speed, left = progress.speed, progress.left
    parts = (
        "" if speed is None else f"{speed:,.0f}/s",
        "" if left is None else f"{duration(left)} left",
        progress.waiting,
    )
    return ", ".join(filter(None, parts))


@contextmanager
def telling(session: Session, what: str, total: int, earlier: int = 0) -> Iterator[Telling]:
    """Shows the progress of a job while it runs, on a terminal in a bar."""
    progress = Progress(total, time.monotonic, earlier)
    columns = (TextColumn(what), BarColumn(20), MofNCompleteColumn(), _Rest(progress))
    is_shown = session.err.is_terminal
    with Bar(*columns, console=session.err, transient=True, disable=not is_shown) as bar:
        task = bar.add_task("rows", total=total, completed=earlier)
        yield Telling(session, progress, lambda: bar.advance(task))
