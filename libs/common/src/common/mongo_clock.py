"""MongoDB's clock, shared by all processes (ADR 0017)."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from common.contracts.failures import Unavailable
from common.mongo import Client, translated_errors
from common.runtime.tasks import beside

#: Seconds between readings of the database's clock; a monotonic clock drifts little meanwhile.
_MEASURE_EVERY = 10.0
_MEASURE_AGAIN = 0.5
#: Seconds. A slower answer does not replace a known time.
_SLOW_ANSWER = 1.0
#: Seconds that a wall clock may be off before the health check reports it.
_WRONG = 5.0


def _since_boot() -> float:
    """Returns the seconds of a monotonic clock that also counts while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class DatabaseClock:
    """The database's time, shared by all processes (ADR 0017).

    Between two readings this machine's monotonic clock is used, never its wall clock: that may be
    wrong, and may jump.
    """

    def __init__(self, client: Client, *, steady: Callable[[], float] = _since_boot) -> None:
        self._client = client
        self._steady = steady
        #: Seconds since 1970 when the steady clock was 0.
        self._epoch: float | None = None
        #: Set once the time is known.
        self.measured = asyncio.Event()

    def __call__(self) -> datetime:
        """Returns the time to the millisecond, the database's precision."""
        if self._epoch is None:
            raise RuntimeError("the database's clock has not been read")
        milliseconds = int((self._epoch + self._steady()) * 1000)
        return datetime.fromtimestamp(milliseconds / 1000, UTC)

    async def measure(self) -> None:
        """Reads the database's clock. Raises `Unavailable`."""
        began = self._steady()
        with translated_errors():
            hello = await self._client.admin.command("hello")
        took = self._steady() - began
        # The clock was read at some moment in between: a slow answer is less precise than the
        # known time.
        if took < _SLOW_ANSWER or self._epoch is None:
            # A command's reply has naive times, in UTC.
            at: datetime = hello["localTime"].replace(tzinfo=UTC)
            self._epoch = at.timestamp() - (began + took / 2)
            self.measured.set()

    async def run(self) -> None:
        """Measures until cancelled."""
        while True:
            with suppress(Unavailable):  # the check of the database reports it
                await self.measure()
            await asyncio.sleep(_MEASURE_EVERY if self.measured.is_set() else _MEASURE_AGAIN)

    async def check(self) -> str | None:
        """Checks the clock; returns a message if this machine's wall clock is wrong, else None."""
        behind = (self() - datetime.now(UTC)).total_seconds()
        if abs(behind) < _WRONG:
            return None
        return f"{abs(behind):.0f} s {'behind' if behind > 0 else 'ahead of'} the database's clock"


@asynccontextmanager
async def database_clock(client: Client) -> AsyncIterator[DatabaseClock]:
    """Tracks the database's time during the body, which starts once it is known."""
    clock = DatabaseClock(client)
    async with beside(clock.run()):
        await clock.measured.wait()
        yield clock
