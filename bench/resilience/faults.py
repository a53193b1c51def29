"""The faults, each as a function that returns when it is over."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.resilience.cluster import SERVICES, Cluster, run

#: Seconds before a killed container is started again.
_AWAY = 10
#: Seconds of a partition.
_PARTITION = 30
#: Of the Debian package libfaketime.
_FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
#: Seconds of an alarm.
_ALARM = 20


#: A fault of one container.
Harm = Callable[[Cluster, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    act: Callable[[Cluster], Awaitable[None]]


async def none(_cluster: Cluster) -> None:
    await asyncio.sleep(_AWAY)


def killed(service: str) -> Fault:
    async def act(cluster: Cluster) -> None:
        await _kill(cluster, (await cluster.containers(service))[0])

    return Fault(f"one {service} killed", act)


async def _rolling_restart(cluster: Cluster) -> None:
    for service in SERVICES:
        for container in await cluster.containers(service):
            await cluster.restart(container)
            await cluster.until_whole()


async def upgrade(cluster: Cluster) -> None:
    """Upgrades from the running release to the working tree, indexes first."""
    cluster.release = None
    for service in SERVICES:
        if service != "dispatcher":
            await cluster.compose("run", "--rm", "--no-deps", f"{service}-indexes")
        await cluster.replace(service)


def cut_off(service: str, network: Literal["broker", "database"]) -> Fault:
    async def act(cluster: Cluster) -> None:
        await _part(cluster, (await cluster.containers(service))[0], network)

    return Fault(f"one {service} cut off from the {network}, {_PARTITION} s", act)


def rabbitmq(number: int, name: str, harm: Harm) -> Fault:
    """`number` counts the nodes by the queues that they lead."""

    async def act(cluster: Cluster) -> None:
        await harm(cluster, (await cluster.rabbitmq_nodes())[number])

    return Fault(f"RabbitMQ {_rank(number, 'leader')} {name}", act)


def mongodb(number: int, name: str, harm: Harm) -> Fault:
    async def act(cluster: Cluster) -> None:
        await harm(cluster, (await cluster.mongodb_members())[number])

    return Fault(f"MongoDB {_rank(number, 'primary')} {name}", act)


def _rank(number: int, first: str) -> str:
    return first if number == 0 else f"follower {number}"


async def _kill(cluster: Cluster, container: str) -> None:
    await cluster.kill(container)
    try:
        await asyncio.sleep(_AWAY)
    finally:
        await cluster.start(container)


async def _part(cluster: Cluster, container: str, network: str) -> None:
    cut = await cluster.network(container, network)
    await cluster.disconnect(container, cut)
    try:
        await asyncio.sleep(_PARTITION)
    finally:
        await cluster.connect(container, cut)


async def _part_from_broker(cluster: Cluster, container: str) -> None:
    await _part(cluster, container, "broker")


async def _part_from_database(cluster: Cluster, container: str) -> None:
    await _part(cluster, container, "database")


def _alarm(command: str, alarming: str, usual: str) -> Harm:
    async def harm(_cluster: Cluster, container: str) -> None:
        control = ("docker", "exec", container, "rabbitmqctl", command)
        await run(*control, alarming)
        try:
            await asyncio.sleep(_ALARM)
        finally:
            await run(*control, usual)

    return harm


async def _restart(cluster: Cluster, container: str) -> None:
    await cluster.restart(container)


async def _wrong_clock(cluster: Cluster) -> None:
    """Replaces a dispatcher by one with a wrong clock."""
    [replaced, *_] = await cluster.containers("dispatcher")
    await cluster.stop(replaced)
    variables = {"LD_PRELOAD": "/faketime.so", "FAKETIME": "+300s", "DONT_FAKE_MONOTONIC": "1"}
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    options = ("--detach", "--no-deps", f"--volume={_FAKETIME}:/faketime.so:ro", *given)
    try:
        wrong = (await cluster.compose("run", *options, "dispatcher")).splitlines()[-1]
        try:
            await asyncio.sleep(_PARTITION)
            await run("docker", "stop", "--time=45", wrong)
        finally:
            await run("docker", "rm", "--force", "--volumes", wrong)
    finally:
        await cluster.start(replaced)


QUICK = (
    Fault("none", none),
    killed("lookup"),
    killed("dispatcher"),
    rabbitmq(0, "killed", _kill),
    mongodb(0, "killed", _kill),
)
ALL = (
    Fault("none", none),
    *map(killed, SERVICES),
    *(rabbitmq(number, "killed", _kill) for number in range(3)),
    rabbitmq(0, "restarted", _restart),
    *(mongodb(number, "killed", _kill) for number in range(3)),
    mongodb(0, "restarted", _restart),
    *(rabbitmq(number, f"cut off, {_PARTITION} s", _part_from_broker) for number in range(3)),
    *(mongodb(number, f"cut off, {_PARTITION} s", _part_from_database) for number in range(3)),
    cut_off("lookup", "broker"),
    cut_off("lookup", "database"),
    cut_off("dispatcher", "broker"),
    cut_off("dispatcher", "database"),
    Fault("rolling restart of every service", _rolling_restart),
    rabbitmq(
        0, f"short of memory, {_ALARM} s", _alarm("set_vm_memory_high_watermark", "0.000001", "0.6")
    ),
    rabbitmq(0, f"short of disk, {_ALARM} s", _alarm("set_disk_free_limit", "100000GB", "50MB")),
    *([Fault("a dispatcher's clock 5 minutes fast", _wrong_clock)] * Path(_FAKETIME).exists()),
)
