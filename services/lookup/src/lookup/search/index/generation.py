"""One built index in a folder of its own: its writer, and the state that searches see."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import tantivy

from common.contracts.company import CompanyKey, Country
from lookup.search.index import schema as fields
from lookup.search.index.budget import Budget
from lookup.search.index.documents import written
from lookup.search.index.view import View
from lookup.search.indexed import IndexedCompany


class Effort(NamedTuple):
    """What writing may take: bytes held before a segment is written (15 MB a thread at least)."""

    heap_size: int
    num_threads: int


LIVE = Effort(heap_size=15_000_000, num_threads=1)
#: One thread keeps up with those who write the documents, and its few large segments need no merge,
#: which took a third of the time of indexing.
BULK = Effort(heap_size=256_000_000, num_threads=1)

#: Seconds that a lock which nobody should hold is waited for, and between two tries.
_LOCK_LIMIT = 5.0
_AGAIN = 0.01


class Generation:
    """What is applied becomes visible, and durable, with `commit`; all of it or nothing.

    Searches may go on in other threads meanwhile; changes come from one thread at a time.
    """

    def __init__(self, folder: Path, country: Country, effort: Effort) -> None:
        """Open what the folder holds, or begin in it; ValueError or OSError if it is damaged."""
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._country = country
        self._index = fields.open_index(str(folder))
        self._schema = self._index.schema
        self._writer = _writer(self._index, effort)
        self._index.reload()

    def view(self, budget: Budget | None = None) -> View:
        """What is committed; searches of it are bounded by `budget`."""
        return View(self._index.searcher(), self._schema, budget or Budget(), self._country)

    def replace(self, company: IndexedCompany) -> None:
        self.remove(company.key)
        self.add(company)

    def remove(self, key: CompanyKey) -> None:
        self._writer.delete_documents_by_term(fields.COMPANY, key)

    def add(self, company: IndexedCompany) -> None:
        """Add a company that is not there yet; cheaper than to replace it."""
        self.add_written(written(company, self._country))

    def add_written(self, documents: Iterable[str]) -> None:
        """Add documents of companies that are not there yet."""
        for document in documents:
            self._writer.add_json(document)

    def commit(self, save_point: bytes) -> None:
        self._writer.delete_documents_by_term(fields.KIND, fields.THE_STATE)
        state = tantivy.Document()
        state.add_text(fields.KIND, fields.THE_STATE)
        state.add_bytes(fields.SAVE_POINT, save_point)
        self._writer.add_document(state)
        self._writer.commit()
        self._index.reload()

    def save_point(self) -> bytes | None:
        """That of the last commit; None where nothing was committed."""
        view = self.view()
        query = view.term(fields.KIND, fields.THE_STATE)
        hits = view.searcher.search(query, limit=1, count=False).hits
        return bytes(view.searcher.doc(hits[0][1])[fields.SAVE_POINT][0]) if hits else None

    def close(self) -> None:
        """Let merges end and go off the folder; what was not committed is lost."""
        self._writer.wait_merging_threads()


def _writer(index: tantivy.Index, effort: Effort) -> tantivy.IndexWriter:
    """The one writer of a folder.

    For a moment somebody else may hold its lock: a process that is being started, for the other
    country's index, has our open files until it becomes a program of its own.
    """
    deadline = time.monotonic() + _LOCK_LIMIT
    while True:
        try:
            return index.writer(**effort._asdict())
        except ValueError as error:
            if "LockBusy" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN)
