"""Suggestions: the index finds the companies, and the store has their details."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from common.contracts.company import Country
from common.contracts.lookup import SuggestReply, SuggestRequest
from lookup.query.lookups import Companies
from lookup.query.rendering import summary
from lookup.search.hits import SearchHit


class Suggestions(Protocol):
    """Companies that match a partly typed name."""

    async def suggest(self, country: Country, text: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` companies, best first, each once; raises `Unavailable`."""


def suggestion_list(found: Iterable[tuple[SearchHit, bytes]]) -> SuggestReply:
    """The public response (`SuggestionList`) for suggested companies with their stored JSON."""
    suggestions = [summary(core, one.score) for one, core in found]
    return SuggestReply(body=orjson.dumps({"suggestions": suggestions}))


@dataclass(frozen=True, slots=True)
class AnswerSuggestions:
    suggestions: Suggestions
    register: Companies

    async def __call__(self, requests: Sequence[SuggestRequest]) -> list[SuggestReply]:
        """Returns one reply per request, in order, with one read for all; raises `Unavailable`."""
        suggested = await asyncio.gather(
            *(self.suggestions.suggest(each.country, each.text, each.limit) for each in requests)
        )
        keys = {one.key for hits in suggested for one in hits}
        rows = await self.register.companies(keys) if keys else {}
        # A company that was just removed may still be in the index.
        return [
            suggestion_list([(hit, rows[hit.key].core) for hit in hits if hit.key in rows])
            for hits in suggested
        ]
