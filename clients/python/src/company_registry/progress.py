"""How far a job of many rows is: what holds it, its rate and the time that is left, in words."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from company_registry.streams import Pace, Rate

_WINDOWS: Final = {1: "a second", 60: "a minute", 3600: "an hour", 86_400: "a day"}
#: Seconds of work before its speed says something.
_TELLING: Final = 5.0


@dataclass(slots=True)
class Progress:
    """The rows of a job that are done, and its pace."""

    total: int
    #: Monotonic, in seconds.
    clock: Callable[[], float]
    #: Rows that an earlier run has done.
    earlier: int = 0
    #: The part of the rate that the job uses.
    share: float = 1
    done: int = field(init=False)
    pace: Pace = field(init=False, default=Pace())
    _began: float = field(init=False)
    _resumes: float = field(init=False, default=0)
    #: When the pace was taken, and whether the rate has held the job so far.
    _taken: float = field(init=False, default=0)
    _is_held: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Begins."""
        self.done = self.earlier
        self._began = self.clock()

    def advance(self) -> None:
        """Counts a row."""
        self.done += 1

    def take(self, pace: Pace) -> None:
        """Takes the pace of the job, as it changes."""
        self.pace = pace if pace.rate else replace(self.pace, wait=pace.wait, is_outage=True)
        self._taken = self.clock()
        self._resumes = self._taken + pace.wait
        self._is_held = self._is_held or (pace.wait > 0 and not pace.is_outage)

    @property
    def speed(self) -> float | None:
        """Rows in a second over the whole run, its waits included; None before there is one."""
        seconds = self.clock() - self._began
        return (self.done - self.earlier) / seconds if seconds >= _TELLING else None

    @property
    def left(self) -> float | None:
        """The seconds that the rest takes, at the rate or as fast as so far; None if unknown."""
        rows, speed, pace = self.total - self.done, self.speed, self.pace
        by_speed = rows / speed if speed else None
        if pace.rate is None:
            return by_speed
        reset = max(0, pace.reset - (self.clock() - self._taken))
        held = seconds_at(rows, pace.rate, self.share, pace.available, reset)
        # Its waits are in the speed of a job that was held, and would count twice.
        return max(held, 0 if self._is_held else by_speed or 0) or by_speed

    @property
    def waiting(self) -> str:
        """The reason for waiting: `waiting 41 s for the key's rate (1,200 rows a minute)`."""
        seconds = math.ceil(self._resumes - self.clock())
        if seconds <= 0:
            return ""
        if self.pace.is_outage or self.pace.rate is None:
            return f"waiting {seconds} s for the service"
        return f"waiting {seconds} s for {limit(self.pace.rate, self.share)}"


def seconds_at(rows: int, rate: Rate, share: float, available: int, reset: float) -> float:
    """Returns the seconds for which a rate holds a job of so many rows; 0 if it does not.

    A window begins as the last one ends: `available` rows pass in this one, which ends in `reset`.
    """
    beyond = rows - available
    if beyond <= 0:
        return 0
    each = max(1, int(rate.count * share))
    return reset + (math.ceil(beyond / each) - 1) * rate.window


def limit(rate: Rate, share: float = 1) -> str:
    """Returns a rate in words, with the part of it that is used."""
    whose = "the key's rate" if rate.name == "key" else "the rate"
    window = _WINDOWS.get(rate.window, f"in {rate.window:,} s")
    used = "" if share == 1 else f"{int(rate.count * share):,} of "
    return f"{whose} ({used}{rate.count:,} rows {window})"


def duration(seconds: float) -> str:
    """Returns a time in words, rounded up: `40 s`, `5 min`, `2 h 10 min`."""
    if seconds < 100:
        return f"{max(1, math.ceil(seconds))} s"
    minutes = math.ceil(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours else f"{minutes} min"
