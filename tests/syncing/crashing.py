"""A sync that dies at a chosen step, as a process does: nothing it would do after that is done."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from pydantic import AnyHttpUrl

from lookup.ingest.apply import RegisterWriter
from lookup.ingest.http_client import RegisterClient
from lookup.ingest.leases import Leases
from lookup.ingest.load_states import LoadStates
from lookup.ingest.sources import Cursors
from lookup.ingest.sync_dependencies import SyncDependencies


class Killed(Exception):
    """The process is gone."""


@dataclass
class Steps:
    """Counts requests to the registers and the database, and dies at one of them."""

    #: From 0; None for a sync that lives. The step itself is still done, and its answer is lost:
    #: that leaves the same as a death just before the next step.
    dies_at: int | None = None
    count: int = 0

    @property
    def dead(self) -> bool:
        return self.dies_at is not None and self.count > self.dies_at

    def wrap(self, real: object) -> Any:
        return _Stepping(real, self)

    async def take(self, step: Callable[[], Any]) -> Any:
        if self.dead:
            raise Killed
        number, self.count = self.count, self.count + 1
        answer = await step()
        if number == self.dies_at:
            raise Killed
        return answer


class _Stepping:
    """Stands in front of something, and makes each call of it a step."""

    def __init__(self, real: object, steps: Steps) -> None:
        self._real = real
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        if not iscoroutinefunction(attribute):
            return attribute

        async def step(*arguments: Any, **named: Any) -> Any:
            return await self._steps.take(lambda: attribute(*arguments, **named))

        return step


@dataclass(frozen=True)
class CrashingSync(SyncDependencies):
    """The real sync, with steps in front of all that it reads from and writes to."""

    steps: Steps

    @classmethod
    def around(cls, wiring: SyncDependencies, steps: Steps) -> "CrashingSync":
        fields = {name: getattr(wiring, name) for name in SyncDependencies.__slots__}
        return cls(**fields, steps=steps)

    def client_of(self, base: AnyHttpUrl, register: str, **headers: str) -> RegisterClient:
        client: RegisterClient = self.steps.wrap(super().client_of(base, register, **headers))
        return client

    @property
    def leases(self) -> Leases:
        leases: Leases = self.steps.wrap(super().leases)
        return leases

    @property
    def writer(self) -> RegisterWriter:
        writer: RegisterWriter = self.steps.wrap(super().writer)
        return writer

    @property
    def states(self) -> LoadStates:
        states: LoadStates = self.steps.wrap(super().states)
        return states

    @property
    def cursors(self) -> Cursors:
        cursors: Cursors = self.steps.wrap(super().cursors)
        return cursors
