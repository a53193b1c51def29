"""Operations on the digests of a watchlist, for its owner and for holders of links in messages."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import structlog
from prometheus_client import Counter
from pydantic import PlainValidator

from common.contracts.events import rfc3339
from common.contracts.failures import Failure
from common.contracts.watchlists import (
    Digest,
    DigestId,
    DigestList,
    DigestState,
    LinkAction,
    LinkReply,
    LinkRequest,
    Period,
    Watchlist,
)
from common.contracts.webhook_api import WebhookReply, WebhookRequest
from common.domain.displayed import without_addresses
from common.domain.sentences import counted
from common.messaging.rpc import Result, RpcRequest
from webhook_registry.idempotency import Clock
from webhook_registry.replies import (
    CREATED,
    DIGEST_NOT_FOUND,
    DIGESTS_DISABLED,
    NO_CONTENT,
    OK,
    InvalidValue,
    Rejected,
    reply,
    watchlist_limit_reached,
)
from webhook_registry.watchlists.watchlist_operations import owned_watchlist
from webhook_registry.webhook_bodies import Body, Events, Fields
from webhook_store.digests import Digests
from webhook_store.recipients import Recipients, address_key
from webhook_store.secrets import SecretKeys
from webhook_store.watchlists import OwnerLocks, Watchlists

# RFC 5322, 3.2.3; \x60 is a grave accent.
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_\x60{|}~-]+"
_LOCAL: Final = rf"{_ATOM}(\.{_ATOM})*"
_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_TOP: Final = r"[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])"
#: Without the quoted names and IP addresses of RFC 5321, which nobody's mailbox has.
_ADDRESS: Final = re.compile(rf"{_LOCAL}@({_LABEL}\.)+{_TOP}", re.ASCII)
#: RFC 5321, 4.5.3.1: of the part before the @, and of the whole.
_MAX_LOCAL, _MAX_ADDRESS = 64, 254

#: Of the lists that a page names: their number, and characters of a name.
_MAX_NAMES, _MAX_NAME = 10, 60

_REFUSED = Counter(
    "digest_recipients_refused_total", "New addresses beyond those that an owner may add in a day"
)

log = structlog.get_logger()


def _read_address(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text.isascii():
        raise InvalidValue("give an address in ASCII, with a domain such as xn--prve-hra.example")
    is_address = len(text) <= _MAX_ADDRESS and _ADDRESS.fullmatch(text) is not None
    if not is_address or len(text.partition("@")[0]) > _MAX_LOCAL:
        raise InvalidValue("give one e-mail address, such as news@example.com")
    return text


def _read_period(value: object) -> Period:
    if not isinstance(value, str) or value not in tuple(Period):
        raise InvalidValue(f"give {' or '.join(Period)}")
    return Period(value)


class NewDigest(Body):
    """A digest to add."""

    address: Annotated[str, PlainValidator(_read_address)]
    period: Annotated[Period, PlainValidator(_read_period)] = Period.DAILY
    events: Events = ("*",)
    fields: Fields = ()


@dataclass(frozen=True, slots=True)
class DigestLimits:
    """Maximum numbers of digests that have not ended."""

    in_list: int
    of_owner: int
    #: Of an owner, to addresses that have not confirmed yet.
    unconfirmed: int
    #: Addresses that an owner adds in a day; a deletion does not return one.
    new_in_day: int


@dataclass(frozen=True, slots=True)
class DigestOperations:
    """Operations on the digests of a list; each raises Rejected or Unavailable."""

    lists: Watchlists
    digests: Digests
    recipients: Recipients
    locks: OwnerLocks
    keys: SecretKeys
    now: Clock
    #: Returns a random token for the links in messages.
    new_token: Callable[[], str]
    limits: DigestLimits
    #: False if no process of this deployment sends e-mail.
    is_enabled: bool

    async def add(self, request: WebhookRequest) -> WebhookReply:
        """Returns 201 with the digest, or 200 with the present one of the address.

        An address that has confirmed another digest of the owner need not confirm again, unless its
        recipient has ended one since.
        """
        new = NewDigest.parse(request.body)
        await owned_watchlist(self.lists, request)
        if not self.is_enabled:
            raise Rejected(DIGESTS_DISABLED)
        async with self.locks.held(request.owner):
            watchlist = await owned_watchlist(self.lists, request)
            live = await self.digests.live(request.owner)
            of_address = [
                one for one in live if address_key(one.address) == address_key(new.address)
            ]
            for one in of_address:
                if one.watchlist_id == watchlist.id:
                    return reply(OK, await self._changed(one, new))
            self._check_limits(watchlist, live)
            if not of_address:
                await self._count_new(request.owner, new.address)
            is_confirmed = any(
                one.state is DigestState.CONFIRMED for one in of_address
            ) and not await self.recipients.has_refused(request.owner, new.address)
            made = await self._added(request, watchlist, new, is_confirmed=is_confirmed)
            return reply(CREATED, made)

    async def _changed(self, digest: Digest, new: NewDigest) -> Digest:
        wanted = digest.model_copy(
            update={"period": new.period, "events": new.events, "fields": new.fields}
        )
        if wanted != digest:
            await self.digests.change(wanted, at=self.now())
        return wanted

    async def _count_new(self, owner: str, address: str) -> None:
        limit = self.limits.new_in_day
        again = await self.recipients.count_new(owner, address, limit=limit, at=self.now())
        if again is not None:
            _REFUSED.inc()
            log.warning("digest.refused", owner=owner, limit=limit)
            most = counted(limit, "new recipient")
            raise watchlist_limit_reached(
                f"you have added {most} within a day, which is the maximum; add more from "
                f"{rfc3339(again)} on"
            )

    async def _added(
        self, request: WebhookRequest, watchlist: Watchlist, new: NewDigest, *, is_confirmed: bool
    ) -> Digest:
        now = self.now()
        digest = Digest(
            id=DigestId(f"dg_{request.call_id.hex}"),
            owner=request.owner,
            watchlist_id=watchlist.id,
            address=new.address,
            period=new.period,
            events=new.events,
            fields=new.fields,
            state=DigestState.CONFIRMED if is_confirmed else DigestState.UNCONFIRMED,
            created_at=now,
            confirmed_at=now if is_confirmed else None,
        )
        made = await self.digests.add(digest, token=self.new_token(), keys=self.keys)
        if is_confirmed and await self.recipients.has_refused(made.owner, made.address):
            # The recipient has ended another digest meanwhile.
            await self.digests.unconfirm(made)
            unconfirmed = {"state": DigestState.UNCONFIRMED, "confirmed_at": None}
            return made.model_copy(update=unconfirmed)
        return made

    def _check_limits(self, watchlist: Watchlist, live: Sequence[Digest]) -> None:
        in_list = sum(one.watchlist_id == watchlist.id for one in live)
        unconfirmed = sum(one.state is DigestState.UNCONFIRMED for one in live)
        if in_list >= self.limits.in_list:
            most = counted(self.limits.in_list, "recipient")
            raise watchlist_limit_reached(f"a watchlist has at most {most}; remove one first")
        if len(live) >= self.limits.of_owner:
            most = counted(self.limits.of_owner, "recipient")
            raise watchlist_limit_reached(f"your watchlists have at most {most} together")
        if unconfirmed >= self.limits.unconfirmed:
            most = counted(self.limits.unconfirmed, "recipient")
            raise watchlist_limit_reached(
                f"{most} have yet to confirm, which is the maximum; wait for them or remove some"
            )

    async def list(self, request: WebhookRequest) -> WebhookReply:
        """Returns 200 with the digests of the list, also those that have ended lately."""
        watchlist = await owned_watchlist(self.lists, request)
        found = await self.digests.of_list(request.owner, watchlist.id)
        return reply(OK, DigestList(digests=tuple(found), enabled=self.is_enabled))

    async def delete(self, request: WebhookRequest) -> WebhookReply:
        """Returns 204; the address is deleted with the digest."""
        watchlist = await owned_watchlist(self.lists, request)
        if not await self.digests.delete(request.owner, watchlist.id, request.digest_id):
            raise Rejected(DIGEST_NOT_FOUND)
        return WebhookReply(status=NO_CONTENT)


@dataclass(frozen=True, slots=True)
class AnswerLinks:
    """Answers uses of the links in messages."""

    lists: Watchlists
    digests: Digests
    recipients: Recipients
    now: Clock

    async def __call__(self, requests: Sequence[LinkRequest]) -> list[LinkReply | Failure]:
        """Returns one reply per request, in order; may raise `Unavailable`."""
        return [await self._reply(request) for request in requests]

    async def _reply(self, request: LinkRequest) -> LinkReply | Failure:
        digest = await self.digests.of_link(request.digest_id, request.token_hash)
        if digest is None:
            return DIGEST_NOT_FOUND
        watchlist = await self.lists.find(digest.owner, digest.watchlist_id)
        if watchlist is None:
            return DIGEST_NOT_FOUND
        digest = await self._done(digest, request.action)
        names = [watchlist.name]
        if digest.state is DigestState.UNCONFIRMED or request.action is LinkAction.CONFIRM:
            names = await self._names(await self._confirmed_with(digest)) or names
        return LinkReply(
            address=digest.address,
            period=digest.period,
            state=digest.state,
            watchlists=tuple(without_addresses(name, _MAX_NAME) for name in names[:_MAX_NAMES]),
            more=max(0, len(names) - _MAX_NAMES),
            owner=digest.owner,
        )

    async def _done(self, digest: Digest, action: LinkAction) -> Digest:
        """Returns the digest of a link after the action, or one that has taken its place."""
        live = await self.digests.same(digest, in_list=True)
        if digest.state is DigestState.ENDED and live and action is not LinkAction.CONFIRM:
            digest = live[0]
        match action:
            case LinkAction.CONFIRM if digest.state is DigestState.UNCONFIRMED:
                await self.recipients.forgive(digest.owner, digest.address)
                await self.digests.confirm(digest, at=self.now())
                return digest.model_copy(update={"state": DigestState.CONFIRMED})
            case LinkAction.UNSUBSCRIBE | LinkAction.REFUSE:
                is_one = action is LinkAction.UNSUBSCRIBE
                if live or not is_one:
                    # First, so that none is added as confirmed meanwhile.
                    await self.recipients.refuse(digest.owner, digest.address, at=self.now())
                    await self.digests.unsubscribe(digest, in_list=is_one, at=self.now())
                return digest.model_copy(update={"state": DigestState.ENDED})
            case _:
                return digest

    async def _confirmed_with(self, digest: Digest) -> Sequence[Digest]:
        """Returns the owner's digests to an address that a confirmation is or was for."""
        live = await self.digests.same(digest, in_list=False)
        return [one for one in live if one.state is digest.state]

    async def _names(self, digests: Sequence[Digest]) -> list[str]:
        lists = [await self.lists.find(one.owner, one.watchlist_id) for one in digests]
        return [one.name for one in lists if one is not None]


def report_links(
    asked: Sequence[RpcRequest[LinkRequest]], results: Sequence[Result], seconds: float
) -> None:
    """Logs one line per use, without the token's hash and the address."""
    for item, result in zip(asked, results, strict=True):
        log.info(
            "digest.link",
            **item.ids,
            action=item.request.action,
            result=result.code.value if isinstance(result, Failure) else "ok",
            duration_ms=round(seconds * 1000, 2),
        )
