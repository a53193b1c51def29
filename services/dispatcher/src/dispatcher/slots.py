"""Slots for posts: limits on concurrent posts, acquired immediately or in turn, and pacing."""

import asyncio
import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from common.contracts.webhooks import WebhookId

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """Maximum posts in flight of one process."""

    #: In total; each needs a socket.
    posts: int = 500
    #: To all hosts, for the webhooks of one owner.
    owner: int = 100
    host: int = 64
    #: To one host, for the webhooks of one owner: many owners may share a host.
    owner_on_host: int = 8
    webhook: int = 4


@dataclass(frozen=True, slots=True)
class LimitKey:
    """Identity under which a post is counted."""

    webhook_id: WebhookId
    host: str
    owner: str


class PostsInFlight:
    """Counts of the posts in flight."""

    def __init__(self, limits: ConcurrencyLimits) -> None:
        self._limits = limits
        self._posts = 0
        self._of_owners: Counter[str] = Counter()
        self._of_webhooks: Counter[WebhookId] = Counter()
        self._to_hosts: Counter[str] = Counter()
        self._of_owners_on_hosts: Counter[tuple[str, str]] = Counter()

    def of_owner(self, owner: str) -> int:
        """Returns an owner's posts in flight."""
        return self._of_owners[owner]

    def has_share_left(self, owner: str) -> bool:
        """Checks whether the owner's share of all slots has room for one more post.

        Besides its own limit, an owner may have at most as many posts in flight as there are free
        slots. Shares even out as owners arrive, and the next owner always finds a slot.
        """
        free = self._limits.posts - self._posts
        return self.of_owner(owner) < min(self._limits.owner, free)

    def acquire(self, limit_key: LimitKey) -> bool:
        """Counts one more post; False when a limit is reached."""
        limits, webhook_id, host = self._limits, limit_key.webhook_id, limit_key.host
        on_host = host, limit_key.owner
        if (
            self._of_webhooks[webhook_id] >= limits.webhook
            or self._to_hosts[host] >= limits.host
            or self._of_owners_on_hosts[on_host] >= limits.owner_on_host
            or not self.has_share_left(limit_key.owner)
        ):
            return False
        self._posts += 1
        self._of_owners[limit_key.owner] += 1
        self._of_webhooks[webhook_id] += 1
        self._to_hosts[host] += 1
        self._of_owners_on_hosts[on_host] += 1
        return True

    def release(self, limit_key: LimitKey) -> None:
        """Counts one post less."""
        self._posts -= 1
        _subtract(self._of_owners, limit_key.owner)
        _subtract(self._of_webhooks, limit_key.webhook_id)
        _subtract(self._to_hosts, limit_key.host)
        _subtract(self._of_owners_on_hosts, (limit_key.host, limit_key.owner))


def _subtract(count: Counter[K], key: K) -> None:
    if count[key] == 1:
        del count[key]
    else:
        count[key] -= 1


#: Seconds between two releases: slots of one release share their queries and writes, and are few
#: enough that their TLS handshakes cause no delay.
TICK = 0.25


class Pace:
    """Spreads the releases over time, per owner.

    Posts that start together time out together. If their slots were released at once, the next
    posts to hanging receivers would start together again, and their handshakes and results would
    delay all other owners at each timeout. `step` is the post timeout divided by the slots of an
    owner: the rate at which an owner whose receivers all hang releases slots on average.
    """

    def __init__(self, step: float) -> None:
        self._step = step
        self._next: dict[str, float] = {}

    def wait(self, owner: str, now: float) -> float:
        """Returns the seconds until a slot that the owner returns `now` is released."""
        self._next = {one: at for one, at in self._next.items() if at > now}
        at = self._next.get(owner, now)
        self._next[owner] = at + self._step
        return max(0.0, math.ceil(at / TICK) * TICK - now)


class Slots:
    """Limits the posts in flight and shares slots fairly among owners."""

    def __init__(self, limits: ConcurrencyLimits, *, post_timeout: timedelta) -> None:
        """`post_timeout` is the maximum duration of a post."""
        self._in_flight = PostsInFlight(limits)
        self._pace = Pace(post_timeout.total_seconds() / limits.owner)
        self._waiting: defaultdict[str, deque[tuple[LimitKey, asyncio.Future[None]]]] = defaultdict(
            deque
        )

    def acquire(self, limit_key: LimitKey) -> bool:
        """Acquires a slot if one is free; return it with `release`."""
        return self._in_flight.acquire(limit_key)

    async def wait(self, limit_key: LimitKey) -> None:
        """Waits for a slot; slots of one owner are granted in the order of the calls."""
        if self._in_flight.acquire(limit_key):
            return
        grant: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[limit_key.owner].append((limit_key, grant))
        try:
            await grant
        except asyncio.CancelledError:
            self._abandon(limit_key, grant)
            raise

    def release(self, freed: LimitKey) -> None:
        """Releases a slot and grants slots to waiting calls while any is free."""
        self._in_flight.release(freed)
        while self._grant():
            pass

    def release_after_timeout(self, freed: LimitKey) -> None:
        """Releases the slot of a timed-out post at its owner's pace."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._pace.wait(freed.owner, loop.time()), self.release, freed)

    def _grant(self) -> bool:
        for owner in sorted(self._waiting, key=self._in_flight.of_owner):
            if not self._in_flight.has_share_left(owner):
                continue
            for limit_key, grant in self._waiting[owner]:
                # A cancelled call removes itself from the queue.
                if not grant.done() and self._in_flight.acquire(limit_key):
                    self._forget(limit_key, grant)
                    grant.set_result(None)
                    return True
        return False

    def _abandon(self, limit_key: LimitKey, grant: "asyncio.Future[None]") -> None:
        if grant.done() and not grant.cancelled():
            self.release(limit_key)  # a slot was granted at the same time
        else:
            self._forget(limit_key, grant)

    def _forget(self, limit_key: LimitKey, grant: "asyncio.Future[None]") -> None:
        queue = self._waiting[limit_key.owner]
        queue.remove((limit_key, grant))
        if not queue:
            del self._waiting[limit_key.owner]
