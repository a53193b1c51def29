"""Random faults for an hour, one every half minute."""

import asyncio
import random
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bench.processes import megabytes
from bench.resilience.cluster import SERVICES, Failed
from bench.resilience.faults import RANDOM
from bench.resilience.harms import Fault
from bench.resilience.load import Lookup
from bench.resilience.loaded import LoadedCluster, Run, error_of
from common.runtime.tasks import background

#: Seconds between two faults, between two looks at the memory, and at each end of the run for the
#: comparison of memory.
_BETWEEN, _LOOK, _COMPARED = 30.0, 15.0, 600.0
#: Most that the memory of a service may grow.
_GROWTH = 1.1


@dataclass
class RandomFaults:
    """Faults whose order is a seed's; one that outlasts the half minute meets the next."""

    loaded: LoadedCluster
    chance: random.Random
    #: Seconds of the run.
    duration: float
    runs: list[Run] = field(default_factory=list)
    #: Numbers of faults that began before everything ran again.
    together: set[int] = field(default_factory=set)
    #: By service: time since the start, and megabytes of its largest process.
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    async def run(self) -> None:
        """Causes the faults, and looks at the memory of each service meanwhile."""
        async with background(self._look()):
            started, recovered = time.monotonic(), True
            while time.monotonic() - started < self.duration:
                if not recovered:
                    self.together.add(len(self.runs))
                recovered = await self._half_minute(self.chance.choice(RANDOM))

    async def _half_minute(self, fault: Fault) -> bool:
        """Causes a fault; True if everything runs again before the next."""
        loaded, began = self.loaded, time.monotonic()
        lookups, events = len(loaded.lookups.done), len(loaded.events.at)
        error = await error_of(fault.act(loaded.cluster))
        ended = time.monotonic()
        left = max(1.0, began + _BETWEEN - time.monotonic())
        recovered = not await error_of(asyncio.wait_for(loaded.cluster.until_healthy(), left))
        await asyncio.sleep(max(0.0, began + _BETWEEN - time.monotonic()))
        done, ids = loaded.lookups.done[lookups:], loaded.events.ids[events:]
        self.runs.append(Run(fault, ids, done, began, ended, error))
        failed = sum(one.status != 200 for one in done)
        slowest = max((one.seconds for one in done), default=0)
        notes = [*([] if recovered else ["not recovered"]), *([error] if error else [])]
        print(
            f"{len(self.runs)} {fault.name}: {len(done)} lookups, {failed} failed, slowest "
            f"{slowest:.2f} s {', '.join(notes)}",
            file=sys.stderr,
            flush=True,
        )
        return recovered

    async def _look(self) -> None:
        started = time.monotonic()
        while True:
            for service in SERVICES:
                largest = await self._megabytes(service)
                self.memory.setdefault(service, []).append((time.monotonic() - started, largest))
            await asyncio.sleep(_LOOK)

    async def _megabytes(self, service: str) -> float:
        cluster, largest = self.loaded.cluster, 0.0
        with suppress(Failed):
            for container in await cluster.containers(service):
                with suppress(OSError, LookupError, Failed):  # it does not run now
                    largest = max(largest, megabytes(await cluster.process(container)))
        return largest

    def is_good(self) -> bool:
        """True if nothing was lost, repeated or failed, and no service has grown."""
        grown = any(after > _GROWTH * before for _, before, after in self._growth())
        return not (grown or self._failed(alone=True) or self._lost or self._repeated)

    @property
    def _events(self) -> Sequence[str]:
        return [event for run in self.runs for event in run.events]

    @property
    def _lost(self) -> int:
        due = len(self._events) * self.loaded.load.webhooks
        return due - self.loaded.received.count(self._events)

    @property
    def _repeated(self) -> int:
        return self.loaded.received.repeated(self._events)

    def _failed(self, *, alone: bool) -> list[Lookup]:
        """Failed lookups of faults that were alone, or of those that met another."""
        return [
            one
            for number, run in enumerate(self.runs)
            if (number not in self.together) is alone
            for one in run.lookups
            if one.status != 200
        ]

    def _growth(self) -> list[tuple[str, float, float]]:
        """Each service with the largest memory of its first and of its last ten minutes."""
        return [
            (
                service,
                max((size for at, size in sizes if at < _COMPARED), default=0),
                max((size for at, size in sizes if at >= sizes[-1][0] - _COMPARED), default=0),
            )
            for service, sizes in self.memory.items()
            if sizes
        ]

    def report(self) -> str:
        """The figures of the hour, and each fault during which a lookup failed."""
        lookups = [one for run in self.runs for one in run.lookups]
        answers = [one for one in lookups if one.status == 200]
        lines = [
            "| figure | value |",
            "|---|--:|",
            f"| faults, of which met another | {len(self.runs)}, {len(self.together)} |",
            f"| deliveries due | {len(self._events) * self.loaded.load.webhooks:,} |",
            f"| deliveries lost, repeated | {self._lost:,}, {self._repeated:,} |",
            f"| lookups | {len(lookups):,} |",
            f"| lookups failed beside one fault | {len(self._failed(alone=True)):,} |",
            f"| lookups failed beside two faults | {len(self._failed(alone=False)):,} |",
            f"| lookups answered only by the balancer's repeat | "
            f"{sum(bool(one.repeats) for one in answers):,} |",
            f"| slowest answer | {max(one.seconds for one in answers):.2f} s |",
        ]
        lines += [
            f"| memory of {service}, first and last ten minutes | {before:.0f} and {after:.0f} MB |"
            for service, before, after in self._growth()
        ]
        notes = [
            f"- fault {number}, {run.fault.name}: "
            f"{sum(one.status != 200 for one in run.lookups)} lookups failed"
            f"{', beside another fault' if number - 1 in self.together else ''}."
            for number, run in enumerate(self.runs, 1)
            if any(one.status != 200 for one in run.lookups)
        ]
        return "\n".join([*lines, *([""] if notes else []), *notes])
