"""The registers' interfaces, and a sync that follows them into the running system."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from local_stack.system import System
from register_samples.server import Registers, serving


@asynccontextmanager
async def followed(system: System, registers: Registers, *sources: str) -> AsyncIterator[None]:
    """Feeds changes of the registers into the system over HTTP, until the body ends."""
    async with serving(registers) as served:
        sync = system.start(
            "lookup",
            name="lookup-sync",
            command=("sync", *sources, "--follow"),
            brreg_url=str(served.brreg),
            cvr_url=str(served.cvr_permanent),
            cvr_user="sample",
            cvr_password="sample",
            cvr_allow_plaintext="true",
            peppol_url=str(served.url),
            peppol_interval="PT0.1S",
            peppol_max_downloads_per_day="100000",
            sync_interval="PT0.1S",
        )
        try:
            await asyncio.to_thread(sync.wait_until_ready)
            yield
        finally:
            await asyncio.to_thread(sync.process.stop)
