"""Sends the digests that are due: reads the feed, composes a message and records its acceptance."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from email.message import EmailMessage
from functools import partial
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

import orjson
import structlog
from prometheus_client import Counter, Gauge

from common.contracts.company import CompanyKey
from common.contracts.events import MAX_EVENTS, FeedFilter, FeedPage, FeedRequest
from common.contracts.failures import Unavailable
from common.contracts.watchlists import MAX_WHOLE, Digest, DigestState, Period, Watchlist
from common.messaging.requests import FEED_PAGE
from common.messaging.rpc import RpcFailed
from common.messaging.rpc_client import RpcClient
from common.runtime.tasks import background
from webhook_registry.idempotency import Clock
from webhook_registry.watchlists.digest_messages import MAX_LISTED, Changes, Messages, gravity, rank
from webhook_registry.watchlists.mailer import FailureReason, Mailer, NoLongerWanted, NotSent
from webhook_store.digests import Claimed, DueDigests, Range, opened_token
from webhook_store.matching import touches
from webhook_store.recipients import ConfirmationRequests
from webhook_store.secrets import CannotUnseal, SecretKeys
from webhook_store.watchlists import Members, Watchlists

#: Time for which a digest is claimed, after the last renewal: so much later another process sends
#: when this one is killed. Together with `DIGEST_INTERVAL` it is less than a minute.
CLAIM: Final = timedelta(seconds=24)
#: Seconds between renewals; an election of a primary outlasts some of them.
_RENEWAL: Final = 4.0
#: Tries to record it.
_RECORDS: Final = 10
#: Seconds for reading the changes of a digest.
_MAX_READING: Final = 120.0
#: Changes that are counted exactly.
_MAX_COUNTED: Final = 2_000
#: Seconds between checks for digests that are due.
_POLL: Final = 5.0
#: Seconds between measurements.
_MEASURE: Final = 15.0

#: Delays after failures that are not the recipient's: 1, 2, 4 … 60 minutes.
_FIRST_DELAY, _MAX_DELAY = timedelta(minutes=1), timedelta(hours=1)
#: Delay after changes that could not be read.
_UNREAD: Final = timedelta(seconds=30)
#: Tries on different days after which a refused address is no longer sent to.
MAX_REFUSALS: Final = 3
_AFTER_REFUSAL: Final = timedelta(days=1)

_SENT = Counter("digests_sent_total", "Messages that the mail server accepted", ["kind"])
_FAILED = Counter("digests_failed_total", "Messages that it did not accept", ["reason"])
_REPEATED = Counter(
    "digests_repeated_total", "Messages sent again since an acceptance may not have been recorded"
)
_DEFERRED = Counter(
    "digests_deferred_total",
    "Requests to confirm that wait, since the mailbox or the owner has had the day's",
    ["limit"],
)
_OLDEST_DUE = Gauge("digests_oldest_due_seconds", "Age of the oldest digest that is due or fails")

CONFIRMATION: Final = "confirmation"
#: The reason of a failure without the mail server: no key opens the token of a link.
_NO_KEY: Final = "no_key"
for kind in (CONFIRMATION, *Period):
    _SENT.labels(kind)  # Prometheus sees no increase in a counter's first sample
for reason in (_NO_KEY, *FailureReason):
    _FAILED.labels(reason)

for limit in ("owner", "mailbox", "refusal"):
    _DEFERRED.labels(limit)

log = structlog.get_logger()


class Feed(Protocol):
    """The event feed, which the lookup service has."""

    async def page(self, request: FeedRequest) -> FeedPage:
        """Returns a page; raises `Unavailable`."""


#: Seconds for a page, for which nobody waits.
_PAGE_TIMEOUT: Final = 6.0


@dataclass(frozen=True, slots=True)
class RpcFeed:
    """`Feed` over RPC to the lookup service."""

    client: RpcClient
    new_id: Callable[[], str]

    async def page(self, request: FeedRequest) -> FeedPage:
        """Returns a page of the feed; raises `Unavailable`."""
        try:
            return await self.client.call(
                FEED_PAGE.route(),
                request,
                FEED_PAGE.reply,
                timeout=_PAGE_TIMEOUT,
                request_id=self.new_id(),
            )
        except RpcFailed as error:
            raise Unavailable("the lookup service has not answered for the feed") from error


@dataclass(frozen=True, slots=True)
class Schedule:
    """When digests are sent."""

    #: The time of day of daily ones.
    daily: time
    zone: ZoneInfo
    #: Time between two immediate ones, in which changes gather.
    interval: timedelta

    def next(self, period: Period, after: datetime) -> datetime:
        """Returns when a digest is due that was checked at a time."""
        if period is Period.IMMEDIATE:
            return after + self.interval
        local = after.astimezone(self.zone)
        day = local.date() if local.time() < self.daily else local.date() + timedelta(days=1)
        return datetime.combine(day, self.daily, self.zone).astimezone(after.tzinfo)


def retry_delay(failures: int) -> timedelta:
    """Returns the delay after a failure; `failures` counts those before it."""
    return min(_FIRST_DELAY * (1 << min(failures, 10)), _MAX_DELAY)


@dataclass(frozen=True, slots=True)
class ReadChanges:
    """Reads the changes of the companies in a list, within bounds for any list and feed."""

    feed: Feed
    members: Members

    async def newest(self, owner: str) -> int:
        """Returns the position of the newest event; raises `Unavailable`."""
        return (await self.feed.page(FeedRequest(owner=owner, latest=True, limit=1))).position

    async def __call__(
        self, watchlist: Watchlist, digest: Digest, sending: Range, *, since: datetime
    ) -> Changes:
        """Returns the changes of a range that a digest is about.

        The range begins at a time if it has no first position. Raises `Unavailable`.
        """
        found = _Found(partial(is_about, digest))
        try:
            async with asyncio.timeout(_MAX_READING):
                return await self._read(watchlist, sending, since, found)
        except TimeoutError:
            raise Unavailable("reading the feed took too long") from None

    async def _read(
        self, watchlist: Watchlist, sending: Range, since: datetime, found: "_Found"
    ) -> Changes:
        few = await self.members.all(watchlist.id) if watchlist.size <= MAX_WHOLE else None
        if few is not None and not few:
            return found.changes
        request = FeedRequest(
            owner=watchlist.owner,
            after=sending.after,
            since=since if sending.after is None else None,
            limit=MAX_EVENTS,
        )
        while not found.is_enough:
            if few is None:
                page = await self._compared(watchlist, request, sending.until, found)
            else:
                page = await self.feed.page(_of(request, few))
                found.add(page, sending.until)
            request = request.model_copy(update={"after": page.position, "since": None})
            found.is_incomplete |= page.expired
            is_over = page.position >= sending.until or not (page.has_more or page.expired)
            if is_over:
                break
        return found.changes

    async def _compared(
        self, watchlist: Watchlist, request: FeedRequest, until: int, found: "_Found"
    ) -> FeedPage:
        """Adds the changes among the next events of all companies, as the gateway reads them."""
        near = await self.feed.page(request.model_copy(update={"companies_only": True}))
        if near.companies is None and not near.expired:
            raise Unavailable("the lookup service is of an earlier release")
        present = await self.members.present([watchlist.id], near.companies or ())
        bounded = _of(request, present).model_copy(update={"until": min(near.position, until)})
        while present and not near.expired and not found.is_enough:
            page = await self.feed.page(bounded)
            found.add(page, until)
            if not page.events or page.position >= min(near.position, until):
                break
            bounded = bounded.model_copy(update={"after": page.position, "since": None})
        return near


def _of(request: FeedRequest, companies: Collection[CompanyKey]) -> FeedRequest:
    return request.model_copy(update={"filter": FeedFilter(companies=tuple(companies))})


def is_about(digest: Digest, event: Mapping[str, Any]) -> bool:
    """Returns True if a digest is about a public event."""
    type_ = str(event["type"])
    patterns = {"*", f"{type_.partition('.')[0]}.*", type_}
    changes = (event.get("data") or {}).get("changes") or ()
    return not patterns.isdisjoint(digest.events) and (
        not digest.fields
        or any(touches(change["field"], field) for change in changes for field in digest.fields)
    )


@dataclass(slots=True)
class _Found:
    """The changes that were read so far."""

    is_wanted: Callable[[Mapping[str, Any]], bool]
    #: The worst first, and of equal ones the oldest.
    listed: list[Mapping[str, Any]] = field(default_factory=list)
    total: int = 0
    grave: dict[str, int] = field(default_factory=dict)
    is_incomplete: bool = False

    def add(self, page: FeedPage, until: int) -> None:
        read = (orjson.loads(event.body) for event in page.events if event.position <= until)
        events = [event for event in read if self.is_wanted(event)]
        self.listed = sorted([*self.listed, *events], key=rank)[:MAX_LISTED]
        for grave in filter(None, map(gravity, events)):
            self.grave[grave] = self.grave.get(grave, 0) + 1
        self.total += len(events)

    @property
    def is_enough(self) -> bool:
        return self.total > _MAX_COUNTED

    @property
    def changes(self) -> Changes:
        total = min(self.total, _MAX_COUNTED)
        return Changes(self.listed, total, self.grave, self.is_enough, self.is_incomplete)


@dataclass(frozen=True, slots=True)
class SendDigests:
    """Handles the digests that are due, one after the other; several may run at once."""

    due: DueDigests
    requests: ConfirmationRequests
    lists: Watchlists
    read: ReadChanges
    keys: SecretKeys
    mailer: Mailer
    messages: Messages
    schedule: Schedule
    now: Clock
    new_claim: Callable[[], str]
    #: Maximum requests to confirm for an owner in a day.
    max_requests: int
    #: Seconds between two tries to record an acceptance.
    between_records: float = 3.0
    #: Seconds between two renewals of a claim.
    renewal: float = _RENEWAL

    async def work(self) -> None:
        """Handles all that is due, until the mail server cannot be used. Raises `Unavailable`."""
        while await self.once():
            pass

    async def once(self) -> bool:
        """Handles the digest that has been due for longest; False if there is no use in a next."""
        now = self.now()
        claimed = await self.due.claim(self.new_claim(), at=now, until=now + CLAIM)
        if claimed is None:
            return False
        async with background(self._renewed(claimed)):
            try:
                return await self._handle(claimed, now)
            except Unavailable as error:
                # The lookup service may be away for longer than the claim.
                with suppress(Unavailable):
                    await self.due.unread(claimed, at=now, due_at=now + _UNREAD)
                outage = error
        raise outage

    async def _renewed(self, claimed: Claimed) -> None:
        """Renews a claim until it is lost, or the digest has ended."""
        while True:
            await asyncio.sleep(self.renewal)
            try:
                if not await self.due.renew(claimed, until=self.now() + CLAIM):
                    return
            except Unavailable as outage:
                log.warning("digest.claim_not_renewed", reason=str(outage))

    async def _handle(self, claimed: Claimed, now: datetime) -> bool:
        digest = claimed.digest
        watchlist = await self.lists.find(digest.owner, digest.watchlist_id)
        if watchlist is None:
            await self.due.remove(claimed)
            return True
        try:
            token = opened_token(claimed.token, self.keys, digest.id)
        except CannotUnseal:
            _FAILED.labels(_NO_KEY).inc()
            log.exception("digest.failed", digest_id=digest.id, reason=_NO_KEY)
            again = now + retry_delay(claimed.failures)
            error = "the service cannot make the links of the message now"
            await self.due.failed(claimed, at=now, due_at=again, error=error, is_unknown=True)
            return True
        if digest.state is DigestState.UNCONFIRMED:
            return await self._ask(claimed, token, now)
        return await self._send_news(claimed, watchlist, token, now)

    async def _ask(self, claimed: Claimed, token: str, now: datetime) -> bool:
        digest = claimed.digest
        reserved = await self.requests.reserve(
            digest.owner, digest.address, digest.id, limit=self.max_requests, at=now
        )
        if reserved.later is not None:
            _DEFERRED.labels(reserved.limit).inc()
            log.info(
                "digest.deferred", digest_id=digest.id, owner=digest.owner, limit=reserved.limit
            )
            await self.due.put_off(claimed, due_at=reserved.later)
            return True
        message = self.messages.confirmation(digest, token, at=now)
        if sent := await self._send(claimed, message, Range(None, 0), CONFIRMATION, 0):
            await self._recorded(lambda: self.due.asked(claimed, at=self.now()))
        return sent is not None

    async def _send_news(
        self, claimed: Claimed, watchlist: Watchlist, token: str, now: datetime
    ) -> bool:
        digest = claimed.digest
        slot = self.schedule.next(digest.period, claimed.checked_at)
        # The clock was fast at a check that is to come.
        is_early = claimed.checked_at <= now < slot
        if digest.period is Period.DAILY and is_early and claimed.sending is None:
            await self.due.put_off(claimed, due_at=slot)
            return True
        sending = claimed.sending or Range(claimed.position, await self.read.newest(digest.owner))
        changes = Changes((), 0)
        if sending.after is None or sending.after < sending.until:
            changes = await self.read(watchlist, digest, sending, since=digest.confirmed_at or now)
        if not changes.total and not changes.is_incomplete:
            # A database that is briefly behind does not move a reader back.
            position = max(sending.after or 0, sending.until)
            next_ = self.schedule.next(digest.period, now)
            await self.due.move(claimed, position, at=now, due_at=next_)
            return True
        message = self.messages.news(digest, token, watchlist.name, sending, changes, at=now)
        if sent := await self._send(claimed, message, sending, digest.period, changes.total):
            at = self.now()
            next_ = self.schedule.next(digest.period, at)
            await self._recorded(lambda: self.due.accepted(claimed, sending, at=at, due_at=next_))
        return sent is not None

    async def _recorded(self, record: Callable[[], Awaitable[object]]) -> None:
        """Records an acceptance, also after the election of a primary.

        Raises `Unavailable` if that takes too long; the message is then sent again.
        """
        for _ in range(_RECORDS):
            try:
                await record()
                return
            except Unavailable as outage:
                log.warning("digest.unrecorded", reason=str(outage))
                await asyncio.sleep(self.between_records)
        await record()

    async def _send(
        self, claimed: Claimed, message: EmailMessage, sending: Range, kind: str, changes: int
    ) -> bool | None:
        """Returns True if accepted, False if refused or withdrawn, None without a mail server."""
        digest = claimed.digest
        is_repeated = claimed.sending is not None

        async def is_wanted() -> bool:
            return await self.due.offer(claimed, sending, until=self.now() + CLAIM)

        ids = {"digest_id": digest.id, "watchlist_id": digest.watchlist_id, "kind": kind}
        try:
            await self.mailer.send(message, digest.address, is_wanted)
        except NoLongerWanted:
            log.info("digest.withdrawn", **ids)
            return False
        except NotSent as failure:
            _FAILED.labels(failure.reason).inc()
            log.warning("digest.failed", **ids, reason=failure.reason, code=failure.code)
            await self._failed(claimed, failure)
            usable = failure.reason not in (FailureReason.CONNECTION, FailureReason.LOGIN)
            return False if usable else None
        _SENT.labels(kind).inc()
        if is_repeated:
            _REPEATED.inc()
        log.info("digest.sent", **ids, changes=changes, repeated=is_repeated)
        return True

    async def _failed(self, claimed: Claimed, failure: NotSent) -> None:
        now, error = self.now(), str(failure)
        is_refusal = failure.reason is FailureReason.RECIPIENT
        may_retry = claimed.digest.state is DigestState.CONFIRMED
        if is_refusal and (not may_retry or claimed.refusals + 1 >= MAX_REFUSALS):
            await self.due.refused(claimed, at=now, error=error)
            return
        delay = _AFTER_REFUSAL if is_refusal else retry_delay(claimed.failures)
        await self.due.failed(
            claimed,
            at=now,
            due_at=now + delay,
            error=error,
            is_refusal=is_refusal,
            is_unknown=failure.is_unknown,
        )


@asynccontextmanager
async def sending(
    digests: SendDigests, *, senders: int, drain_timeout: float
) -> AsyncIterator[None]:
    """Sends during the body; leaving it waits for the messages that are being sent."""
    stopping = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_send_until(stopping, digests)) for _ in range(senders)]
        tasks.append(group.create_task(_measure_until(stopping, digests)))
        try:
            yield
        finally:
            stopping.set()
            _, running = await asyncio.wait(tasks, timeout=drain_timeout)
            for task in running:
                task.cancel()


async def _send_until(stopping: asyncio.Event, digests: SendDigests) -> None:
    while not stopping.is_set():
        is_more = False
        try:
            is_more = await digests.once()
        except Unavailable as outage:
            log.log(logging.WARNING, "digests.unavailable", reason=str(outage))
        except Exception:
            log.exception("digests.failed")
        if not is_more:
            await _pause(stopping, _POLL)


async def _measure_until(stopping: asyncio.Event, digests: SendDigests) -> None:
    while not stopping.is_set():
        with suppress(Unavailable):
            oldest = await digests.due.oldest_due()
            age = 0.0 if oldest is None else (digests.now() - oldest).total_seconds()
            _OLDEST_DUE.set(max(0.0, age))
        await _pause(stopping, _MEASURE)


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
