"""Measurements during a fault, and their table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.resilience.harms import Fault
from bench.resilience.load import Lookup

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


def written(page: str, measured: str, *, is_random: bool = False) -> str:
    """The page with the previous run, or the previous random faults, replaced by this one."""
    before, found, rest = page.partition(_MARKS[is_random])
    if not found:
        raise ValueError(f"the page has no line {_MARKS[is_random]!r}")
    _, following, after = rest.partition("\n## ")
    return f"{before}{_MARKS[is_random]}\n\n{measured}\n{following}{after}"
