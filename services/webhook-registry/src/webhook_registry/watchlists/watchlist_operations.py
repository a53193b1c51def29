"""Operations on watchlists and the companies in them, for owners and for readers of the feed."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol

import structlog

from common.contracts.company import CompanyKey
from common.contracts.failures import Failure, Unavailable
from common.contracts.watchlists import (
    ATOM_PATH,
    MAX_WHOLE,
    KnownRequest,
    WatchedReply,
    WatchedRequest,
    Watchlist,
    WatchlistChange,
    WatchlistFeed,
    WatchlistId,
    WatchlistList,
)
from common.contracts.webhook_api import Operation, WebhookReply, WebhookRequest
from common.domain.sentences import counted
from common.messaging.requests import KNOWN
from common.messaging.rpc import Result, RpcFailed, RpcRequest
from common.messaging.rpc_client import RpcClient
from common.runtime.tasks import repeat
from webhook_registry.idempotency import Clock, Idempotency
from webhook_registry.replies import (
    CREATED,
    NO_CONTENT,
    OK,
    WATCHLIST_NOT_FOUND,
    Rejected,
    invalid_parameter,
    rendered,
    reply,
    watchlist_in_use,
    watchlist_limit_reached,
)
from webhook_registry.watchlists.watchlist_bodies import (
    ListChanges,
    NewList,
    WatchedChanges,
    read_watched,
    read_watched_changes,
)
from webhook_store.digests import Digests
from webhook_store.watchlists import Members, OwnerLocks, WatchedNumbers, Watchlists
from webhook_store.webhooks import Registrations

#: Seconds between checks for lists that another process did not finish.
LOOK_AGAIN = 60.0


class RemovalJob:
    """Removes companies and digests of deleted lists: a deletion must not wait for 100,000 rows."""

    def __init__(self, lists: Watchlists, members: Members, digests: Digests) -> None:
        self._lists = lists
        self._members = members
        self._digests = digests
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
        """Removes the companies and digests of all deleted lists. Raises Unavailable."""
        for watchlist_id in await self._lists.deleted():
            await self._digests.delete_of_list(watchlist_id)
            while await self._members.remove_some(watchlist_id):
                pass
            await self._lists.forget(watchlist_id)


@dataclass(frozen=True, slots=True)
class WatchlistOperations:
    """Operations on the watchlists of an owner; each raises Rejected or Unavailable."""

    lists: Watchlists
    members: Members
    locks: OwnerLocks
    registrations: Registrations
    removing: RemovalJob
    idempotency: Idempotency
    now: Clock
    #: Returns a random token for the address of a feed.
    new_token: Callable[[], str]
    #: Maximum watchlists per owner.
    limit: int

    async def create(self, request: WebhookRequest) -> WebhookReply:
        """Returns 201 with the empty list."""
        stored = await self.idempotency.repeated(request)
        if stored is not None:
            return stored
        new_list = NewList.parse(request.body)
        once = await self.idempotency.begin(request)
        if isinstance(once, WebhookReply):
            return once
        now, watchlist_id = self.now(), WatchlistId(f"wl_{once.call_id.hex}")
        new = Watchlist(
            id=watchlist_id,
            owner=request.owner,
            created_at=now,
            updated_at=now,
            **dict(new_list),
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
        """Returns 200 with the watchlists of the owner, newest first; there are no pages.

        They are all, or those that have a company.
        """
        watchlists = await self.lists.of_owner(request.owner)
        if (company := request.watched.company) is not None:
            having = (await self.members.lists_of([company])).get(company, ())
            watchlists = [each for each in watchlists if each.id in having]
        return reply(OK, WatchlistList(watchlists=tuple(watchlists)))

    async def show(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the watchlist."""
        return reply(OK, await owned_watchlist(self.lists, request))

    async def change(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the watchlist after a merge patch of its name and description."""
        before = await owned_watchlist(self.lists, request)
        changes = ListChanges.parse(request.body)
        fields = {name: getattr(changes, name) for name in changes.model_fields_set}
        if fields.items() <= before.model_dump().items():
            return reply(OK, before)
        fields = {**fields, "updated_at": self.now()}
        after = await self.lists.change(request.owner, request.watchlist_id, fields)
        if after is None:
            raise Rejected(WATCHLIST_NOT_FOUND)
        return reply(OK, after)

    async def delete(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204, also for a redelivered call; 409 while a webhook uses the list.

        Its companies and digests are removed afterwards.
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

    async def renew_feed(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with a new address of the list's feed; the one before ends."""
        token, watchlist_id = self.new_token(), request.watchlist_id
        if not await self.lists.set_feed(
            request.owner,
            watchlist_id,
            sha256(token.encode()).hexdigest(),
            call_id=request.call_id,
        ):
            raise Rejected(WATCHLIST_NOT_FOUND)
        path = ATOM_PATH.format(watchlist_id=watchlist_id)
        return reply(OK, WatchlistFeed(url=f"{request.service}{path}?token={token}"))

    async def end_feed(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204, also for a list without a feed."""
        if not await self.lists.end_feed(request.owner, request.watchlist_id):
            raise Rejected(WATCHLIST_NOT_FOUND)
        return WebhookReply(status=NO_CONTENT)


async def owned_watchlist(lists: Watchlists, request: WebhookRequest) -> Watchlist:
    """Returns the owner's watchlist; raises Rejected if absent."""
    watchlist = await lists.find(request.owner, request.watchlist_id)
    if watchlist is None:
        raise Rejected(WATCHLIST_NOT_FOUND)
    return watchlist


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
class WatchedOperations:
    """Operations on the companies of a list; each raises Rejected or Unavailable.

    A change is carried out as a whole or not at all.
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
        watchlist = await owned_watchlist(self.lists, request)
        page = await self.members.page(watchlist.id, request.watched)
        if page is None:
            raise invalid_parameter("after", "the list was replaced since; begin again without it")
        return reply(OK, page)

    async def change(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the effect of adding and removing companies."""
        stored = await self.idempotency.repeated(request)
        if stored is not None:
            return stored
        changes = read_watched_changes(request.body)
        await owned_watchlist(self.lists, request)
        once = await self.idempotency.begin(request)
        if isinstance(once, WebhookReply):
            return once
        async with self.locks.held(request.owner):
            watchlist = await owned_watchlist(self.lists, request)
            present = await self.members.present([watchlist.id], (*changes.add, *changes.remove))
            result = await self._apply(watchlist, changes, present)
        answer = reply(OK, result)
        return await self.idempotency.end(once, answer, body=answer.body)

    async def replace(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the effect of giving the list these companies and no others."""
        companies = read_watched(request.body)
        await owned_watchlist(self.lists, request)
        async with self.locks.held(request.owner):
            watchlist = await owned_watchlist(self.lists, request)
            present = await self.members.all(watchlist.id)
            removed = tuple(sorted(present.difference(companies)))
            changes = WatchedChanges(companies, removed)
            result = await self._apply(watchlist, changes, present, is_replacement=True)
            return reply(OK, result)

    async def _apply(
        self,
        watchlist: Watchlist,
        changes: WatchedChanges,
        present: set[CompanyKey],
        *,
        is_replacement: bool = False,
    ) -> WatchlistChange:
        new = [company for company in changes.add if company not in present]
        unknown = await self.register.unknown(new) if new else set()
        added = [company for company in new if company not in unknown]
        removed = [company for company in changes.remove if company in present]
        await self._check_limits(watchlist, len(added) - len(removed))
        size: int | None = watchlist.size
        if added or removed:
            size = await self.members.change(
                watchlist,
                add=added,
                remove=removed,
                at=self.now(),
                is_replacement=is_replacement,
            )
            if size is None:
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
_KNOWN_CHUNK: Final = 2_000


@dataclass(frozen=True, slots=True)
class RpcRegister:
    """`Register` over RPC to the lookup service."""

    client: RpcClient
    new_id: Callable[[], str]

    async def unknown(self, companies: Collection[CompanyKey]) -> set[CompanyKey]:
        """Returns the companies that the lookup services do not know; raises `Unavailable`."""
        chunks: list[list[CompanyKey]] = []
        for _, group in groupby(sorted(companies), key=attrgetter("country")):
            found = list(group)
            starts = range(0, len(found), _KNOWN_CHUNK)
            chunks += [found[start : start + _KNOWN_CHUNK] for start in starts]
        try:
            replies = await asyncio.gather(*map(self._unknown, chunks))
        except RpcFailed as error:
            raise Unavailable("the lookup service has not checked the companies") from error
        return {company for reply in replies for company in reply}

    async def _unknown(self, companies: Sequence[CompanyKey]) -> list[CompanyKey]:
        country = companies[0].country
        numbers = tuple(company.number for company in companies)
        known = await self.client.call(
            KNOWN.route(country),
            KnownRequest(country=country, numbers=numbers),
            KNOWN.reply,
            timeout=KNOWN.timeout,
            request_id=self.new_id(),
        )
        return [CompanyKey(country, number) for number in known.unknown]


#: Lists whose numbers are kept; those of the largest take 400 kB.
_MAX_RECENT: Final = 40

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AnswerWatched:
    """Answers requests for the companies that lists have."""

    lists: Watchlists
    members: Members
    #: The numbers of lists that were read last: a list is read once for all its pages.
    _recent: OrderedDict[WatchlistId, WatchedNumbers] = field(default_factory=OrderedDict)

    async def __call__(self, requests: Sequence[WatchedRequest]) -> list[WatchedReply | Failure]:
        """Returns one reply per request, in order; may raise `Unavailable`."""
        return await asyncio.gather(*map(self._reply, requests))

    async def _reply(self, request: WatchedRequest) -> WatchedReply | Failure:
        if request.token_hash is not None:
            one = await self.lists.of_feed(request.watchlists[0], request.token_hash)
            if one is None:
                return WATCHLIST_NOT_FOUND
            return WatchedReply(
                companies=(), name=one.name, owner=one.owner, updated_at=one.updated_at
            )
        if request.numbers:
            return await self._numbers(request)
        sizes = await self.lists.sizes(request.owner, request.watchlists)
        if not sizes.keys() >= set(request.watchlists):
            return WATCHLIST_NOT_FOUND
        total = sum(sizes.values())
        if request.companies is None:
            companies = await self._all(request) if total <= MAX_WHOLE else None
            return WatchedReply(companies=companies)
        if total <= len(request.companies):
            found = set(await self._all(request)).intersection(request.companies)
        else:
            found = await self.members.present(request.watchlists, request.companies)
        return WatchedReply(companies=tuple(found))

    async def _numbers(self, request: WatchedRequest) -> WatchedReply | Failure:
        watchlist = await self.lists.find(request.owner, request.watchlists[0])
        if watchlist is None:
            return WATCHLIST_NOT_FOUND
        read = self._recent.pop(watchlist.id, None)
        if read is None or read.updated_at != watchlist.updated_at:
            read = await self.members.numbers(watchlist.id)
        self._recent[watchlist.id] = read
        while len(self._recent) > _MAX_RECENT:
            self._recent.popitem(last=False)
        return WatchedReply(companies=None, numbers=read.numbers)

    async def _all(self, request: WatchedRequest) -> tuple[CompanyKey, ...]:
        of_lists = await asyncio.gather(*map(self.members.all, request.watchlists))
        return tuple(set().union(*of_lists))


def report_watched(
    asked: Sequence[RpcRequest[WatchedRequest]], results: Sequence[Result], seconds: float
) -> None:
    """Logs one line per request."""
    for item, result in zip(asked, results, strict=True):
        log.info(
            "watched.done",
            **item.ids,
            owner=item.request.owner,
            result=result.code.value if isinstance(result, Failure) else "ok",
            duration_ms=round(seconds * 1000, 2),
        )
