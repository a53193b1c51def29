"""The right to post: given at once, or in turn."""

import asyncio
from collections import defaultdict, deque
from datetime import timedelta

from dispatcher.domain.concurrency import ConcurrencyLimits, LimitKey, PostsInFlight
from dispatcher.domain.pace import Pace


class Slots:
    """Keeps the posts in flight under the caps, and shares them fairly among owners."""

    def __init__(self, caps: ConcurrencyLimits, *, longest: timedelta) -> None:
        """`longest` is the time limit of a post."""
        self._in_flight = PostsInFlight(caps)
        self._pace = Pace(longest.total_seconds() / caps.owner)
        self._waiting: defaultdict[str, deque[tuple[LimitKey, asyncio.Future[None]]]] = defaultdict(
            deque
        )

    def take(self, place: LimitKey) -> bool:
        """Whether there is a slot now; it has to be given back with `free`."""
        return self._in_flight.take(place)

    async def wait(self, place: LimitKey) -> None:
        """Returns with a slot; those of one owner are given in the order of the calls."""
        if self._in_flight.take(place):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[place.owner].append((place, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(place, turn)
            raise

    def free(self, freed: LimitKey) -> None:
        """Gives a slot back, and with it as many waiting calls a slot as there is now room for."""
        self._in_flight.free(freed)
        while self._grant():
            pass

    def free_after_timeout(self, freed: LimitKey) -> None:
        """Gives the slot of a post that timed out back, in its owner's pace."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._pace.wait(freed.owner, loop.time()), self.free, freed)

    def _grant(self) -> bool:
        """Gives a slot to the owner with the fewest posts in flight of those that may have one."""
        for owner in sorted(self._waiting, key=self._in_flight.of_owner):
            if not self._in_flight.has_share_left(owner):
                continue
            for place, turn in self._waiting[owner]:
                # A call that was cancelled a moment ago leaves the queue itself.
                if not turn.done() and self._in_flight.take(place):
                    self._forget(place, turn)
                    turn.set_result(None)
                    return True
        return False

    def _give_up(self, place: LimitKey, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            self.free(place)  # it was given one at the very moment
        else:
            self._forget(place, turn)

    def _forget(self, place: LimitKey, turn: "asyncio.Future[None]") -> None:
        queue = self._waiting[place.owner]
        queue.remove((place, turn))
        if not queue:
            del self._waiting[place.owner]
