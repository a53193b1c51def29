"""The cluster under its load with one fault at a time, what was measured, and its table."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pymongo.errors import PyMongoError

from bench.resilience.cluster import Cluster, Failed
from bench.resilience.harms import Fault
from bench.resilience.load import Events, Load, Lookup, Lookups, Received
from local_stack import SetupError

#: Each run replaces the page after these lines.
_MARKS = {False: "## Measured", True: "## Random faults"}

_HEAD = (
    "| fault | sent | received | repeated | lost | slowest delivery | lookups | failed | "
    "failed but for the balancer | slowest answer | slowest failure | well again after | goal |\n"
    "|---|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|---|"
)
#: Seconds of an answer worth a look.
_SLOW = 0.6
#: Seconds from the first refusal on until lookups are refused at once, and in which they are then.
_NOTICED, _AT_ONCE = 1.0, 0.05


@dataclass(frozen=True)
class Outcome:
    fault: Fault
    #: Numbers of due, received and repeated deliveries.
    sent: int
    received: int
    repeated: int
    #: Seconds from the event to the last of its webhooks.
    slowest_delivery: float
    lookups: Sequence[Lookup]
    #: Begin and end of the fault by the monotonic clock.
    began: float
    ended: float
    #: Of the fault itself, or of a cluster that did not recover; empty without one.
    error: str = ""
    #: True if the fault was caused a second time because the first missed its goal.
    is_again: bool = False

    @property
    def lost(self) -> int:
        return self.sent - self.received

    @property
    def failed(self) -> list[Lookup]:
        return [one for one in self.lookups if one.status != 200]

    @property
    def slowest_answer(self) -> float:
        return max((one.seconds for one in self.lookups if one.status == 200), default=0)

    @property
    def missed(self) -> list[str]:
        """The missed goals; empty if all were met."""
        failed = [one for one in self.failed if not self._may_fail(one)]
        return [
            reason
            for reason, holds in {
                "lost": not self.lost,
                "repeated": not self.repeated,
                "failed": not failed,
                f"over {self.fault.slowest:g} s": self.slowest_answer <= self.fault.slowest,
                "error": not self.error,
            }.items()
            if not holds
        ]

    @property
    def timeline(self) -> str:
        """Seconds since the fault began at which lookups failed or were slow, with their number.

        Without those that may be refused.
        """
        failed = [one for one in self.failed if not self._may_fail(one)]
        slow = [one for one in self.lookups if one.status == 200 and one.seconds > _SLOW]
        counts = Counter((int(one.at - self.began), one.status) for one in failed + slow)
        return ", ".join(f"{at} s: {count} × {status}" for (at, status), count in counts.items())

    def _may_fail(self, one: Lookup) -> bool:
        if self.fault.may_fail:
            return one.is_problem and one.seconds <= self.fault.slowest
        is_refused = one.status == 503 and one.may_retry and one.seconds <= _AT_ONCE
        return self.fault.may_refuse and (is_refused or one.at - self._refused_at < _NOTICED)

    @cached_property
    def _refused_at(self) -> float:
        """When the first lookup failed: the command that causes an alarm takes a second itself."""
        return min((one.at for one in self.failed), default=self.began)

    @property
    def row(self) -> str:
        failed = self.failed
        repeated = [one for one in self.lookups if one.status == 200 and one.repeats]
        cells = [
            f"{self.fault.name}, again" if self.is_again else self.fault.name,
            f"{self.sent:,}",
            f"{self.received:,}",
            f"{self.repeated:,}",
            f"{self.lost:,}",
            f"{self.slowest_delivery:.0f} s",
            f"{len(self.lookups):,}",
            _reasons(failed),
            f"{len(failed) + len(repeated):,}",
            f"{self.slowest_answer:.2f} s",
            f"{max(one.seconds for one in failed):.2f} s" if failed else "",
            f"{max(0.0, max(one.at for one in failed) - self.ended):.0f} s" if failed else "",
            f"NO: {', '.join(self.missed)}" if self.missed else "yes",
        ]
        return f"| {' | '.join(cells)} |"


def _reasons(failed: Sequence[Lookup]) -> str:
    counts = Counter("no answer" if one.status is None else str(one.status) for one in failed)
    return ", ".join(f"{count} × {status}" for status, count in sorted(counts.items())) or "0"


def table(outcomes: Sequence[Outcome], wanted: Sequence[str]) -> str:
    """The table, followed by errors and by faults for which there was no time."""
    lines = [_HEAD, *(outcome.row for outcome in outcomes)]
    notes = [f"- {each.fault.name}: {each.error}" for each in outcomes if each.error]
    measured = {each.fault.name for each in outcomes}
    notes += [f"- {name}: no time was left." for name in wanted if name not in measured]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def is_good(outcomes: Sequence[Outcome], wanted: Sequence[str]) -> bool:
    """Returns True if every wanted fault was caused, and every row meets its goal."""
    measured = {each.fault.name for each in outcomes}
    return measured.issuperset(wanted) and not any(each.missed for each in outcomes)


def written(page: str, measured: str, *, is_random: bool = False) -> str:
    """The page with the previous run, or the previous random faults, replaced by this one."""
    before, found, rest = page.partition(_MARKS[is_random])
    if not found:
        raise ValueError(f"the page has no line {_MARKS[is_random]!r}")
    _, following, after = rest.partition("\n## ")
    return f"{before}{_MARKS[is_random]}\n\n{measured}\n{following}{after}"


#: Seconds of load after a fault, and the longest that the next one waits for its deliveries.
_AFTER, _DRAIN = 5.0, 30.0


@dataclass(frozen=True)
class Run:
    """A fault, and the events and lookups during it."""

    fault: Fault
    events: Sequence[str]
    lookups: Sequence[Lookup]
    #: By the monotonic clock.
    began: float
    ended: float
    error: str
    is_again: bool = False


@dataclass
class LoadedCluster:
    """The cluster under its load, and the receiver of its webhooks."""

    cluster: Cluster
    lookups: Lookups
    events: Events
    received: Received
    load: Load

    async def run(self, fault: Fault, *, is_again: bool = False) -> Run:
        """Causes a fault, and waits for the deliveries of events stored meanwhile."""
        lookups_before, events_before = len(self.lookups.done), len(self.events.at)
        began = time.monotonic()
        error = await error_of(fault.act(self.cluster))
        ended = time.monotonic()
        await asyncio.sleep(_AFTER)
        not_healthy = await error_of(self.cluster.until_healthy())
        lookups = self.lookups.done[lookups_before:]
        events = self.events.ids[events_before:]
        await self.received.until(events, len(events) * self.load.webhooks, timeout=_DRAIN)
        return Run(fault, events, lookups, began, ended, error or not_healthy, is_again)

    async def until_all_received(self, runs: Sequence[Run], *, timeout: float) -> None:
        """Waits until every webhook has the events of these runs, and prints those that lack."""
        events = [event for run in runs for event in run.events]
        await self.received.until(events, len(events) * self.load.webhooks, timeout=timeout)
        for event in events:
            if self.received.count([event]) < self.load.webhooks:
                print(f"not at every webhook: {event}", flush=True)

    def outcome(self, run: Run) -> Outcome:
        """Returns the outcome of the events and lookups of a run until now."""
        completed = self.received.completed
        waits = [
            completed[event] - self.events.at[event] for event in run.events if event in completed
        ]
        return Outcome(
            fault=run.fault,
            sent=len(run.events) * self.load.webhooks,
            received=self.received.count(run.events),
            repeated=self.received.repeated(run.events),
            slowest_delivery=max(waits, default=0),
            lookups=run.lookups,
            began=run.began,
            ended=run.ended,
            error=run.error,
            is_again=run.is_again,
        )


async def error_of(work: Awaitable[None]) -> str:
    """The error of a fault or a recovery; empty if it succeeded."""
    try:
        await work
    except (Failed, SetupError, PyMongoError, TimeoutError) as error:
        return str(error) or type(error).__name__
    return ""
