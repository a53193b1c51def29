"""The search index of one country: searches, live changes, and rebuilds while it is searched."""

from collections.abc import Collection, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO, Self

import structlog

from common.contracts.company import CompanyKey, Country
from common.contracts.find import FindRequest
from lookup.search.find.pages import FindPage, Hits, find, find_numbers, having, owned
from lookup.search.folding import cut
from lookup.search.index import schema as fields
from lookup.search.index.documents import Batch
from lookup.search.index.generation import (
    BULK,
    LIVE,
    Generation,
    current,
    lock,
    make_current,
    remove_others,
    unused,
)
from lookup.search.index.schema import View
from lookup.search.index.suggestions import read_prefix, suggest, suggest_numbers
from lookup.search.index.words import cached_with_words
from lookup.search.indexed_company import Facts, IndexedCompany, SuggestionPage
from lookup.search.scheduling import Budget

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Size:
    """The numbers of indexed companies, names and addresses."""

    companies: int
    names: int
    addresses: int


class SearchIndex:
    """Thread-safe; every method blocks, so an event loop calls it in a thread.

    A search sees the last commit and never waits for a change; changes wait for one another.
    """

    def __init__(self, root: Path, country: Country, held: IO[str]) -> None:
        self._root = root
        self._country = country
        self._held = held
        self._changing = Lock()
        self._generation = self._saved() or self._created()

    @classmethod
    def open(cls, path: Path, country: Country) -> Self:
        """Returns the saved index of a country in a folder; empty if this release has saved none.

        Only one process may open it: a second one raises BlockingIOError.
        """
        root = path / country
        return cls(root, country, lock(root))

    def view(self, budget: Budget | None = None) -> View:
        """Returns the last commit; a search of it raises TimeoutError when the budget is spent."""
        return self._generation.view(budget)

    def suggest(
        self, typed: str, limit: int, budget: Budget | None = None, *, after: str | None = None
    ) -> SuggestionPage:
        """Returns at most `limit` companies that match a partly typed name, each once.

        They are the best, best first, or those that follow the page with the cursor `after`. The
        beginning of a registration number also suggests companies.
        """
        generation, text = self._generation, cut(typed)
        view = generation.view(budget)
        prefix = read_prefix(text, self._country)
        if prefix is None:
            return suggest(view, text, limit, after)
        return suggest_numbers(view, generation.segments, prefix, limit, after)

    def find(self, request: FindRequest, budget: Budget | None = None) -> FindPage:
        """Returns a page of the companies that fit the filters of a request."""
        generation = self._generation
        return find(generation.segments, request, _hits(generation, request, budget))

    def having(
        self, field: str, values: Collection[str], _budget: Budget | None = None
    ) -> dict[str, int]:
        """Returns for each of these values of a field the number of a company that has it."""
        return having(self._generation.segments, field, values)

    def owned(
        self, owners: Collection[int], limit: int, _budget: Budget | None = None
    ) -> list[int]:
        """Returns the lowest numbers of the companies that some of these own, in order."""
        return owned(self._generation.segments, owners, limit)

    def find_numbers(
        self, request: FindRequest, budget: Budget | None = None, *, after: int, limit: int
    ) -> list[int]:
        """Returns the next numbers, in order, of the companies that fit the filters."""
        generation = self._generation
        hits = _hits(generation, request, budget)
        return find_numbers(generation.segments, request, hits, after=after, limit=limit)

    def apply(
        self,
        upserts: Iterable[IndexedCompany],
        removals: Iterable[CompanyKey] = (),
        facts: Iterable[Facts] = (),
    ) -> None:
        """Replaces, adds and removes companies; visible and durable from the next commit on.

        `facts` are of companies whose names and addresses did not change.
        """
        with self._changing:
            for key in removals:
                self._generation.remove(key)
            for company in upserts:
                self._generation.replace(company)
            self._generation.renew(facts)

    def commit(self, save_point: bytes) -> None:
        """Makes applied changes durable and visible, together with the save point.

        Applying changes again is harmless, so a save point may be too early.
        """
        with self._changing:
            self._generation.commit(save_point)

    @property
    def save_point(self) -> bytes | None:
        """The save point of the last commit; None for an index that has to be built first."""
        return self._generation.save_point()

    @property
    def size(self) -> Size:
        """Returns the numbers of indexed companies, names and addresses."""
        view = self._generation.view()
        return Size(
            companies=view.count(fields.A_COMPANY),
            names=view.count(fields.A_NAME),
            addresses=view.count(fields.AN_ADDRESS),
        )

    def new(self) -> Generation:
        """Returns a new index; once it is filled, committed and closed, `switch` takes it."""
        return Generation(unused(self._root), self._country, BULK)

    def switch(self, built: Generation) -> None:
        """Searches a new index, which has been closed, instead of the one that served until now."""
        with self._changing:
            old, self._generation = (
                self._generation,
                Generation(built.folder, self._country, LIVE),
            )
            old.close()
            make_current(built.folder)

    def rebuild(self, batches: Iterable[Batch], save_point: bytes) -> None:
        """Builds a new index from the batches that `batch_of` makes, then searches it instead."""
        with closing(self.new()) as built:
            for batch in batches:
                built.add(batch)
            built.commit(save_point)
        self.switch(built)

    def close(self) -> None:
        """Releases the folder; uncommitted changes are lost."""
        with self._changing:
            self._generation.close()
            self._held.close()

    def _saved(self) -> Generation | None:
        folder = current(self._root)
        if folder is None:
            return None
        try:
            saved = Generation(folder, self._country, LIVE)
        except (ValueError, OSError) as error:
            # Damaged, and rebuilt from the register.
            log.warning("index.unreadable", folder=str(folder), reason=str(error))
            return None
        remove_others(folder)
        return saved

    def _created(self) -> Generation:
        generation = Generation(unused(self._root), self._country, LIVE)
        make_current(generation.folder)
        return generation


def _hits(generation: Generation, request: FindRequest, budget: Budget | None) -> Hits | None:
    if request.words is None:
        return None
    known = generation.known
    return cached_with_words(known, partial(generation.view, budget), cut(request.words))
