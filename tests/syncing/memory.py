"""The real sync between registers over HTTP and stores in memory."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from random import Random
from typing import Any, TypeVar, cast

from common.mongo import Client, Database
from common.runtime.backoff import delays
from lookup.ingest.apply import RegisterWriter
from lookup.ingest.http_client import RetryPolicy, sessions
from lookup.ingest.load_states import LoadStates
from lookup.ingest.processes import reading_processes
from lookup.ingest.read import ReadDocuments
from lookup.ingest.sources import Cursors, Leases, StoredKeys
from lookup.ingest.sync_dependencies import SyncDependencies
from register_samples.server import Registers, serving
from tests.fakes.ingest import (
    FakeCursors,
    FakeDigests,
    FakeKeys,
    FakeLeases,
    FakeLoadStates,
    FakeRegisterWriter,
)
from tests.syncing.world import Clock, Synchronised, sync_settings

F = TypeVar("F", FakeRegisterWriter, FakeLoadStates, FakeCursors)


@dataclass
class MemoryStores:
    writer: FakeRegisterWriter = field(default_factory=FakeRegisterWriter)
    states: FakeLoadStates = field(default_factory=FakeLoadStates)
    cursors: FakeCursors = field(default_factory=FakeCursors)
    #: Holder and end of each lease.
    leases: dict[str, tuple[str, datetime]] = field(default_factory=dict)

    def snapshot(self) -> "MemoryStores":
        """A copy that later writes do not change."""
        return MemoryStores(
            _copied(self.writer), _copied(self.states), _copied(self.cursors), dict(self.leases)
        )


def _copied(fake: F) -> F:
    """A copy of a fake, whose collections hold immutable values."""
    return replace(fake, **{one.name: copy(getattr(fake, one.name)) for one in fields(fake)})


@dataclass(frozen=True)
class MemorySync(SyncDependencies):
    """The real sync, with a fake for each store."""

    stores: MemoryStores

    @property
    def read(self) -> ReadDocuments:
        return ReadDocuments(FakeDigests(self.stores.writer), self.reader)

    @property
    def keys(self) -> StoredKeys:
        return FakeKeys(self.stores.writer)

    @property
    def leases(self) -> Leases:
        return FakeLeases(self.holder, self.now, self.stores.leases)

    @property
    def writer(self) -> RegisterWriter:
        return self.stores.writer

    @property
    def states(self) -> LoadStates:
        return self.stores.states

    @property
    def cursors(self) -> Cursors:
        return self.stores.cursors


@dataclass
class MemoryWorld(Synchronised):
    wiring: MemorySync

    @property
    def stores(self) -> MemoryStores:
        return self.wiring.stores

    def on(self, stores: MemoryStores) -> "MemoryWorld":
        """The same registers with other stores, as a process that was started again."""
        return replace(self, wiring=replace(self.wiring, stores=stores))


@asynccontextmanager
async def a_world_in_memory(
    *, companies: int, downloads_a_day: int, **settings: Any
) -> AsyncIterator[MemoryWorld]:
    clock = Clock()
    registers = Registers(companies=companies, now=clock)
    random = Random(1)
    async with AsyncExitStack() as stack:
        exchange = serving(registers, downloads_a_day=downloads_a_day)
        served = await stack.enter_async_context(exchange)
        sync, kinds = sync_settings("mongodb://unused/", "unused", served, **settings)
        waits = partial(delays, random, first=0.001, max_delay=0.01)
        policy = RetryPolicy(
            sync.register_user_agent, waits, sync.register_timeout, sync.register_max_attempts
        )
        yield MemoryWorld(
            served,
            MemorySync(
                settings=sync,
                registers=kinds,
                # Each store that would use the database is replaced.
                client=cast(Client, None),
                register=cast(Database, None),
                session=await stack.enter_async_context(sessions(policy)),
                reader=await stack.enter_async_context(reading_processes()),
                retry_policy=policy,
                random=random,
                holder="test",
                now=clock,
                stores=MemoryStores(),
            ),
            clock,
        )
