"""Processor time of very many clients that wait for the event feed."""

import asyncio
from collections.abc import Sequence

import aiohttp

from bench.figures import Figure, at_most
from bench.processes import Used
from bench.scale import Scale
from bench.setup import empty_system
from local_stack.system import Service

#: Maximum seconds that a request waits.
_WAIT = 30


def measure(scale: Scale) -> list[Figure]:
    """Yields the processor time of gateway and lookup service while clients wait."""
    with empty_system(max_event_readers=str(scale.waiting_clients)) as system:
        key = system.issue_key("bench")
        services = [system.start(module) for module in ("lookup", "gateway")]
        for service in services:
            service.wait_until_ready()
        url = f"{system.base_url}/api/events"
        return asyncio.run(_waiting(services, url, key, scale))


async def _waiting(services: Sequence[Service], url: str, key: str, scale: Scale) -> list[Figure]:
    _, gateway = services
    clients, figures = scale.waiting_clients, []
    idle = await _cores(services, scale.waiting_seconds)
    urls = {"requests": f"{url}?wait={_WAIT}&after=latest", "streams": f"{url}/stream"}
    for label, address in urls.items():
        async with aiohttp.ClientSession(
            headers={"X-API-Key": key},
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        ) as session:
            tasks = [asyncio.create_task(_read(session, address)) for _ in range(clients)]
            await _until_readers(gateway, clients)
            used = await _cores(services, scale.waiting_seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        # Until the service notices their end they count as readers, of which a key has a maximum.
        await _until_readers(gateway, 0)
        name = f"{clients:,} waiting {label}, processor time above none"
        figures.append(at_most(name, (used - idle) * 100, "% of a core", 5))
    return figures


async def _read(session: aiohttp.ClientSession, url: str) -> None:
    """Reads one answer after the other; a busy service may refuse some of many concurrent ones."""
    while True:
        try:
            async with session.get(url, raise_for_status=True) as response:
                async for _ in response.content:
                    pass
        except aiohttp.ClientError:
            await asyncio.sleep(1)


async def _until_readers(gateway: Service, count: int) -> None:
    """Returns when this many clients wait."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        while True:
            async with session.get(f"{gateway.admin_url}/metrics") as response:
                lines = (await response.text()).splitlines()
            if f"event_readers {count}.0" in lines:
                return
            await asyncio.sleep(0.2)


async def _cores(services: Sequence[Service], seconds: float) -> float:
    """Returns the cores that the services use together."""
    used = Used({str(each.admin_port): each.process.pid for each in services})
    await asyncio.sleep(seconds)
    return sum(used.cores().values())
