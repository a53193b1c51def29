"""Counts of one pass over a source."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from lookup.ingest.batches import Summary
from lookup.ingest.planning.states import Verdict


@dataclass
class Tally:
    #: Entries of the feed, or documents and records, that were read.
    read: int = 0
    #: By verdict, and `purged`, `vanished`, `unknown`, `refused`, `elsewhere`.
    results: Counter[str] = field(default_factory=Counter)
    #: Reasons of refused records or entries.
    reasons: Counter[str] = field(default_factory=Counter)
    #: Unreadable entries at the end of the feed, which hold the cursor.
    unreadable_tail: int = 0
    #: The comparison of the stored records with the register's whole file, if one was made.
    reconciled: bool = False
    differences: int = 0

    def judged(self, verdicts: Iterable[Verdict]) -> None:
        self.results.update(verdict.value for verdict in verdicts)

    def refused(self, reason: str) -> None:
        self.results["refused"] += 1
        self.reasons[reason] += 1

    def loaded(self, summary: Summary) -> None:
        """Adds a file's counts; its refused records were reported one by one."""
        counts = summary.counts()
        self.read += counts.pop("read")
        self.results.update({result: count for result, count in counts.items() if count})
