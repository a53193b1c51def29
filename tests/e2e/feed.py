"""The registers' interfaces, and a writer that follows them into the running system."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ingest.records.source import Part
from ingest.registers.table import sources
from local_stack.system import Service, System
from register_samples.server import Registers, Served, serving

#: Not those of annual accounts: their addresses here are not those of the imported samples, which
#: other tests show.
FOLLOWED = tuple(name for name, each in sources().items() if each.part is not Part.ACCOUNTS)


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
        brreg_accounts_url=str(served.norwegian_accounts),
        brreg_accounts_rate="1000",
        cvr_url=str(served.cvr_permanent),
        cvr_filings_url=str(served.filings),
        cvr_documents_url=str(served.documents),
        cvr_user="sample",
        cvr_password="sample",
        cvr_allow_plaintext="true",
        peppol_url=str(served.url),
        peppol_interval="PT0.1S",
        peppol_max_downloads_per_day="100000",
        sync_interval="PT0.1S",
        **settings,
    )
