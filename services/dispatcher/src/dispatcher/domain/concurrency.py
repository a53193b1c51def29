"""Limits on concurrent posts, so that slow receivers do not delay others."""

from collections import Counter
from dataclasses import dataclass
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
        self._key_limits = (limits.webhook, limits.host, limits.owner_on_host)
        self._posts = 0
        self._of_owners: Counter[str] = Counter()
        self._count: Counter[tuple[str, ...]] = Counter()

    def of_owner(self, owner: str) -> int:
        """Returns an owner's posts in flight."""
        return self._of_owners[owner]

    def has_share_left(self, owner: str) -> bool:
        """Checks whether the owner's share of all slots has room for one more post.

        Besides its own limit, an owner may have at most as many posts in flight as there are free
        slots. Shares even out as owners arrive, and the next owner always finds room.
        """
        free = self._limits.posts - self._posts
        return self.of_owner(owner) < min(self._limits.owner, free)

    def acquire(self, limit_key: LimitKey) -> bool:
        """Counts one more post; False when a limit is reached."""
        keys = _keys(limit_key)
        for key, limit in zip(keys, self._key_limits, strict=True):
            if self._count[key] >= limit:
                return False
        if not self.has_share_left(limit_key.owner):
            return False
        self._posts += 1
        self._of_owners[limit_key.owner] += 1
        for key in keys:
            self._count[key] += 1
        return True

    def release(self, limit_key: LimitKey) -> None:
        """Counts one post less."""
        self._posts -= 1
        _subtract(self._of_owners, limit_key.owner)
        for key in _keys(limit_key):
            _subtract(self._count, key)


def _subtract(count: Counter[K], key: K) -> None:
    """Drops a count of zero: owners and hosts change over the life of the process."""
    if count[key] == 1:
        del count[key]
    else:
        count[key] -= 1


def _keys(limit_key: LimitKey) -> tuple[tuple[str, ...], ...]:
    return (
        ("webhook", limit_key.webhook_id),
        ("host", limit_key.host),
        ("owner on host", limit_key.host, limit_key.owner),
    )
