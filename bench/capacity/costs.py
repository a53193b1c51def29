"""What each part of a deployment costs, fitted to the measured loads of `points.toml`.

A part's cores are those of its processes without a load, and what lookups, events and deliveries
cost. A lookup is the cheaper, the more there are a second: they share messages and reads. Events
cost something each and something for each group of them: few events a second are as many groups,
many are stored and published together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

#: A measured load, as in `points.toml`.
Row = Mapping[str, Any]

SERVICES = ("gateway", "lookup", "dispatcher")
SERVERS = ("RabbitMQ", "MongoDB")
#: Groups of events a second, at most: twice as many as the measured loads stored, as a poll of the
#: outbox divides some.
_GROUPS = 40


@dataclass(frozen=True, slots=True)
class Rates:
    """What happens a second in a deployment, and the processes of each service."""

    lookups: float
    events: float
    deliveries: float
    processes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one part: cores of its idle processes, and milliseconds of processor time."""

    #: Of the part itself, and of each process: its own, or of all services if it is a server.
    alone: float
    process: float
    group: float
    event: float
    delivery: float
    #: Of a lookup, by the logarithm of their rate.
    lookup: Sequence[tuple[float, float]]

    def idle(self, processes: int) -> float:
        """Returns the cores that are used without a load."""
        return self.alone + self.process * processes

    def lookup_ms(self, rate: float) -> float:
        """Returns the cost of a lookup at a rate, linear between the measured ones."""
        places, costs = zip(*self.lookup, strict=True)
        return float(np.interp(log(rate), places, costs))


def processes_of(part: str, processes: Mapping[str, int]) -> int:
    """Returns how many processes a part's idle cores grow with."""
    return processes[part] if part in SERVICES else sum(processes.values())


def cores(part: str, costs: Costs, rates: Rates) -> float:
    """Returns the cores that a part uses, all its processes together."""
    milliseconds = (
        rates.lookups * costs.lookup_ms(max(rates.lookups, 1.0))
        + _groups(part, rates) * costs.group
        + rates.events * costs.event
        + rates.deliveries * costs.delivery
    )
    return costs.idle(processes_of(part, rates.processes)) + milliseconds / 1000


def _groups(part: str, rates: Rates) -> float:
    """Returns the groups of events a second; each dispatcher takes a part of each group."""
    groups = min(rates.events, _GROUPS)
    return groups * rates.processes["dispatcher"] if part == "dispatcher" else groups


def rates_of(row: Row) -> Rates:
    """Returns what happened in a measured load."""
    processes = dict(zip(SERVICES, row["processes"], strict=True))
    return Rates(row["lookups"], row["events"], row["deliveries"], processes)


def fitted(part: str, rows: Sequence[Row]) -> Costs:
    """Returns a part's costs with the least sum of squared relative errors, none negative."""
    without = [row for row in rows if not row["lookups"]]
    work = np.array([_work(part, rates_of(row)) for row in without])
    measured = np.array([row["cores"][part] for row in without])
    alone, process, group, event, delivery = _least_squares(work / measured[:, None])
    idle = Costs(alone, process, group * 1000, event * 1000, delivery * 1000, ())
    lookup = sorted(
        _lookup(part, idle, row) for row in rows if row["lookups"] and not row["events"]
    )
    return Costs(alone, process, group * 1000, event * 1000, delivery * 1000, lookup)


def _work(part: str, rates: Rates) -> list[float]:
    """Returns what a part's costs are multiplied with."""
    return [
        0.0 if part in SERVICES else 1.0,
        processes_of(part, rates.processes),
        _groups(part, rates),
        rates.events,
        rates.deliveries,
    ]


def _lookup(part: str, idle: Costs, row: Row) -> tuple[float, float]:
    """Returns a measured lookup: the logarithm of their rate, and the cost of each."""
    rates = rates_of(row)
    rest = row["cores"][part] - idle.idle(processes_of(part, rates.processes))
    return log(rates.lookups), max(rest, 0.0) / rates.lookups * 1000


def _least_squares(work: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
    """Returns the factors with which each row adds up to nearly 1, leaving out negative ones."""
    found = np.zeros(work.shape[1])
    used = [column for column in range(work.shape[1]) if work[:, column].any()]
    while used:
        factors = np.linalg.lstsq(work[:, used], np.ones(len(work)), rcond=None)[0]
        # As shares of what they explain, since the units differ.
        shares = factors * work[:, used].max(axis=0)
        if shares.min() >= -1e-9:
            found[used] = factors
            break
        used.pop(int(shares.argmin()))
    return [float(each) for each in found]
