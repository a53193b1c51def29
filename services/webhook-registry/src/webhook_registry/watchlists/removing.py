"""Removal of the companies of deleted watchlists, in the background, by any process."""

import asyncio
import logging

from common.runtime.tasks import repeat
from webhook_store.watchlists.lists import Watchlists
from webhook_store.watchlists.members import Members

#: Seconds between checks for lists that another process has left.
LOOK_AGAIN = 60.0


class Removing:
    """Removes what a deleted list has left over: its deletion must not wait for 100,000 rows."""

    def __init__(self, lists: Watchlists, members: Members) -> None:
        self._lists = lists
        self._members = members
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Starts the removal."""
        self._asked.set()

    async def run(self) -> None:
        """Runs until cancelled."""
        await repeat(
            self.work,
            every=LOOK_AGAIN,
            unavailable="watchlists.unavailable",
            failed="watchlists.failed",
            level=logging.WARNING,
            asked=self._asked,
        )

    async def work(self) -> None:
        """Removes the companies of all deleted lists. Raises Unavailable."""
        for watchlist_id in await self._lists.deleted():
            while await self._members.remove_some(watchlist_id):
                pass
            await self._lists.forget(watchlist_id)
