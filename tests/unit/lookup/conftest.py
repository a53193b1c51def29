"""An empty search index."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from common.contracts.company import Country
from lookup.search.index import SearchIndex


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SearchIndex]:
    index = SearchIndex.open(tmp_path, Country.DK)
    yield index
    index.close()
