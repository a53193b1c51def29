"""The results of searches."""

from collections.abc import Sequence
from typing import NamedTuple

from common.contracts.company import CompanyKey


class SearchHit(NamedTuple):
    """A company that a search found."""

    key: CompanyKey
    #: 0 to 100; 100 exactly if the texts are equal after folding.
    score: float
    #: The trade or former name that matched, as the register writes it; None for the current name.
    matched_name: str | None = None


class SuggestionPage(NamedTuple):
    """A page of the companies that match a partly typed name."""

    hits: Sequence[SearchHit]
    #: The cursor of the next page; None on the last one.
    cursor: str | None = None
