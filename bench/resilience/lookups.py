"""A steady load of lookups, each with its time and its answer."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp

#: Seconds until a client gives up.
PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Lookup:
    #: Seconds by the monotonic clock.
    at: float
    seconds: float
    #: None without an answer.
    status: int | None


@dataclass
class Lookups:
    """Sends `rate` lookups a second, without waiting for earlier ones."""

    base_url: str
    key: str
    paths: Sequence[str]
    rate: float
    done: list[Lookup] = field(default_factory=list)

    async def run(self) -> None:
        """Runs until cancelled."""
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        headers = {"X-API-Key": self.key}
        async with (
            aiohttp.ClientSession(
                self.base_url, connector=connector, timeout=timeout, headers=headers
            ) as session,
            asyncio.TaskGroup() as group,
        ):
            start = time.monotonic()
            number = 0
            while True:
                group.create_task(self._one(session, self.paths[number % len(self.paths)]))
                number += 1
                await asyncio.sleep(max(0.0, start + number / self.rate - time.monotonic()))

    async def _one(self, session: aiohttp.ClientSession, path: str) -> None:
        at = time.monotonic()
        status = None
        try:
            async with session.get(path) as response:
                await response.read()
                status = response.status
        except (aiohttp.ClientError, TimeoutError):
            pass
        self.done.append(Lookup(at, time.monotonic() - at, status))
