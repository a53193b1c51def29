"""The cluster under its load, with one fault at a time."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from pymongo.errors import PyMongoError

from bench.resilience.cluster import Cluster, Failed
from bench.resilience.harms import Fault
from bench.resilience.load import Events, Load, Lookup, Lookups
from bench.resilience.receiver import Received
from bench.resilience.report import Outcome
from local_stack import SetupError

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
