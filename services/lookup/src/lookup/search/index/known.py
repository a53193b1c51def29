"""The companies with the words of recent queries, kept across commits."""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from threading import Lock
from typing import Final, NamedTuple

from common.contracts.company import CompanyKey
from lookup.search.find.finding import Hits

#: Smaller results are found again in less than a millisecond.
FEWEST_KEPT: Final = 1_000
#: Companies of all results that are kept, of twelve bytes each: 6 MB.
MAX_KEPT: Final = 500_000
#: The last changed companies; a result older than these is searched again.
MAX_CHANGED: Final = 1_000


class Known(NamedTuple):
    """A result, if one is kept, and the companies that changed since it was found."""

    hits: Hits | None
    changed: Sequence[CompanyKey]
    #: The number of changes so far: a search that begins now sees at least these.
    changes: int


class KnownHits:
    """The large results, so that only the first page of a list searches all its words.

    Thread-safe. The least recently used results are dropped first.
    """

    def __init__(self) -> None:
        self._hits: OrderedDict[str, tuple[int, Hits]] = OrderedDict()
        self._companies = 0
        self._changed: list[CompanyKey] = []
        self._changes = 0
        self._using = Lock()

    def of(self, words: str) -> Known:
        """Returns the kept result of these words; to be called before the view that searches."""
        with self._using:
            if words in self._hits:
                changes, hits = self._hits[words]
                since = self._changes - changes
                if since <= len(self._changed):
                    self._hits.move_to_end(words)
                    changed = self._changed[len(self._changed) - since :]
                    return Known(hits, list(dict.fromkeys(changed)), self._changes)
            return Known(None, (), self._changes)

    def keep(self, words: str, hits: Hits, changes: int) -> None:
        """Keeps the companies with these words, found after so many changes."""
        with self._using:
            self._drop(words)
            if not FEWEST_KEPT <= len(hits.numbers) <= MAX_KEPT:
                return
            self._hits[words] = changes, hits
            self._companies += len(hits.numbers)
            while self._companies > MAX_KEPT:
                self._drop(next(iter(self._hits)))

    def change(self, companies: Collection[CompanyKey]) -> None:
        """Notes companies whose changes every search sees from now on."""
        with self._using:
            self._changed = [*self._changed, *companies][-MAX_CHANGED:]
            self._changes += len(companies)

    def _drop(self, words: str) -> None:
        _, hits = self._hits.pop(words, (0, None))
        self._companies -= len(hits.numbers) if hits else 0
