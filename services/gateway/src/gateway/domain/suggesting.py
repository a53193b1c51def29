"""Parsing of a suggestion's query string."""

from common.contracts.lookup import MAX_SUGGESTIONS, SuggestRequest
from gateway.domain.query import TERM
from gateway.domain.reading import Parameters, Rank, Reading
from gateway.domain.search import NAME_LENGTH

LIMIT = "limit"
DEFAULT_LIMIT = 10


def parse_suggestion(parameters: Parameters) -> SuggestRequest:
    """Parse the text typed and the maximum number of suggestions.

    Raises MissingParameter or InvalidParameter.
    """
    reading = _SuggestReading(parameters)
    country, text = reading.country(), reading.text()
    limit = reading.number(LIMIT, 1, MAX_SUGGESTIONS, DEFAULT_LIMIT)
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
