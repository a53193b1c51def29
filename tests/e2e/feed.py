"""The registers' interfaces, and a writer that follows them into the running system."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from local_stack.system import Service, System
from register_samples.server import Registers, Served, serving


@asynccontextmanager
async def followed(system: System, registers: Registers, *sources: str) -> AsyncIterator[None]:
    """Feeds changes of the registers into the system over HTTP, until the body ends."""
    async with serving(registers) as served:
        sync = started(system, served, "serve", *sources)
        try:
            await asyncio.to_thread(sync.wait_until_ready)
            yield
        finally:
            await asyncio.to_thread(sync.process.stop)


def started(system: System, served: Served, *arguments: str, **settings: str) -> Service:
    """Starts a command of the writer with the interfaces."""
    return system.start(
        "ingest",
        name="follower",
        command=arguments,
        brreg_url=str(served.brreg),
        cvr_url=str(served.cvr_permanent),
        cvr_user="sample",
        cvr_password="sample",
        cvr_allow_plaintext="true",
        peppol_url=str(served.url),
        peppol_interval="PT0.1S",
        peppol_max_downloads_per_day="100000",
        sync_interval="PT0.1S",
        **settings,
    )
