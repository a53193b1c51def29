"""The harm that a fault does to a container or a zone; each function returns when it is over."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.resilience.cluster import SERVICES, Cluster, Failed, run
from bench.resilience.slow_network import QUEUE

#: Seconds before a killed container is started again, of a partition, of an alarm and of a wrong
#: clock.
DOWN, PARTITION, SHORT, CLOCK = 10, 30, 20, 15
#: Of the Debian package libfaketime.
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
#: Settings of a node with an alarm, and without.
MEMORY, DISK = ("0.000001", "0.6"), ("100000GB", "50MB")

Harm = Callable[[Cluster, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    act: Callable[[Cluster], Awaitable[None]]
    #: Seconds that the slowest answer may take.
    slowest: float
    #: True where nothing can be published: after a second, a lookup may be an immediate 503.
    may_refuse: bool = False
    #: True where lookups fail, each with a problem document within `slowest`.
    may_fail: bool = False


async def nothing(_cluster: Cluster) -> None:
    """Harms nothing, for as long as a killed container is away."""
    await asyncio.sleep(DOWN)


async def kill(cluster: Cluster, container: str) -> None:
    """Kills it with SIGKILL, and starts it again."""
    await cluster.kill(container)
    try:
        await asyncio.sleep(DOWN)
    finally:
        await cluster.start(container)


def freeze(seconds: float = PARTITION) -> Harm:
    """Suspends its processes; connections stay, and nothing answers."""

    async def harm(_cluster: Cluster, container: str) -> None:
        await run("docker", "pause", container)
        try:
            await asyncio.sleep(seconds)
        finally:
            await run("docker", "unpause", container)

    return harm


def freeze_all(service: str, seconds: float = SHORT) -> Callable[[Cluster], Awaitable[None]]:
    """Suspends every container of a service."""

    async def act(cluster: Cluster) -> None:
        containers = await cluster.containers(service)
        await asyncio.gather(*(freeze(seconds)(cluster, each) for each in containers))

    return act


async def stop_database(cluster: Cluster) -> None:
    """Suspends every member of MongoDB."""
    members = await cluster.mongodb_members()
    await asyncio.gather(*(freeze(SHORT)(cluster, each) for each in members))


async def occupy_processors(_cluster: Cluster) -> None:
    """Runs two endless loops for each processor of the machine."""
    loops = [
        await asyncio.create_subprocess_exec("sh", "-c", "while :; do :; done")
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        await asyncio.sleep(SHORT)
    finally:
        for loop in loops:
            loop.kill()
            await loop.wait()


def cut_off_from(network: str, seconds: float = PARTITION) -> Harm:
    """Takes it out of a network; its connections stay, and no packet arrives."""

    async def harm(cluster: Cluster, container: str) -> None:
        cut = await cluster.network(container, network)
        await cluster.disconnect(container, cut)
        try:
            await asyncio.sleep(seconds)
        finally:
            await cluster.connect(container, cut)

    return harm


async def maintain(_cluster: Cluster, container: str) -> None:
    """Puts a RabbitMQ node into maintenance mode, in which it has no clients."""
    await run("docker", "exec", container, "rabbitmq-upgrade", "drain")
    try:
        await asyncio.sleep(PARTITION)
    finally:
        await run("docker", "exec", container, "rabbitmq-upgrade", "revive")


async def step_down(cluster: Cluster, container: str) -> None:
    """Makes the primary of MongoDB step down, as for maintenance."""
    await cluster.step_down(container)
    await asyncio.sleep(DOWN)


def alarm(command: str, alarming: str, usual: str) -> Harm:
    """Gives a RabbitMQ node a limit that it exceeds."""

    async def harm(cluster: Cluster, container: str) -> None:
        control = ("docker", "exec", container, "rabbitmqctl", command)
        await run(*control, alarming)
        try:
            await asyncio.sleep(SHORT)
            if not await cluster.has_alarm():
                raise Failed("no node of RabbitMQ has an alarm")
        finally:
            await run(*control, usual)

    return harm


async def rolling_restart(cluster: Cluster) -> None:
    """Restarts every service, one container after the other."""
    for service in SERVICES:
        for container in await cluster.containers(service):
            await cluster.restart(container)
            await cluster.until_healthy()


def wrong_clock(service: str) -> Harm:
    """Replaces a container of a service by one with a wrong clock."""

    async def harm(cluster: Cluster, container: str) -> None:
        await cluster.stop(container)
        variables = {"LD_PRELOAD": "/faketime.so", "FAKETIME": "+300s", "DONT_FAKE_MONOTONIC": "1"}
        given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        options = ("--detach", "--no-deps", "--use-aliases", f"--volume={FAKETIME}:/faketime.so:ro")
        try:
            wrong = (await cluster.compose("run", *options, *given, service)).splitlines()[-1]
            try:
                await asyncio.sleep(CLOCK)
                await cluster.stop(wrong)
            finally:
                await run("docker", "rm", "--force", "--volumes", wrong)
        finally:
            await cluster.start(container)

    return harm


_DELAY, _LOST = 0.2, 0.02
_SLOW_NETWORK = Path(__file__).with_name("slow_network.py")
_PYTHON = Path(__file__).parents[2] / ".tools" / "bin" / "python"
#: Seconds for the program to listen, which an interpreter may take to start at high load.
_START = 60.0


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
