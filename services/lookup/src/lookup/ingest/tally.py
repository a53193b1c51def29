"""What one pass over a source did."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from lookup.ingest.load import Summary
from lookup.ingest.planning.states import Verdict


@dataclass
class Tally:
    #: Entries of the feed, or documents and records, that were read.
    read: int = 0
    #: By verdict, and `purged`, `vanished`, `unknown`, `refused`, `elsewhere`.
    results: Counter[str] = field(default_factory=Counter)
    #: Why records or entries were refused.
    reasons: Counter[str] = field(default_factory=Counter)
    #: Unreadable entries that the feed ends with, so that its cursor stands before them.
    standing: int = 0
    #: Whether all that is stored was compared with the register's whole file, and what differed.
    reconciled: bool = False
    differences: int = 0

    def judged(self, verdicts: Iterable[Verdict]) -> None:
        self.results.update(verdict.value for verdict in verdicts)

    def refused(self, reason: str) -> None:
        self.results["refused"] += 1
        self.reasons[reason] += 1

    def loaded(self, summary: Summary) -> None:
        """Adds what loading a file did; why records were refused, its own callback heard."""
        counts = summary.counts()
        self.read += counts.pop("read")
        self.results.update({result: count for result, count in counts.items() if count})
