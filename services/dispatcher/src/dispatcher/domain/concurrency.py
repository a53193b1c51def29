"""How many posts may be in flight at once, so that slow receivers delay no others."""

from collections import Counter
from dataclasses import dataclass

from common.contracts.webhooks import WebhookId


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """The maximum of posts in flight of one process."""

    #: In all; each needs a socket.
    posts: int = 500
    #: By the webhooks of one owner, to all hosts together.
    owner: int = 100
    host: int = 64
    #: Of a host's, by the webhooks of one owner: many owners may share a host.
    owner_on_host: int = 8
    webhook: int = 4


@dataclass(frozen=True, slots=True)
class LimitKey:
    """What a post is counted under."""

    webhook_id: WebhookId
    host: str
    owner: str


class PostsInFlight:
    """The posts in flight, counted."""

    def __init__(self, caps: ConcurrencyLimits) -> None:
        self._caps = caps
        self._limits = (caps.webhook, caps.host, caps.owner_on_host)
        self._posts = 0
        self._of_owners: Counter[str] = Counter()
        self._count: Counter[tuple[str, ...]] = Counter()

    def of_owner(self, owner: str) -> int:
        """An owner's posts in flight."""
        return self._of_owners[owner]

    def has_share_left(self, owner: str) -> bool:
        """Whether the owner may have one more post in flight, as far as its share of all goes.

        Besides its cap an owner may have as many posts in flight as are still free. So shares even
        out as owners come, and however many owners' receivers hang, the next owner finds room.
        """
        free = self._caps.posts - self._posts
        return self.of_owner(owner) < min(self._caps.owner, free)

    def acquire(self, limit_key: LimitKey) -> bool:
        """Counts one more, if every limit leaves room for it."""
        keys = _keys(limit_key)
        full = any(self._count[key] >= limit for key, limit in zip(keys, self._limits, strict=True))
        if full or not self.has_share_left(limit_key.owner):
            return False
        self._posts += 1
        self._of_owners[limit_key.owner] += 1
        self._count.update(keys)
        return True

    def release(self, limit_key: LimitKey) -> None:
        """Counts one less."""
        self._posts -= 1
        self._of_owners[limit_key.owner] -= 1
        self._count.subtract(_keys(limit_key))
        # Owners and hosts come and go while the process stays.
        if self._of_owners[limit_key.owner] == 0:
            del self._of_owners[limit_key.owner]
        for key in _keys(limit_key):
            if self._count[key] == 0:
                del self._count[key]


def _keys(limit_key: LimitKey) -> tuple[tuple[str, ...], ...]:
    return (
        ("webhook", limit_key.webhook_id),
        ("host", limit_key.host),
        ("owner on host", limit_key.host, limit_key.owner),
    )
