"""How many posts may be in flight at once, so that one slow receiver harms nobody else."""

from collections import Counter
from dataclasses import dataclass

from common.contracts.webhooks import WebhookId


@dataclass(frozen=True, slots=True)
class Caps:
    """The most posts in flight of one process."""

    webhook: int = 4
    host: int = 64
    #: Of a host's, by the webhooks of one owner: many may have theirs on a host that all share.
    owner_on_host: int = 8


@dataclass(frozen=True, slots=True)
class Place:
    """What a post is counted under."""

    webhook_id: WebhookId
    host: str
    owner: str


class InFlight:
    """The posts in flight, counted."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._count: Counter[tuple[str, ...]] = Counter()

    def take(self, place: Place) -> bool:
        """Counts one more, if all three caps leave room for it."""
        limits = self._limits(place)
        if any(self._count[key] >= limit for key, limit in limits):
            return False
        self._count.update(key for key, _ in limits)
        return True

    def free(self, place: Place) -> None:
        """Counts one less."""
        for key, _ in self._limits(place):
            self._count[key] -= 1
            # Hosts come and go while the process stays.
            if self._count[key] == 0:
                del self._count[key]

    def _limits(self, place: Place) -> tuple[tuple[tuple[str, ...], int], ...]:
        return (
            (("webhook", place.webhook_id), self._caps.webhook),
            (("host", place.host), self._caps.host),
            (("owner", place.host, place.owner), self._caps.owner_on_host),
        )
