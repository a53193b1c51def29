"""One built index in its own folder: its writer, and the state that searches see.

A file names the current folder, with its format, and is replaced atomically: after a crash either
the old or the new index is current, and each is complete.
"""

import fcntl
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import tantivy

from common.contracts.company import CompanyKey, Country
from lookup.search.find.columns import Segment, Segments, joined, load, replace_durably, save
from lookup.search.index import schema as fields
from lookup.search.index.documents import Batch, written
from lookup.search.index.schema import FORMAT, View
from lookup.search.index.words import HitsCache
from lookup.search.indexed_company import Facts, IndexedCompany
from lookup.search.scheduling import Budget

_POINTER, _LOCK = "current", "lock"


def lock(root: Path) -> IO[str]:
    """Keeps other processes out until the returned file is closed; raises BlockingIOError."""
    root.mkdir(parents=True, exist_ok=True)
    held = (root / _LOCK).open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise
    return held


def current(root: Path) -> Path | None:
    """Returns the current index; None if there is none of this format."""
    try:
        written, name = (root / _POINTER).read_text().split()
    except (FileNotFoundError, ValueError):
        return None
    folder = root / name
    return folder if written == str(FORMAT) and folder.is_dir() else None


def unused(root: Path) -> Path:
    """Returns a folder for a new index, numbered by creation."""
    taken = [int(folder.name) for folder in root.iterdir() if folder.name.isdecimal()]
    return root / str(max(taken, default=0) + 1)


def make_current(folder: Path) -> None:
    """Makes an index current durably, and removes all others."""
    replace_durably(folder.parent / _POINTER, f"{FORMAT} {folder.name}\n".encode())
    remove_others(folder)


def remove_others(folder: Path) -> None:
    """Removes all other indexes, such as one whose build was interrupted."""
    for other in folder.parent.iterdir():
        if other.is_dir() and other != folder:
            shutil.rmtree(other, ignore_errors=True)


#: Bytes buffered before a segment is written, 15 MB or more, for changes and for a new index. One
#: thread keeps up with the processes that make documents. Its few large segments need no merge,
#: which took a third of the indexing time.
LIVE, BULK = 15_000_000, 512_000_000

#: Seconds to wait for a lock that should be free, and between two attempts.
_LOCK_TIMEOUT = 5.0
_AGAIN = 0.01


class Generation:
    """Changes become visible and durable with `commit`, all of them or none.

    Searches may run in other threads meanwhile; changes come from one thread at a time.
    """

    def __init__(self, folder: Path, country: Country, heap_size: int) -> None:
        """Opens the index in the folder, or creates it; raises ValueError or OSError if damaged."""
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._country = country
        self._index = fields.open_index(str(folder))
        self._schema = self._index.schema
        self._writer = _writer(self._index, heap_size)
        self._index.reload()
        self._columns = folder / "find"
        self._segments = load(self._columns)
        #: The facts of changed companies since the last commit; None if a company was removed.
        self._changes: dict[int, Facts | None] = {}
        #: The segments of a new index, before its first commit.
        self._new: list[Segment] = []
        #: The companies whose documents changed since then.
        self._documents_of: set[CompanyKey] = set()
        #: Results of `with_words`.
        self.known = HitsCache()

    def view(self, budget: Budget | None = None) -> View:
        """Returns the committed state; its searches are bounded by `budget`."""
        return View(self._index.searcher(), self._schema, budget or Budget(), self._country)

    @property
    def segments(self) -> Segments:
        """Returns the companies of the last commit by their fields."""
        return self._segments

    def replace(self, company: IndexedCompany) -> None:
        """Replaces the documents of a company."""
        self.remove(company.key)
        self._add(written(company, self._country))
        self._changes[company.facts.number] = company.facts

    def renew(self, facts: Iterable[Facts]) -> None:
        """Replaces the facts of companies whose documents stay."""
        self._changes |= {each.number: each for each in facts}

    def remove(self, key: CompanyKey) -> None:
        """Removes the documents of a company, if there are any."""
        self._writer.delete_documents_by_term(fields.COMPANY, key)
        self._changes[int(key.vat)] = None
        self._documents_of.add(key)

    def add(self, batch: Batch) -> None:
        """Adds companies to a new index, each given once."""
        self._add(batch.documents)
        self._new.append(batch.segment)

    def _add(self, documents: Iterable[str]) -> None:
        for document in documents:
            self._writer.add_json(document)

    def commit(self, save_point: bytes) -> None:
        """Makes the changes visible and durable, with their position in the change stream."""
        self._writer.delete_documents_by_term(fields.KIND, fields.THE_STATE)
        state = tantivy.Document()
        state.add_text(fields.KIND, fields.THE_STATE)
        state.add_bytes(fields.SAVE_POINT, save_point)
        self._writer.add_document(state)
        # Saved before the index's commit: after a crash between them they are changed again.
        before = joined(self._new) if self._new else self._segments
        changed = save(self._columns, before.changed(self._changes))
        self._writer.commit()
        self._index.reload()
        self._segments, self._changes, self._new = changed, {}, []
        self.known.change(self._documents_of)
        self._documents_of = set()

    def save_point(self) -> bytes | None:
        """Returns the save point of the last commit; None before the first."""
        view = self.view()
        query = view.term(fields.KIND, fields.THE_STATE)
        hits = view.searcher.search(query, limit=1, count=False).hits
        return bytes(view.searcher.doc(hits[0][1])[fields.SAVE_POINT][0]) if hits else None

    def close(self) -> None:
        """Waits for merges and releases the folder; uncommitted changes are lost."""
        self._writer.wait_merging_threads()

    def discard(self) -> None:
        """Closes an index that will not be completed, and removes its folder."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _writer(index: tantivy.Index, heap_size: int) -> tantivy.IndexWriter:
    """Returns the only writer of a folder.

    Its lock may be held briefly: a child process that is being started for the other country's
    index inherits open files until it executes its own program.
    """
    deadline = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            return index.writer(heap_size, num_threads=1)
        except ValueError as error:
            if "LockBusy" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN)
