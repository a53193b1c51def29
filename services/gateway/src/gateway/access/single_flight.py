"""One call for concurrent requests that need the same."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class SingleFlight(Generic[V]):
    """Runs at most one call for each key at a time."""

    def __init__(self) -> None:
        self._calls: dict[str, asyncio.Future[V]] = {}

    async def __call__(self, key: str, work: Callable[[], Awaitable[V]]) -> V:
        """Returns what `work` returns, or what the call in flight does; raises its exception.

        A cancelled request cancels no other: if it made the call, one that waits makes it again.
        """
        while (call := self._calls.get(key)) is not None:
            await asyncio.wait([call])
            if not call.cancelled():
                return call.result()
        call = self._calls[key] = asyncio.get_running_loop().create_future()
        try:
            call.set_result(await work())
        except Exception as error:  # noqa: BLE001 (raised to all)
            call.set_exception(error)
        finally:
            del self._calls[key]
            call.cancel()
        return call.result()

    async def ended(self, key: str) -> bool:
        """Waits for the end of the call in flight, however it ends; False without one."""
        call = self._calls.get(key)
        if call is not None:
            await asyncio.wait([call])
        return call is not None
