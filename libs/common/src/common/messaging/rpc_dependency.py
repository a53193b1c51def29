"""The dependency of a server's handlers: while it is lost, requests are refused immediately."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from common.contracts.failures import Unavailable

#: Seconds for a check, and between two.
_TIMEOUT = 0.5
_INTERVAL = 0.1

log = structlog.get_logger()


class Dependency:
    """A dependency of RPC handlers, usually the database.

    It is checked after a handler has raised `Unavailable`, and is lost from a check that fails to
    one that succeeds.
    """

    def __init__(self, check: Callable[[], Awaitable[object]]) -> None:
        """`check` raises `Unavailable` while the dependency cannot be reached."""
        self.is_lost = False
        self._check = check
        self._suspected = asyncio.Event()

    def suspect(self) -> None:
        """Has the dependency checked: a handler could not reach something."""
        self._suspected.set()

    async def run(self) -> None:
        """Checks a suspected dependency until it answers; until cancelled."""
        while True:
            await self._suspected.wait()
            while not await self._answers():
                self.is_lost = True
                await asyncio.sleep(_INTERVAL)
            self.is_lost = False
            self._suspected.clear()

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
