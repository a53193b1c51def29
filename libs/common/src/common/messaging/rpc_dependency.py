"""The dependency of a server's handlers: while it is lost, requests are refused immediately."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from common.contracts.failures import Unavailable

#: Seconds for a check, and between two of a dependency that is lost, or that nothing suspects.
_TIMEOUT = 1.0
_INTERVAL, _REGULAR = 0.1, 2.0

log = structlog.get_logger()


class Dependency:
    """A dependency of RPC handlers, such as the database.

    It is checked regularly, and after a handler has raised `Unavailable`. It is lost until the
    first check that succeeds, and from one that fails to the next that succeeds.
    """

    def __init__(
        self, check: Callable[[], Awaitable[object]], *, interval: float = _REGULAR
    ) -> None:
        """`check` raises `Unavailable` while the dependency cannot be reached."""
        self.is_lost = True
        self._check = check
        self._interval = interval
        self._suspected = asyncio.Event()

    def suspect(self) -> None:
        """Has the dependency checked: a handler could not reach something."""
        self._suspected.set()

    async def run(self) -> None:
        """Checks the dependency, and a lost one until it answers; until cancelled."""
        while True:
            while not await self._answers():
                self.is_lost = True
                await asyncio.sleep(_INTERVAL)
            self.is_lost = False
            self._suspected.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._suspected.wait()

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(_TIMEOUT):
                await self._check()
        except (TimeoutError, Unavailable):
            return False
        except Exception:
            log.exception("rpc.check_failed")
            return False
        return True
