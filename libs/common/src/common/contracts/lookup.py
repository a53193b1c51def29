"""Lookups and suggestions between gateway and lookup service."""

from enum import StrEnum

from pydantic import Field

from common.contracts.company import CompanySummary, Country, Include
from common.contracts.contract import Contract


class SearchType(StrEnum):
    VAT = "vat"
    NAME = "name"
    PRODU = "produ"
    PHONE = "phone"
    EAN = "ean"
    ADDRESS = "address"


class Question(Contract):
    """One way to look: what `term` is, and the term, already normalised."""

    type: SearchType
    term: str


class LookupRequest(Contract):
    country: Country
    #: Asked in this order; the first that finds a company answers.
    questions: tuple[Question, ...] = Field(min_length=1)
    include: tuple[Include, ...] = ()
    #: Whether the types of the questions were inferred from a bare term.
    inferred: bool = False


class LookupReply(Contract):
    #: The public company as JSON, ready to be sent.
    body: bytes
    #: Changes when the answer does, and only then: the entity tag without quotes and format.
    tag: str


#: The most companies that can be suggested at once.
MAX_SUGGESTIONS = 20


class SuggestRequest(Contract):
    country: Country
    #: What has been typed of a name so far.
    text: str
    limit: int = Field(ge=1, le=MAX_SUGGESTIONS)


class Suggestion(CompanySummary):
    """A company that the text may become; its score is 100 when the text is the whole name."""


class SuggestionList(Contract):
    """The public answer."""

    suggestions: tuple[Suggestion, ...] = ()


class SuggestReply(Contract):
    #: A `SuggestionList` as JSON, ready to be sent.
    body: bytes
