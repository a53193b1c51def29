"""The right to post: given at once, or in turn."""

import asyncio
from collections import defaultdict, deque
from datetime import timedelta

from dispatcher.domain.concurrency import ConcurrencyLimits, LimitKey, PostsInFlight
from dispatcher.domain.pace import Pace


class Slots:
    """Keeps the posts in flight under the caps, and shares them fairly among owners."""

    def __init__(self, caps: ConcurrencyLimits, *, post_timeout: timedelta) -> None:
        """`longest` is the time limit of a post."""
        self._in_flight = PostsInFlight(caps)
        self._pace = Pace(post_timeout.total_seconds() / caps.owner)
        self._waiting: defaultdict[str, deque[tuple[LimitKey, asyncio.Future[None]]]] = defaultdict(
            deque
        )

    def acquire(self, limit_key: LimitKey) -> bool:
        """Whether there is a slot now; it has to be given back with `free`."""
        return self._in_flight.acquire(limit_key)

    async def wait(self, limit_key: LimitKey) -> None:
        """Returns with a slot; those of one owner are given in the order of the calls."""
        if self._in_flight.acquire(limit_key):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[limit_key.owner].append((limit_key, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(limit_key, turn)
            raise

    def release(self, freed: LimitKey) -> None:
        """Gives a slot back, and with it as many waiting calls a slot as there is now room for."""
        self._in_flight.release(freed)
        while self._grant():
            pass

    def release_after_timeout(self, freed: LimitKey) -> None:
        """Gives the slot of a post that timed out back, in its owner's pace."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._pace.wait(freed.owner, loop.time()), self.release, freed)

    def _grant(self) -> bool:
        """Gives a slot to the owner with the fewest posts in flight of those that may have one."""
        for owner in sorted(self._waiting, key=self._in_flight.of_owner):
            if not self._in_flight.has_share_left(owner):
                continue
            for limit_key, turn in self._waiting[owner]:
                # A call that was cancelled a moment ago leaves the queue itself.
                if not turn.done() and self._in_flight.acquire(limit_key):
                    self._forget(limit_key, turn)
                    turn.set_result(None)
                    return True
        return False

    def _give_up(self, limit_key: LimitKey, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            self.release(limit_key)  # it was given one at the very moment
        else:
            self._forget(limit_key, turn)

    def _forget(self, limit_key: LimitKey, turn: "asyncio.Future[None]") -> None:
        queue = self._waiting[limit_key.owner]
        queue.remove((limit_key, turn))
        if not queue:
            del self._waiting[limit_key.owner]
