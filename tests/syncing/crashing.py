"""A sync that dies at a chosen write, as a process does: it does nothing after that."""

from dataclasses import dataclass, field, replace
from inspect import iscoroutinefunction
from typing import Any

from ingest.following.dependencies import SyncDependencies

#: The methods that write to the database. A death before one and one after it leave all that a
#: death can leave.
WRITES = frozenset({"take", "give_up", "begin", "write", "remove", "finish", "move", "forget_due"})


class Killed(Exception):
    """The process is gone."""


@dataclass
class Steps:
    """Counts writes to the database, and may die after one of them."""

    #: From 0; None for a sync that lives.
    dies_at: int | None = None
    #: The method of each write.
    taken: list[str] = field(default_factory=list)

    @property
    def dead(self) -> bool:
        return self.dies_at is not None and len(self.taken) > self.dies_at

    def of(self, sync: SyncDependencies) -> SyncDependencies:
        """The sync with steps in front of its stores."""
        names = ("writer", "states", "cursors")
        wrapped: dict[str, Any] = {
            name: _Stepping(getattr(sync.stores, name), self) for name in names
        }
        leases: Any = _Stepping(sync.leases, self)
        return replace(sync, stores=replace(sync.stores, **wrapped), leases=leases)


class _Stepping:
    """Stands in front of a store, and makes each write to it a step."""

    def __init__(self, real: object, steps: Steps) -> None:
        self._real = real
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        if not iscoroutinefunction(attribute):
            return attribute

        async def step(*arguments: Any, **named: Any) -> Any:
            steps = self._steps
            if steps.dead:
                raise Killed
            number = len(steps.taken)
            steps.taken += [name] if name in WRITES else []
            answer = await attribute(*arguments, **named)
            # The write was done, and its answer is lost.
            if name in WRITES and number == steps.dies_at:
                raise Killed
            return answer

        return step
