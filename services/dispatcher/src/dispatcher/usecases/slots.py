"""The right to post: given at once, or in turn."""

import asyncio
from collections import defaultdict, deque

from dispatcher.domain.caps import Caps, InFlight, Place


class Slots:
    """Keeps the posts in flight under the caps."""

    def __init__(self, caps: Caps) -> None:
        self._in_flight = InFlight(caps)
        self._queues: defaultdict[str, deque[tuple[Place, asyncio.Future[None]]]] = defaultdict(
            deque
        )

    def take(self, place: Place) -> bool:
        """Whether there is a slot now; it has to be given back with `free`."""
        return self._in_flight.take(place)

    async def wait(self, place: Place) -> None:
        """Returns with a slot; those who wait for a host get theirs in the order they came."""
        if self._in_flight.take(place):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues[place.host].append((place, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(place, turn)
            raise

    def free(self, freed: Place) -> None:
        """Gives a slot back, to whoever may have it and waited longest."""
        self._in_flight.free(freed)
        queue = self._queues.get(freed.host)
        if queue is None:
            return
        for waiting in queue:
            place, turn = waiting
            # One that was cancelled a moment ago leaves the queue itself.
            if not turn.done() and self._in_flight.take(place):
                queue.remove(waiting)
                turn.set_result(None)
                break
        if not queue:
            del self._queues[freed.host]

    def _give_up(self, place: Place, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            self.free(place)  # it was given one at the very moment
            return
        queue = self._queues[place.host]
        queue.remove((place, turn))
        if not queue:
            del self._queues[place.host]
