"""Suggestions: the index finds the companies, and the store has their details."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from common.contracts.company import CompanyKey
from common.contracts.lookup import SuggestReply, SuggestRequest
from lookup.answers.rendering import summary
from lookup.search.hits import SuggestionPage
from lookup.search.searcher import IndexSearches
from lookup.store.documents import CompanyRow
from lookup.store.reads import StoredRegister


def suggestion_list(page: SuggestionPage, rows: Mapping[CompanyKey, CompanyRow]) -> SuggestReply:
    """Returns the public response (`SuggestionList`) for a page, with the stored companies."""
    suggestions = [
        {**summary(rows[hit.key].core, hit.score), "matched_name": hit.matched_name}
        for hit in page.hits
        # A company that was just removed may still be in the index.
        if hit.key in rows
    ]
    return SuggestReply(body=orjson.dumps({"suggestions": suggestions, "cursor": page.cursor}))


@dataclass(frozen=True, slots=True)
class AnswerSuggestions:
    """Answers batches of requests for suggestions."""

    searches: IndexSearches
    register: StoredRegister

    async def __call__(self, requests: Sequence[SuggestRequest]) -> list[SuggestReply]:
        """Returns one reply per request, in order, with one read for all; raises `Unavailable`."""
        pages = await asyncio.gather(
            *(
                self.searches.suggest(
                    each.country, each.text, each.limit, each.after, client=each.client
                )
                for each in requests
            )
        )
        keys = {hit.key for page in pages for hit in page.hits}
        rows = await self.register.companies(keys) if keys else {}
        return [suggestion_list(page, rows) for page in pages]
