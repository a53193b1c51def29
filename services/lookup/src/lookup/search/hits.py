"""The result of a search."""

from typing import NamedTuple

from common.contracts.company import CompanyKey


class SearchHit(NamedTuple):
    """A company that a search found."""

    key: CompanyKey
    #: 0 to 100; 100 exactly if the texts are equal after folding.
    score: float
    #: The trade or former name that matched, as the register writes it; None for the current name.
    matched_name: str | None = None
