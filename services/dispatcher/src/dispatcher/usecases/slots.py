"""Slots for posts, acquired immediately or in turn."""

import asyncio
from collections import defaultdict, deque
from datetime import timedelta

from dispatcher.domain.concurrency import ConcurrencyLimits, LimitKey, PostsInFlight
from dispatcher.domain.pace import Pace


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
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[limit_key.owner].append((limit_key, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self._abandon(limit_key, turn)
            raise

    def release(self, freed: LimitKey) -> None:
        """Releases a slot and grants slots to waiting calls while there is room."""
        self._in_flight.release(freed)
        while self._grant():
            pass

    def release_after_timeout(self, freed: LimitKey) -> None:
        """Releases the slot of a timed-out post at its owner's pace."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._pace.wait(freed.owner, loop.time()), self.release, freed)

    def _grant(self) -> bool:
        """Grants a slot to the eligible owner with the fewest posts in flight."""
        for owner in sorted(self._waiting, key=self._in_flight.of_owner):
            if not self._in_flight.has_share_left(owner):
                continue
            for limit_key, turn in self._waiting[owner]:
                # A cancelled call removes itself from the queue.
                if not turn.done() and self._in_flight.acquire(limit_key):
                    self._forget(limit_key, turn)
                    turn.set_result(None)
                    return True
        return False

    def _abandon(self, limit_key: LimitKey, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            self.release(limit_key)  # a slot was granted at the same time
        else:
            self._forget(limit_key, turn)

    def _forget(self, limit_key: LimitKey, turn: "asyncio.Future[None]") -> None:
        queue = self._waiting[limit_key.owner]
        queue.remove((limit_key, turn))
        if not queue:
            del self._waiting[limit_key.owner]
