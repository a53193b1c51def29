"""The watchlists in the filter of a webhook: they exist, and are not deleted meanwhile."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from common.contracts.failures import FieldError
from common.contracts.webhooks import WebhookFilter
from webhook_registry.replies import invalid_body
from webhook_store.watchlists.lists import Watchlists
from webhook_store.watchlists.locks import OwnerLocks


@dataclass(frozen=True, slots=True)
class UsedWatchlists:
    """Checks filters before a webhook is written; each method may raise `Unavailable`."""

    lists: Watchlists
    locks: OwnerLocks

    @asynccontextmanager
    async def usable(self, owner: str, limits: WebhookFilter | None) -> AsyncIterator[None]:
        """No list of the filter is deleted during the body; raises Rejected if one is missing."""
        if limits is None or not limits.watchlists:
            yield
            return
        async with self.locks.held(owner):
            await self.check(owner, limits)
            yield

    async def check(self, owner: str, limits: WebhookFilter | None) -> None:
        """Raises Rejected if the owner lacks a list of the filter."""
        if limits is None or not limits.watchlists:
            return
        missing = await self.lists.missing(owner, limits.watchlists)
        errors = [
            FieldError(
                parameter=f"filter.watchlists[{number}]",
                message="you have no watchlist with this id; GET /api/watchlists lists yours",
            )
            for number, one in enumerate(limits.watchlists)
            if one in missing
        ]
        if errors:
            raise invalid_body("the request body is invalid", *errors)
