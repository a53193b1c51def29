"""Filters of deliveries and attempts that lack the shard key.

On a sharded cluster such a query asks every shard (docs/operations.md). Only queries of the code
under test are recorded, not those with which a test looks.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final

from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from webhook_store.collections import ATTEMPTS, DELIVERIES

Filter = Mapping[str, Any]

SHARD_KEY: Final = "webhook_id"
#: Fields of the filters that are for all webhooks: the jobs that look for overdue rows and measure,
#: and the ends of events, whose rows are of many webhooks.
FOR_ALL: Final = frozenset(
    {
        frozenset({"state", "retries"}),
        frozenset({"state", "retries", "wake_at", "due_at"}),
        frozenset({"state", "retries", "wake_at", "lease_until"}),
        frozenset({"event_id"}),
        frozenset({"event_id", "expires_at"}),
        frozenset({"event_id", "purged"}),
        frozenset({"event_id", "state"}),
        frozenset({"event_id", "state", "lease_until"}),
    }
)

_TESTS = str(Path(__file__).parent)
_PACKAGES = ("webhook_store", "dispatcher", "webhook_registry")


class ShardKeys(CommandListener):
    """The filters without the shard key, of every client of this process."""

    def __init__(self) -> None:
        self.lacking: list[str] = []

    def started(self, event: CommandStartedEvent) -> None:
        """Records the filters of a command that should have had the shard key."""
        lacking = filters_without_key(event.command_name, event.command)
        if lacking and not _is_of_a_test():
            self.lacking += lacking

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Its filter was seen when it started."""

    def failed(self, event: CommandFailedEvent) -> None:
        """Its filter was seen when it started."""


def filters_without_key(name: str, command: Mapping[str, Any]) -> list[str]:
    """Describes the filters of a command that lack the shard key and are not for all webhooks."""
    if command.get(name) not in (DELIVERIES, ATTEMPTS):
        return []
    return [
        f"{name} of {command[name]} by {sorted(query)}"
        for query in _filters(name, command)
        if SHARD_KEY not in query and frozenset(query) not in FOR_ALL
    ]


def _filters(name: str, command: Mapping[str, Any]) -> Iterator[Filter]:
    match name:
        case "find":
            yield command["filter"]
        case "findAndModify" | "distinct" | "count":
            yield command["query"]
        case "update":
            yield from (update["q"] for update in command["updates"])
        case "delete":
            yield from (delete["q"] for delete in command["deletes"])
        case "aggregate":
            yield command["pipeline"][0].get("$match", {})
        case _:
            return


def _is_of_a_test() -> bool:
    """True if a test itself sent the command that is being sent."""
    frame: FrameType | None = sys._getframe(2)  # who called `started`
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_TESTS):
            return True
        if any(f"/{package}/" in file for package in _PACKAGES):
            return False
        frame = frame.f_back
    return False
