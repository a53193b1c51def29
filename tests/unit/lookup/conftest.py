"""An empty search index, and the searches in its threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from common.contracts.company import Country
from lookup.search.index import SearchIndex
from lookup.search.scheduling import search_threads
from lookup.search.searcher import IndexSearches


class Ready:
    """A follower whose index is built."""

    can_answer = True


@contextmanager
def searching(index: Any) -> Iterator[IndexSearches]:
    """Searches in an index that follows no register."""
    with search_threads(1, "search") as threads, search_threads(1, "suggest") as suggest_threads:
        followers = {Country.DK: cast(Any, Ready())}
        yield IndexSearches({Country.DK: index}, followers, threads, suggest_threads)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SearchIndex]:
    index = SearchIndex.open(tmp_path, Country.DK)
    yield index
    index.close()


@pytest.fixture
def searches(index: SearchIndex) -> Iterator[IndexSearches]:
    """Searches in the index."""
    with searching(index) as searches:
        yield searches
