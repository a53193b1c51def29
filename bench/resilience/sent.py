"""The events that a container of the cluster puts into the outbox."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from bench.resilience.cluster import PROJECT, run
from common.runtime.tasks import beside

_IMAGE = f"company-registry/lookup:{version('lookup')}"
_SOURCE = Path(__file__).with_name("source.py")
_MONGO_URL = "mongodb://mongodb-1:27017,mongodb-2:27017,mongodb-3:27017/?replicaSet=rs0"
_NAME = f"{PROJECT}_events"
#: Seconds for the first event.
_FIRST = 60.0


@dataclass
class Sent:
    """Ids of events in the order in which the database had them, with the time of each."""

    events: list[str] = field(default_factory=list)
    at: dict[str, float] = field(default_factory=dict)
    _first: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, lines: asyncio.StreamReader) -> None:
        async for line in lines:
            event = line.decode().strip()
            self.events.append(event)
            self.at[event] = time.monotonic()
            self._first.set()
        raise RuntimeError("the events ended")

    async def until_first(self) -> None:
        async with asyncio.timeout(_FIRST):
            await self._first.wait()


@asynccontextmanager
async def sending(rate: float) -> AsyncIterator[Sent]:
    """`rate` events a second during the body."""
    container = ("--rm", f"--name={_NAME}", f"--network={PROJECT}_database")
    options = (f"--env=MONGO_URL={_MONGO_URL}", f"--volume={_SOURCE}:/source.py:ro")
    command = ("--entrypoint=python", _IMAGE, "/source.py", str(rate))
    process = await asyncio.create_subprocess_exec(
        "docker", "run", *container, *options, *command, stdout=asyncio.subprocess.PIPE
    )
    lines = process.stdout
    assert lines is not None
    sent = Sent()
    try:
        async with beside(sent.read(lines)):
            yield sent
    finally:
        await run("docker", "rm", "--force", _NAME)
        await process.wait()
