"""Name and address search in an index inside the process: the only importer of tantivy."""

from lookup.search.index.search_index import SearchIndex, Size

__all__ = ["SearchIndex", "Size"]
