"""Creating, listing, reading, changing and deleting of watchlists."""

import asyncio
import logging
from dataclasses import dataclass

from common.contracts.watchlists import Watchlist, WatchlistId, WatchlistList
from common.contracts.webhook_api import Operation, WebhookReply, WebhookRequest
from common.domain.quantities import counted
from common.runtime.tasks import repeat
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import (
    CREATED,
    NO_CONTENT,
    OK,
    WATCHLIST_NOT_FOUND,
    Rejected,
    rendered,
    reply,
    watchlist_in_use,
    watchlist_limit_reached,
)
from webhook_registry.watchlists.bodies import read_list_changes, read_new_list
from webhook_store.watchlists.lists import Watchlists
from webhook_store.watchlists.locks import OwnerLocks
from webhook_store.watchlists.members import Members
from webhook_store.webhooks.registrations import Registrations

#: Seconds between checks for lists that another process did not finish.
LOOK_AGAIN = 60.0


class Removing:
    """Removes the companies of deleted lists: a deletion must not wait for 100,000 rows."""

    def __init__(self, lists: Watchlists, members: Members) -> None:
        self._lists = lists
        self._members = members
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Starts the removal."""
        self._asked.set()

    async def run(self) -> None:
        """Runs until cancelled."""
        await repeat(
            self.work,
            every=LOOK_AGAIN,
            unavailable="watchlists.unavailable",
            failed="watchlists.failed",
            level=logging.WARNING,
            asked=self._asked,
        )

    async def work(self) -> None:
        """Removes the companies of all deleted lists. Raises Unavailable."""
        for watchlist_id in await self._lists.deleted():
            while await self._members.remove_some(watchlist_id):
                pass
            await self._lists.forget(watchlist_id)


@dataclass(frozen=True, slots=True)
class ManageWatchlists:
    """Operations on the watchlists of an owner; each raises Rejected or Unavailable."""

    lists: Watchlists
    locks: OwnerLocks
    registrations: Registrations
    removing: Removing
    idempotency: Idempotency
    now: Clock
    #: Maximum watchlists per owner.
    limit: int

    async def create(self, request: WebhookRequest) -> WebhookReply:
        """Returns 201 with the empty list."""
        stored = await self.idempotency.repeated(request)
        if stored is not None:
            return stored
        fields = read_new_list(request.body)
        once = await self.idempotency.begin(request)
        if isinstance(once, WebhookReply):
            return once
        now, watchlist_id = self.now(), WatchlistId(f"wl_{once.call_id.hex}")
        new = Watchlist(
            id=watchlist_id, owner=request.owner, created_at=now, updated_at=now, **fields
        )
        made = await self._created(new)
        path = Operation.GET_WATCHLIST.path.format(watchlist_id=made.id)
        answer = reply(CREATED, made, location=path)
        answer = answer.model_copy(update={"replayed": once.is_repeat})
        return await self.idempotency.end(once, answer, body=rendered(made))

    async def _created(self, new: Watchlist) -> Watchlist:
        async with self.locks.held(new.owner):
            sizes = await self.lists.sizes(new.owner)
            if len(sizes) >= self.limit and new.id not in sizes:
                lists = counted(self.limit, "watchlist")
                raise watchlist_limit_reached(
                    f"you have {lists}, which is the maximum; delete one first"
                )
            return await self.lists.create(new)

    async def list(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with all watchlists of the owner, newest first; there are no pages."""
        watchlists = await self.lists.of_owner(request.owner)
        return reply(OK, WatchlistList(watchlists=tuple(watchlists)))

    async def show(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the watchlist."""
        return reply(OK, await owned_list(self.lists, request))

    async def change(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the watchlist after a merge patch of its name and description."""
        before = await owned_list(self.lists, request)
        fields = read_list_changes(request.body)
        if fields.items() <= before.model_dump().items():
            return reply(OK, before)
        fields = {**fields, "updated_at": self.now()}
        after = await self.lists.change(request.owner, request.watchlist_id, fields)
        if after is None:
            raise Rejected(WATCHLIST_NOT_FOUND)
        return reply(OK, after)

    async def delete(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204, also for a redelivered call; 409 while a webhook uses the list.

        Its companies are removed afterwards.
        """
        owner, watchlist_id = request.owner, request.watchlist_id
        async with self.locks.held(owner):
            webhooks = await self.registrations.using(owner, watchlist_id)
            if webhooks:
                raise watchlist_in_use(sorted(webhooks))
            deleted = await self.lists.delete(
                owner, watchlist_id, call_id=request.call_id, at=self.now()
            )
        if not deleted:
            raise Rejected(WATCHLIST_NOT_FOUND)
        self.removing.ask()
        return WebhookReply(status=NO_CONTENT)


async def owned_list(lists: Watchlists, request: WebhookRequest) -> Watchlist:
    """Returns the owner's watchlist; raises Rejected if absent."""
    watchlist = await lists.find(request.owner, request.watchlist_id)
    if watchlist is None:
        raise Rejected(WATCHLIST_NOT_FOUND)
    return watchlist
