"""The progress of a job of many rows, on standard error, where people look."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from company_registry.cli.session import Session
from company_registry.progress import Progress, duration, limit
from company_registry.streams import Pace

#: Seconds of a job that is told beforehand how long it takes.
_LONG: Final = 60


class Telling:
    """Tells how far a job is, and beforehand how long the rate makes it take."""

    def __init__(self, session: Session, progress: Progress, on_row: Callable[[], None]) -> None:
        self._session = session
        self._progress = progress
        self._on_row = on_row
        self._is_told = False

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
