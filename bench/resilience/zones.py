"""A cluster in two zones, with a slow and lossy network between them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bench.resilience.cluster import SERVICES, Cluster, run
from bench.resilience.harms import PARTITION
from bench.resilience.slow_network import QUEUE

_DELAY, _LOST = 0.2, 0.02
_SLOW_NETWORK = Path(__file__).with_name("slow_network.py")
_PYTHON = Path(__file__).parents[2] / ".tools" / "bin" / "python"
#: Seconds for the program to listen.
_START = 10.0


async def slow_zone(cluster: Cluster) -> None:
    """Puts one of two of each service, and one of three of each server, into a zone far away.

    The servers are those that most depends on: MongoDB's primary, and the node of RabbitMQ that
    leads the most queues. Each packet that leaves the zone takes 200 ms, and 2 % of them are lost,
    as with `tc netem`.
    """
    services = [(await cluster.containers(service))[-1] for service in SERVICES]
    zone = [*services, (await cluster.rabbitmq_nodes())[0], (await cluster.mongodb_members())[0]]
    inside = {each.address for member in zone for each in await cluster.networks(member)} - {""}
    async with AsyncExitStack() as stack:
        for member in zone:
            await stack.enter_async_context(_slow(await cluster.process(member), inside))
        await asyncio.sleep(PARTITION)


@asynccontextmanager
async def _slow(process: int, near: set[str]) -> AsyncIterator[None]:
    """Delays and loses what the network namespace of a process sends to addresses not near it."""
    within = ("nsenter", f"--net=/proc/{process}/ns/net")
    table = (*within, "iptables", "-t", "mangle")
    program = await asyncio.create_subprocess_exec(
        *within,
        *(str(_PYTHON), str(_SLOW_NETWORK), str(_DELAY), str(_LOST), str(process)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert program.stdout is not None
        async with asyncio.timeout(_START):
            await program.stdout.readline()
        for address in near:
            await run(*table, "-A", "OUTPUT", "-d", address, "-j", "ACCEPT")
        queue = ("--queue-num", str(QUEUE), "--queue-bypass")
        await run(*table, "-A", "OUTPUT", "-o", "eth+", "-j", "NFQUEUE", *queue)
        yield
    finally:
        await run(*table, "-F", "OUTPUT")
        program.terminate()
        await program.wait()
