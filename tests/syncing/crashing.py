"""A sync in steps, which dies at a chosen one as a process does: it does nothing after that."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

from pydantic import AnyHttpUrl

from lookup.ingest.apply import RegisterWriter
from lookup.ingest.http_client import RegisterClient
from lookup.ingest.load_states import LoadStates
from lookup.ingest.read import ReadDocuments
from lookup.ingest.sources import Cursors, Leases, StoredKeys
from lookup.ingest.sync_dependencies import SyncDependencies


class Killed(Exception):
    """The process is gone."""


@dataclass
class Steps:
    """Counts requests to the registers and the database, and may die at one of them."""

    #: From 0; None for a sync that lives. The step itself is still done, and its answer is lost:
    #: that leaves the same as a death just before the next step.
    dies_at: int | None = None
    #: Called when a step is done, with what a death at it would leave.
    then: Callable[[], None] = lambda: None
    #: The method of each step.
    taken: list[str] = field(default_factory=list)

    @property
    def dead(self) -> bool:
        return self.dies_at is not None and len(self.taken) > self.dies_at

    def wrap(self, real: object) -> Any:
        return _Stepping(real, self)

    async def take(self, method: str, step: Callable[[], Any]) -> Any:
        if self.dead:
            raise Killed
        number = len(self.taken)
        self.taken.append(method)
        answer = await step()
        self.then()
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
            return await self._steps.take(name, lambda: attribute(*arguments, **named))

        return step


@dataclass(frozen=True)
class CrashingSync(SyncDependencies):
    """A sync with steps in front of the registers and of the stores that it writes to."""

    inner: SyncDependencies
    steps: Steps

    @classmethod
    def around(cls, wiring: SyncDependencies, steps: Steps) -> "CrashingSync":
        fields = {name: getattr(wiring, name) for name in SyncDependencies.__slots__}
        return cls(**fields, inner=wiring, steps=steps)

    def client_of(self, base: AnyHttpUrl, register: str, **headers: str) -> RegisterClient:
        client: RegisterClient = self.steps.wrap(self.inner.client_of(base, register, **headers))
        return client

    @property
    def read(self) -> ReadDocuments:
        return self.inner.read

    @property
    def keys(self) -> StoredKeys:
        return self.inner.keys

    @property
    def leases(self) -> Leases:
        leases: Leases = self.steps.wrap(self.inner.leases)
        return leases

    @property
    def writer(self) -> RegisterWriter:
        writer: RegisterWriter = self.steps.wrap(self.inner.writer)
        return writer

    @property
    def states(self) -> LoadStates:
        states: LoadStates = self.steps.wrap(self.inner.states)
        return states

    @property
    def cursors(self) -> Cursors:
        cursors: Cursors = self.steps.wrap(self.inner.cursors)
        return cursors
