"""The search index of one country: searches, live changes, and rebuilds while it is searched."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO, Self

import structlog

from common.contracts.company import CompanyKey, Country
from common.contracts.find import FindRequest
from common.contracts.match import WeighedCompany
from lookup.search.find.pages import FindPage, Hits, find, find_numbers, having
from lookup.search.folding import cut
from lookup.search.index import schema as fields
from lookup.search.index.addresses import search_addresses
from lookup.search.index.candidates import match_candidates, search_contacts
from lookup.search.index.documents import Batch, batch_of
from lookup.search.index.generation import (
    BULK,
    LIVE,
    Generation,
    current,
    lock,
    make_current,
    unused,
)
from lookup.search.index.names import many_share, search_names
from lookup.search.index.suggestions import read_prefix, suggest, suggest_numbers
from lookup.search.index.words import cached_with_words
from lookup.search.indexed_company import Facts, IndexedCompany
from lookup.search.match.evidence import CandidateCompany, weighed
from lookup.search.match.record import ReadRecord
from lookup.search.results import SearchHit, SuggestionPage
from lookup.search.scheduling import Budget
from lookup.search.scoring import Weigh

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

    def search_names(self, term: str, limit: int, budget: Budget | None = None) -> list[SearchHit]:
        """Returns at most `limit` companies with matching names, best first, each once.

        Companies of which only a figure in the name differs may follow, see `SearchHit.is_other`.
        Like every search it raises TimeoutError when its budget is spent.
        """
        return search_names(self._generation.view(budget), cut(term), limit)

    def search_name(self, term: str, budget: Budget | None = None) -> SearchHit | None:
        """Returns the company with the best matching name, if any is accepted."""
        hits = self.search_names(term, 1, budget)
        return next((hit for hit in hits if not hit.is_other), None)

    def many_share(self, term: str, budget: Budget | None = None) -> bool:
        """Returns True if the words are too common to find one company, and several have all."""
        return many_share(self._generation.view(budget), cut(term))

    def search_addresses(
        self, term: str, limit: int, budget: Budget | None = None
    ) -> list[SearchHit]:
        """Returns at most `limit` companies at the address, best first, each once."""
        return search_addresses(self._generation.view(budget), cut(term), limit)

    def search_address(self, term: str, budget: Budget | None = None) -> SearchHit | None:
        """Returns the best company at the address, if any."""
        return next(iter(self.search_addresses(term, 1, budget)), None)

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

    def find_numbers(
        self, request: FindRequest, budget: Budget | None = None, *, after: int, limit: int
    ) -> list[int]:
        """Returns the next numbers, in order, of the companies that fit the filters."""
        generation = self._generation
        hits = _hits(generation, request, budget)
        return find_numbers(generation.segments, request, hits, after=after, limit=limit)

    def search_contacts(
        self, contact: str, limit: int, budget: Budget | None = None
    ) -> list[SearchHit]:
        """Returns at most `limit` companies with an e-mail address or a domain, best first."""
        return search_contacts(self._generation.view(budget), contact, limit)

    def match_candidates(
        self, record: ReadRecord, budget: Budget | None = None
    ) -> list[CompanyKey]:
        """Returns the companies that a customer's record may be, each once, in no order."""
        return match_candidates(self._generation.view(budget), record)

    def weighed(
        self,
        record: ReadRecord,
        companies: Sequence[CandidateCompany],
        budget: Budget | None = None,
    ) -> list[WeighedCompany]:
        """Returns companies with their evidence, the likeliest first; words weigh by rarity."""
        return weighed(record, companies, self._generation.view(budget).weigh)

    def words_weigh(self) -> Weigh:
        """Returns the weights of words in this index."""
        return self._generation.view().weigh

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

    def rebuild(self, companies: Iterable[IndexedCompany], save_point: bytes) -> None:
        """Builds a new index from every company, each given once, then searches it instead."""
        self.rebuild_from((batch_of([one], self._country) for one in companies), save_point)

    def rebuild_from(self, batches: Iterable[Batch], save_point: bytes) -> None:
        """Builds a new index from the batches that `batch_of` makes, then searches it instead.

        The old index serves until then, and stays if this fails; changes wait.
        """
        with self._changing:
            built = Generation(unused(self._root), self._country, BULK)
            try:
                built.fill(batches)
                built.commit(save_point)
            finally:
                built.close()
            self._switch(Generation(built.folder, self._country, LIVE))

    def close(self) -> None:
        """Releases the folder; uncommitted changes are lost."""
        with self._changing:
            self._generation.close()
            self._held.close()

    def _switch(self, generation: Generation) -> None:
        old, self._generation = self._generation, generation
        old.close()
        make_current(generation.folder)

    def _saved(self) -> Generation | None:
        folder = current(self._root)
        try:
            return Generation(folder, self._country, LIVE) if folder else None
        except (ValueError, OSError) as error:
            # Damaged, and rebuilt from the register.
            log.warning("index.unreadable", folder=str(folder), reason=str(error))
            return None

    def _created(self) -> Generation:
        generation = Generation(unused(self._root), self._country, LIVE)
        make_current(generation.folder)
        return generation


def _hits(generation: Generation, request: FindRequest, budget: Budget | None) -> Hits | None:
    if request.words is None:
        return None
    known = generation.known
    return cached_with_words(known, partial(generation.view, budget), cut(request.words))
