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

    def take(self, place: LimitKey) -> bool:
        """Counts one more, if every limit leaves room for it."""
        keys = _keys(place)
        full = any(self._count[key] >= limit for key, limit in zip(keys, self._limits, strict=True))
        if full or not self.has_share_left(place.owner):
            return False
        self._posts += 1
        self._of_owners[place.owner] += 1
        self._count.update(keys)
        return True

    def free(self, place: LimitKey) -> None:
        """Counts one less."""
        self._posts -= 1
        self._of_owners[place.owner] -= 1
        self._count.subtract(_keys(place))
        # Owners and hosts come and go while the process stays.
        if self._of_owners[place.owner] == 0:
            del self._of_owners[place.owner]
        for key in _keys(place):
            if self._count[key] == 0:
                del self._count[key]


def _keys(place: LimitKey) -> tuple[tuple[str, ...], ...]:
    return (
        ("webhook", place.webhook_id),
        ("host", place.host),
        ("owner on host", place.host, place.owner),
    )
