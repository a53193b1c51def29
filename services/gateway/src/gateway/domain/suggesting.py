"""Parsing of a suggestion's query string."""

import re

from common.contracts.lookup import MAX_SUGGESTIONS, SuggestRequest
from gateway.domain.query import TERM
from gateway.domain.reading import Parameters, Rank, Reading
from gateway.domain.search import NAME_LENGTH

LIMIT = "limit"
DEFAULT_LIMIT = 10

_LIMIT = re.compile(r"[1-9][0-9]{0,2}")


def parse_suggestion(parameters: Parameters) -> SuggestRequest:
    """Parse the text typed and the maximum number of suggestions.

    Raises MissingParameter or InvalidParameter.
    """
    reading = _SuggestReading(parameters)
    country, text, limit = reading.country(), reading.text(), reading.limit()
    if reading.faults or country is None or text is None:
        raise reading.problem()
    return SuggestRequest(country=country, text=text, limit=limit)


class _SuggestReading(Reading):
    def text(self) -> str | None:
        if TERM not in self.parameters:
            self.fault(Rank.MISSING_SEARCH, TERM, "required; give the text typed so far")
            return None
        text = (self.single(TERM) or "").strip()
        shortest, longest = NAME_LENGTH
        if text and not shortest <= len(text) <= longest:
            self.invalid(TERM, f"must be {shortest} to {longest} characters")
        return text

    def limit(self) -> int:
        value = self.single(LIMIT)
        if value is None:
            return DEFAULT_LIMIT
        if _LIMIT.fullmatch(value) and int(value) <= MAX_SUGGESTIONS:
            return int(value)
        self.invalid(LIMIT, f"must be a number from 1 to {MAX_SUGGESTIONS}")
        return DEFAULT_LIMIT
