"""The companies of a watchlist: pages of them, additions, removals and replacement."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol

from common.contracts.company import CompanyKey
from common.contracts.failures import Unavailable
from common.contracts.topology import known_queue
from common.contracts.watchlists import KnownReply, KnownRequest, Watchlist, WatchlistChange
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from common.domain.countries import Country
from common.domain.quantities import counted
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from common.messaging.rpc_routes import Route
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import (
    OK,
    WATCHLIST_NOT_FOUND,
    Rejected,
    reply,
    watchlist_limit_reached,
)
from webhook_registry.watchlists.bodies import (
    WatchedChanges,
    read_watched,
    read_watched_changes,
)
from webhook_registry.watchlists.manage import owned_list
from webhook_store.watchlists.lists import Watchlists
from webhook_store.watchlists.locks import OwnerLocks
from webhook_store.watchlists.members import Members


class Register(Protocol):
    """The registers, which the lookup service has."""

    async def unknown(self, companies: Collection[CompanyKey]) -> set[CompanyKey]:
        """Returns the companies that no register has; raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class WatchedLimits:
    """Maximum number of companies."""

    #: In one list.
    in_list: int
    #: In all lists of an owner.
    of_owner: int


@dataclass(frozen=True, slots=True)
class ManageWatched:
    """Operations on the companies of a list; each raises Rejected or Unavailable.

    A change may be carried out in part if the process dies: its repetition does the rest.
    """

    lists: Watchlists
    members: Members
    locks: OwnerLocks
    register: Register
    idempotency: Idempotency
    now: Clock
    limits: WatchedLimits

    async def list(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a page of companies, in the order of their keys."""
        watchlist = await owned_list(self.lists, request)
        return reply(OK, await self.members.page(watchlist.id, request.watched))

    async def change(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the effect of adding and removing companies."""
        stored = await self.idempotency.repeated(request)
        if stored is not None:
            return stored
        changes = read_watched_changes(request.body)
        await owned_list(self.lists, request)
        once = await self.idempotency.begin(request)
        if isinstance(once, WebhookReply):
            return once
        async with self.locks.held(request.owner):
            watchlist = await owned_list(self.lists, request)
            present = await self.members.present([watchlist.id], (*changes.add, *changes.remove))
            result = await self._apply(watchlist, changes, present)
        answer = reply(OK, result)
        return await self.idempotency.end(once, answer, body=answer.body)

    async def replace(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the effect of giving the list these companies and no others."""
        companies = read_watched(request.body)
        await owned_list(self.lists, request)
        async with self.locks.held(request.owner):
            watchlist = await owned_list(self.lists, request)
            present = await self.members.all(watchlist.id)
            removed = tuple(sorted(present.difference(companies)))
            changes = WatchedChanges(companies, removed)
            return reply(OK, await self._apply(watchlist, changes, present))

    async def _apply(
        self, watchlist: Watchlist, changes: WatchedChanges, present: set[CompanyKey]
    ) -> WatchlistChange:
        """Carries out a change; `present` are the companies among its own that the list has."""
        new = [company for company in changes.add if company not in present]
        unknown = await self.register.unknown(new) if new else set()
        added = [company for company in new if company not in unknown]
        removed = [company for company in changes.remove if company in present]
        await self._check_limits(watchlist, len(added) - len(removed))
        # Removed first: the limits hold at any time.
        await self.members.remove(watchlist.id, removed)
        await self.members.add(watchlist.id, added)
        size = watchlist.size
        if added or removed:
            # Counted, since an earlier change may have been carried out in part.
            size = await self.members.count(watchlist.id)
            fields = {"size": size, "updated_at": self.now()}
            if await self.lists.change(watchlist.owner, watchlist.id, fields) is None:
                raise Rejected(WATCHLIST_NOT_FOUND)
        return WatchlistChange(
            added=len(added),
            present=len(changes.add) - len(new),
            removed=len(removed),
            size=size,
            unknown=tuple(sorted(unknown)),
            invalid=changes.invalid,
        )

    async def _check_limits(self, watchlist: Watchlist, more: int) -> None:
        if more <= 0:
            return
        sizes = await self.lists.sizes(watchlist.owner)
        if sizes.get(watchlist.id, 0) + more > self.limits.in_list:
            most = counted(self.limits.in_list, "company")
            raise watchlist_limit_reached(f"a watchlist has at most {most}; use another one")
        if sum(sizes.values()) + more > self.limits.of_owner:
            most = counted(self.limits.of_owner, "company")
            raise watchlist_limit_reached(f"your watchlists have at most {most} together")


#: Companies of one request to the lookup service, which one indexed read answers.
_CHUNK: Final = 2_000
_ROUTES: Final = {country: Route(known_queue(country), max_batch_size=1) for country in Country}
#: Seconds for one request.
_TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True)
class RpcRegister:
    """`Register` over RPC to the lookup service."""

    client: RpcClient
    new_id: Callable[[], str]

    async def unknown(self, companies: Collection[CompanyKey]) -> set[CompanyKey]:
        """Returns the companies that the lookup services do not know; raises `Unavailable`."""
        try:
            replies = await asyncio.gather(*map(self._unknown, _chunks(companies)))
        except RpcFailed as error:
            raise Unavailable("the lookup service has not checked the companies") from error
        return {company for reply in replies for company in reply}

    async def _unknown(self, companies: Sequence[CompanyKey]) -> list[CompanyKey]:
        country = companies[0].country
        numbers = tuple(company.number for company in companies)
        known = await self.client.call(
            _ROUTES[country],
            KnownRequest(country=country, numbers=numbers),
            KnownReply,
            timeout=_TIMEOUT,
            request_id=self.new_id(),
        )
        return [CompanyKey(country, number) for number in known.unknown]


def _chunks(companies: Collection[CompanyKey]) -> Iterator[list[CompanyKey]]:
    """Yields the companies of one country, a request's worth at a time."""
    for _, group in groupby(sorted(companies), key=attrgetter("country")):
        found = list(group)
        yield from (found[first : first + _CHUNK] for first in range(0, len(found), _CHUNK))
