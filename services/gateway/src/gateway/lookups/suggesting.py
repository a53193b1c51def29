"""Parsing of a suggestion's query string."""

import re

from common.contracts.lookup import MAX_SUGGESTIONS, SUGGEST_CURSOR, SuggestRequest
from gateway.http.parameters import Parameters, Rank, Reading
from gateway.lookups.queries import TERM
from gateway.lookups.terms import NAME_LENGTH

LIMIT, AFTER = "limit", "after"
DEFAULT_LIMIT = 10


def parse_suggestion(parameters: Parameters) -> SuggestRequest:
    """Parse the text typed, the maximum number of suggestions and the page.

    Raises MissingParameter or InvalidParameter.
    """
    reading = _SuggestReading(parameters)
    country, text = reading.country(), reading.text()
    limit = reading.number(LIMIT, 1, MAX_SUGGESTIONS, DEFAULT_LIMIT)
    after = reading.cursor()
    if reading.faults or country is None or text is None:
        raise reading.problem()
    return SuggestRequest(country=country, text=text, limit=limit, after=after)


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

    def cursor(self) -> str | None:
        value = self.single(AFTER)
        if value is not None and not re.fullmatch(SUGGEST_CURSOR, value):
            self.invalid(AFTER, "must be the cursor of an earlier answer")
            return None
        return value
