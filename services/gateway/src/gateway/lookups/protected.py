"""Leaves companies that are protected from advertising out of what is given in groups (ADR 0115).

Danish law forbids passing them on together. Where the register does not say, a Danish company
counts as protected; Norway's register knows no such protection.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from common.contracts.company import Country
from common.contracts.find import MAX_FOUND, FindReply, FindRequest
from common.contracts.lookup import SuggestReply, SuggestRequest
from common.contracts.watchlists import WatchlistId, packed
from gateway.access.clients import Caller
from gateway.access.protected import Protection
from gateway.http.middleware import RequestContext
from gateway.lookups.codes import Finds
from gateway.lookups.watched import FindWatched


@dataclass(frozen=True, slots=True)
class ProtectedCompanies:
    """Leaves protected companies out of the answers to clients that may not have them in groups."""

    finds: Finds
    protection: Protection

    def are_left_out(self, context: RequestContext) -> bool:
        """Returns True for a client that may not have them in groups."""
        return self.protection.leaves_out(context.key)

    async def find(
        self,
        finds: FindWatched,
        requests: Sequence[FindRequest],
        watchlist: WatchlistId | None,
        context: RequestContext,
    ) -> tuple[Sequence[FindReply], int]:
        """Returns the replies without protected companies, and the number of these."""
        counting = [_counted(each) for each in requests]
        shown, everyone = await asyncio.gather(
            finds([_without(each) for each in requests], watchlist, context),
            finds(counting, watchlist, context),
        )
        replies = [
            FindReply(total=0, has_more=False, limited=reply.limited) if _is_all(request) else reply
            for request, reply in zip(requests, shown, strict=True)
        ]
        return replies, sum(one.total for one in everyone) - sum(one.total for one in replies)

    async def export(
        self, country: Country, filters: FindRequest | None, caller: Caller
    ) -> tuple[FindRequest | None, int]:
        """Returns the filter of a copy without protected companies, and the number of these."""
        if country is not Country.DK:
            return filters, 0
        given = filters or FindRequest(country=country, limit=0)
        # No number fits none.
        shown = given.model_copy(update={"numbers": b""}) if _is_all(given) else _without(given)
        kept, everyone = await asyncio.gather(
            *(self.finds.companies(_counted(one), caller=caller) for one in (shown, given))
        )
        return shown, everyone.total - kept.total

    async def shown(self, country: Country, numbers: Iterable[str], caller: Caller) -> set[str]:
        """Returns those of some companies that are not protected."""
        wanted = sorted({int(number) for number in numbers})
        if country is not Country.DK:
            return {f"{number:09}" for number in wanted}
        found: set[str] = set()
        for start in range(0, len(wanted), MAX_FOUND):
            request = FindRequest(
                country=country,
                numbers=packed(wanted[start : start + MAX_FOUND]),
                advertising_protected=False,
                limit=MAX_FOUND,
            )
            reply = await self.finds.companies(request, caller=caller)
            found |= {f"{one.position.number:08}" for one in reply.companies}
        return found

    async def suggestions(
        self, requests: Sequence[SuggestRequest], replies: Sequence[SuggestReply], caller: Caller
    ) -> tuple[Sequence[SuggestReply], int]:
        """Returns suggestions without protected companies, and the number of these."""
        kept, left_out = [], 0
        for request, reply in zip(requests, replies, strict=True):
            page = orjson.loads(reply.body)
            found = page["suggestions"]
            shown = await self.shown(request.country, (one["vat"] for one in found), caller)
            left = [one for one in found if one["vat"] in shown]
            left_out += len(found) - len(left)
            kept.append(SuggestReply(body=orjson.dumps({**page, "suggestions": left})))
        return kept, left_out


def _without(request: FindRequest) -> FindRequest:
    if request.country is not Country.DK:
        return request
    return request.model_copy(update={"advertising_protected": False})


def _is_all(request: FindRequest) -> bool:
    """Returns True for a request for protected companies, of which none is left."""
    return request.country is Country.DK and request.advertising_protected is True


def _counted(request: FindRequest) -> FindRequest:
    return request.model_copy(update={"limit": 0, "facets": (), "after": None})
