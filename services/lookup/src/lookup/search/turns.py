"""Turns of clients that share threads or the database.

The client that has used the least time is next (start-time fair queuing): a client with slow
searches has fewer of them, and the first search of another does not wait behind them.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

#: Above this number, clients without a search are forgotten; all are when no search runs.
_MAX_KNOWN = 1_000


class Turns:
    """Places for `of_one` searches of each client, and `others` that one client cannot take."""

    def __init__(self, of_one: int, others: int = 1) -> None:
        self._of_one = of_one
        self._free = of_one + others
        #: Clients with waiting searches; none is empty.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._running: Counter[str] = Counter()
        #: The time that each client has used. One that comes, or comes back, starts at `_now`, the
        #: time of the client that was served last: quiet clients save nothing up.
        self._used: dict[str, float] = {}
        self._now = 0.0

    async def begin(self, client: str) -> None:
        """Waits for the client's turn, which `end` ends."""
        self._used[client] = max(self._used.get(client, 0.0), self._now)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._drop(client, turn)
            else:
                self.end(client, 0.0)
            raise

    @asynccontextmanager
    async def taken(self, client: str) -> AsyncIterator[None]:
        """Holds a turn during the body."""
        await self.begin(client)
        now = asyncio.get_running_loop().time
        began = now()
        try:
            yield
        finally:
            self.end(client, now() - began)

    def end(self, client: str, seconds: float) -> None:
        """Ends a turn that took this many seconds."""
        self._used[client] = self._used.get(client, self._now) + seconds
        self._free += 1
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        if not self._running or len(self._used) > _MAX_KNOWN:
            here = self._running.keys() | self._waiting.keys()
            self._used = {one: used for one, used in self._used.items() if one in here}
        self._serve()

    def _serve(self) -> None:
        while self._free and (client := self._next()) is not None:
            turn = self._waiting[client].popleft()
            if not self._waiting[client]:
                del self._waiting[client]
            if turn.done():  # cancelled, and not yet dropped
                continue
            self._free -= 1
            self._running[client] += 1
            self._now = max(self._now, self._used[client])
            turn.set_result(None)

    def _next(self) -> str | None:
        able = (client for client in self._waiting if self._running[client] < self._of_one)
        return min(able, key=self._used.__getitem__, default=None)

    def _drop(self, client: str, turn: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(client)
        if waiting is not None and turn in waiting:
            waiting.remove(turn)
            if not waiting:
                del self._waiting[client]
