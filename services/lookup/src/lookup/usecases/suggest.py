"""Answering suggestions: the index knows who, the register knows what is shown of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from common.contracts.lookup import SuggestReply, SuggestRequest
from lookup.domain.suggesting import suggestion_list
from lookup.ports import Companies, Suggestions


@dataclass(frozen=True, slots=True)
class AnswerSuggestions:
    suggestions: Suggestions
    register: Companies

    async def __call__(self, requests: Sequence[SuggestRequest]) -> list[SuggestReply]:
        """One reply per request, in order, with one read for all; raises `Outage`."""
        suggested = await asyncio.gather(
            *(self.suggestions.suggest(each.country, each.text, each.limit) for each in requests)
        )
        keys = {one.key for hits in suggested for one in hits}
        rows = await self.register.companies(keys) if keys else {}
        # A company that was removed a moment ago may still be in the index.
        return [
            suggestion_list([(hit, rows[hit.key].core) for hit in hits if hit.key in rows])
            for hits in suggested
        ]
