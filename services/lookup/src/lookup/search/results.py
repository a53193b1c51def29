"""The results of searches."""

from collections.abc import Sequence
from typing import NamedTuple

from common.contracts.company import CompanyKey, Country
from common.domain.countries import FORMATS


def company_key(country: Country, number: int) -> CompanyKey:
    """Returns the key of a company that the index has by its number."""
    return CompanyKey(country, f"{number:0{FORMATS[country].vat_digits}d}")


class SearchHit(NamedTuple):
    """A company that a search found."""

    key: CompanyKey
    #: 0 to 100; 100 exactly if the texts are equal after folding.
    score: float
    #: The trade or former name that matched, as the register writes it; None for the current name.
    matched_name: str | None = None
    #: The number of other companies that match with the same score; known of the first hit.
    others: int = 0
    #: True if a number, a Roman numeral or a single letter makes it another name than the queried
    #: one: it is proposed, and never the answer. Such hits come last.
    is_other: bool = False


class SuggestionPage(NamedTuple):
    """A page of the companies that match a partly typed name."""

    hits: Sequence[SearchHit]
    #: The cursor of the next page; None on the last one.
    cursor: str | None = None
