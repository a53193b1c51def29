"""The effects of faults on containers; each function returns when its effect is over."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench.resilience.cluster import SERVICES, Cluster, Failed, run

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
