"""The search index of one country: searches, live changes, and rebuilding beside the searches."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Self

import structlog

from common.contracts.company import CompanyKey, Country
from lookup.search.index import folders
from lookup.search.index import schema as fields
from lookup.search.index.addresses import search_addresses
from lookup.search.index.budget import Budget
from lookup.search.index.documents import written
from lookup.search.index.generation import BULK, LIVE, Generation
from lookup.search.index.names import search_names
from lookup.search.index.suggestions import suggest
from lookup.search.indexed import IndexedCompany
from lookup.search.matching import Hit
from lookup.search.suggesting import Suggested

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Size:
    companies: int
    names: int
    addresses: int


class SearchIndex:
    """Every method blocks, so an event loop calls it in a thread; any thread may call any of them.

    A search sees the last commit and never waits for a change; changes wait for one another.
    """

    def __init__(self, root: Path, country: Country, held: IO[str]) -> None:
        self._root = root
        self._country = country
        self._held = held
        self._changing = Lock()
        self._generation = self._saved() or self._begun()

    @classmethod
    def open(cls, path: Path, country: Country) -> Self:
        """The index saved for a country under a folder; empty where this code has saved none.

        One process at a time: a second one is refused with BlockingIOError.
        """
        root = path / country
        return cls(root, country, folders.lock(root))

    def search_names(self, term: str, limit: int, budget: Budget | None = None) -> list[Hit]:
        """At most `limit` companies whose names answer, best first, each once.

        Like every search it raises TimeoutError when its budget is spent.
        """
        return search_names(self._generation.view(budget), term, limit)

    def search_name(self, term: str, budget: Budget | None = None) -> Hit | None:
        """The company whose name answers best; None when none comes near enough."""
        return next(iter(self.search_names(term, 1, budget)), None)

    def search_addresses(self, term: str, limit: int, budget: Budget | None = None) -> list[Hit]:
        """At most `limit` companies at the address, best first, each once."""
        return search_addresses(self._generation.view(budget), term, limit)

    def search_address(self, term: str, budget: Budget | None = None) -> Hit | None:
        """The best company at the address; None when no company is there."""
        return next(iter(self.search_addresses(term, 1, budget)), None)

    def suggest(self, typed: str, limit: int, budget: Budget | None = None) -> list[Suggested]:
        """The companies that a name typed so far may become, best first, each once."""
        return suggest(self._generation.view(budget), typed, limit)

    def apply(self, upserts: Iterable[IndexedCompany], removals: Iterable[CompanyKey] = ()) -> None:
        """Replace, add and remove companies; seen and kept from the next commit on."""
        with self._changing:
            for key in removals:
                self._generation.remove(key)
            for company in upserts:
                self._generation.replace(company)

    def commit(self, save_point: bytes) -> None:
        """Make durable and visible what was applied, together with the place to go on from.

        Applying again what was applied changes nothing, so a save point may lie too early.
        """
        with self._changing:
            self._generation.commit(save_point)

    @property
    def save_point(self) -> bytes | None:
        """That of the last commit; None for an index that has to be built first."""
        return self._generation.save_point()

    @property
    def size(self) -> Size:
        view = self._generation.view()
        return Size(
            companies=view.count(fields.A_COMPANY),
            names=view.count(fields.A_NAME),
            addresses=view.count(fields.AN_ADDRESS),
        )

    def rebuild(self, companies: Iterable[IndexedCompany], save_point: bytes) -> None:
        """Build anew from every company, each given once, then search that instead."""
        self.rebuild_from(
            (document for one in companies for document in written(one, self._country)), save_point
        )

    def rebuild_from(self, documents: Iterable[str], save_point: bytes) -> None:
        """The same from what `written` gives of every company.

        The old index answers until then, and stays if this fails; changes wait.
        """
        with self._changing:
            built = Generation(folders.unused(self._root), self._country, BULK)
            try:
                built.add_written(documents)
                built.commit(save_point)
            finally:
                built.close()
            self._switch(Generation(built.folder, self._country, LIVE))

    def reset(self) -> None:
        """Become empty, without a save point."""
        with self._changing:
            self._switch(Generation(folders.unused(self._root), self._country, LIVE))

    def close(self) -> None:
        """Let go of the folder; what was not committed is lost."""
        with self._changing:
            self._generation.close()
            self._held.close()

    def _switch(self, generation: Generation) -> None:
        old, self._generation = self._generation, generation
        old.close()
        folders.make_current(generation.folder)

    def _saved(self) -> Generation | None:
        folder = folders.current(self._root)
        try:
            return Generation(folder, self._country, LIVE) if folder else None
        except (ValueError, OSError) as error:
            # Damaged, and made again from the register.
            log.warning("index.unreadable", folder=str(folder), reason=str(error))
            return None

    def _begun(self) -> Generation:
        generation = Generation(folders.unused(self._root), self._country, LIVE)
        folders.make_current(generation.folder)
        return generation
