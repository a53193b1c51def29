"""The job that requeues overdue deliveries waits after the end of a database outage."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

import pytest

from common.contracts.failures import Unavailable
from dispatcher.requeue import OverdueRequeuer, RequeueCounts, RequeueJob

INTERVAL, REST = timedelta(seconds=5), timedelta(seconds=10)


@dataclass
class Passes:
    """The first pass finds the database unavailable, and so do two probes, each in another way."""

    clock: float = 0.0
    passes: list[float] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)

    async def __call__(self) -> RequeueCounts:
        self.passes.append(self.clock)
        if len(self.passes) == 1:
            raise Unavailable("the database cannot be reached")
        raise asyncio.CancelledError

    async def probe(self) -> str | None:
        self.probes.append(self.clock)
        if len(self.probes) == 1:
            raise ValueError("an error that the driver does not document")
        return "unavailable" if len(self.probes) == 2 else None


async def test_it_rests_from_the_end_of_an_outage_on(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = Passes()

    async def sleep(seconds: float) -> None:
        passes.clock += seconds

    monkeypatch.setattr("dispatcher.requeue.asyncio.sleep", sleep)
    job = RequeueJob(
        cast(OverdueRequeuer, passes), interval=INTERVAL, rest=REST, database=passes.probe
    )

    with pytest.raises(asyncio.CancelledError):
        await job.run()

    assert passes.passes == [5.0, passes.probes[-1] + 10.0]
    assert passes.probes == [5.0, 5.5, 6.0]
