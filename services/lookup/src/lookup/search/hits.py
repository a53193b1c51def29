"""The result of a search."""

from typing import NamedTuple

from common.contracts.company import CompanyKey


class SearchHit(NamedTuple):
    key: CompanyKey
    #: 0 to 100.
    score: float
    #: The trade or former name that matched, as the register writes it; None for the current name.
    matched_name: str | None = None
