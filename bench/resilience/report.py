"""Measurements during a fault, and their table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.resilience.load import Lookup

#: Each run replaces the page after this line.
_MARK = "## Measured"

_HEAD = (
    "| fault | sent | received | repeated | lost | slowest delivery | lookups | failed | "
    "slowest answer | slowest failure | well again after |\n"
    "|---|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|"
)


@dataclass(frozen=True)
class Outcome:
    fault: str
    #: Numbers of due, received and repeated deliveries.
    sent: int
    received: int
    repeated: int
    #: Seconds from the event to the last of its webhooks.
    slowest_delivery: float
    lookups: Sequence[Lookup]
    #: End of the fault by the monotonic clock.
    ended: float
    #: Of the fault itself, or of a cluster that did not recover; empty without one.
    error: str = ""

    @property
    def lost(self) -> int:
        return self.sent - self.received

    @property
    def failed(self) -> list[Lookup]:
        return [one for one in self.lookups if one.status != 200]

    @property
    def row(self) -> str:
        failed = self.failed
        answered = [one.seconds for one in self.lookups if one.status == 200]
        cells = [
            self.fault,
            f"{self.sent:,}",
            f"{self.received:,}",
            f"{self.repeated:,}",
            f"{self.lost:,}",
            f"{self.slowest_delivery:.0f} s",
            f"{len(self.lookups):,}",
            _reasons(failed),
            f"{max(answered, default=0):.2f} s",
            f"{max(one.seconds for one in failed):.2f} s" if failed else "",
            f"{max(0.0, max(one.at for one in failed) - self.ended):.0f} s" if failed else "",
        ]
        return f"| {' | '.join(cells)} |"


def _reasons(failed: Sequence[Lookup]) -> str:
    counts = Counter("no answer" if one.status is None else str(one.status) for one in failed)
    return ", ".join(f"{count} × {status}" for status, count in sorted(counts.items())) or "0"


def table(outcomes: Sequence[Outcome], wanted: Sequence[str]) -> str:
    """The table, followed by errors and by faults for which there was no time."""
    lines = [_HEAD, *(outcome.row for outcome in outcomes)]
    notes = [f"- {each.fault}: {each.error}" for each in outcomes if each.error]
    notes += [f"- {name}: no time was left." for name in wanted[len(outcomes) :]]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def written(page: str, measured: str) -> str:
    """The page with the previous run replaced by this one."""
    before, found, _ = page.partition(_MARK)
    if not found:
        raise ValueError(f"the page has no line {_MARK!r}")
    return f"{before}{_MARK}\n\n{measured}\n"
