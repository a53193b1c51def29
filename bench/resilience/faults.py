"""The faults, each as a function that returns when it is over."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench.resilience.cluster import SERVICES, Cluster, run

#: Seconds before a killed container is started again, of a partition, and of an alarm.
_DOWN, _PARTITION, _ALARM = 10, 30, 20
#: Of the Debian package libfaketime.
_FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"

#: The order of a release, as in Kubernetes (deploy/local/releases).
UPGRADED = ("dispatcher", "lookup", "webhook-registry", "gateway")
_INDEXED = ("gateway", "lookup", "webhook-registry")

#: Selects a container, and harms one.
Target = Callable[[Cluster], Awaitable[str]]
Harm = Callable[[Cluster, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    act: Callable[[Cluster], Awaitable[None]]


def _fault(name: str, target: Target, harm: Harm) -> Fault:
    async def act(cluster: Cluster) -> None:
        await harm(cluster, await target(cluster))

    return Fault(name, act)


def _of_service(service: str, name: str, harm: Harm) -> Fault:
    async def target(cluster: Cluster) -> str:
        return (await cluster.containers(service))[0]

    return _fault(f"one {service} {name}", target, harm)


def _of_rabbitmq(rank: int, name: str, harm: Harm) -> Fault:
    """Nodes rank by the number of queues that they lead."""

    async def target(cluster: Cluster) -> str:
        return (await cluster.rabbitmq_nodes())[rank]

    return _fault(f"RabbitMQ {f'follower {rank}' if rank else 'leader'} {name}", target, harm)


def _of_mongodb(rank: int, name: str, harm: Harm) -> Fault:
    async def target(cluster: Cluster) -> str:
        return (await cluster.mongodb_members())[rank]

    return _fault(f"MongoDB {f'follower {rank}' if rank else 'primary'} {name}", target, harm)


async def _freeze(_cluster: Cluster, container: str) -> None:
    """Suspends its processes; connections stay, and nothing answers."""
    await run("docker", "pause", container)
    try:
        await asyncio.sleep(_PARTITION)
    finally:
        await run("docker", "unpause", container)


async def _maintain(_cluster: Cluster, container: str) -> None:
    """Puts a RabbitMQ node into maintenance mode, in which it has no clients."""
    await run("docker", "exec", container, "rabbitmq-upgrade", "drain")
    try:
        await asyncio.sleep(_PARTITION)
    finally:
        await run("docker", "exec", container, "rabbitmq-upgrade", "revive")


async def _kill(cluster: Cluster, container: str) -> None:
    await cluster.kill(container)
    try:
        await asyncio.sleep(_DOWN)
    finally:
        await cluster.start(container)


def _cut_off_from(network: str) -> Harm:
    async def harm(cluster: Cluster, container: str) -> None:
        cut = await cluster.network(container, network)
        await cluster.disconnect(container, cut)
        try:
            await asyncio.sleep(_PARTITION)
        finally:
            await cluster.connect(container, cut)

    return harm


def _alarm(command: str, alarming: str, usual: str) -> Harm:
    async def harm(_cluster: Cluster, container: str) -> None:
        control = ("docker", "exec", container, "rabbitmqctl", command)
        await run(*control, alarming)
        try:
            await asyncio.sleep(_ALARM)
        finally:
            await run(*control, usual)

    return harm


async def _none(_cluster: Cluster) -> None:
    await asyncio.sleep(_DOWN)


async def _rolling_restart(cluster: Cluster) -> None:
    for service in SERVICES:
        for container in await cluster.containers(service):
            await cluster.restart(container)
            await cluster.until_healthy()


async def upgrade(cluster: Cluster) -> None:
    """Upgrades from the running release to the working tree, indexes first."""
    cluster.release = None
    for service in _INDEXED:
        await cluster.compose("run", "--rm", "--no-deps", f"{service}-indexes")
    for service in UPGRADED:
        await cluster.replace(service)


async def _wrong_clock(cluster: Cluster, container: str) -> None:
    """Replaces a dispatcher by one with a wrong clock."""
    await cluster.stop(container)
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
        await cluster.start(container)


_NONE = Fault("none", _none)
_NO_MEMORY = _alarm("set_vm_memory_high_watermark", "0.000001", "0.6")
_NO_DISK = _alarm("set_disk_free_limit", "100000GB", "50MB")
_FROZEN = f"suspended, {_PARTITION} s"
_CUT_OFF = f"cut off, {_PARTITION} s"
QUICK = (
    _NONE,
    _of_service("lookup", "killed", _kill),
    _of_service("dispatcher", "killed", _kill),
    _of_rabbitmq(0, "killed", _kill),
    _of_mongodb(0, "killed", _kill),
)
ALL = (
    _NONE,
    *(_of_service(service, "killed", _kill) for service in SERVICES),
    *(_of_rabbitmq(rank, "killed", _kill) for rank in range(3)),
    _of_rabbitmq(0, "restarted", Cluster.restart),
    _of_rabbitmq(0, f"in maintenance mode, {_PARTITION} s", _maintain),
    *(_of_service(service, _FROZEN, _freeze) for service in ("gateway", "lookup")),
    _of_rabbitmq(0, _FROZEN, _freeze),
    _of_mongodb(0, _FROZEN, _freeze),
    *(_of_mongodb(rank, "killed", _kill) for rank in range(3)),
    _of_mongodb(0, "restarted", Cluster.restart),
    *(_of_rabbitmq(rank, _CUT_OFF, _cut_off_from("broker")) for rank in range(3)),
    *(_of_mongodb(rank, _CUT_OFF, _cut_off_from("database")) for rank in range(3)),
    *(
        _of_service(service, f"cut off from the {network}, {_PARTITION} s", _cut_off_from(network))
        for service in ("gateway", "lookup", "dispatcher")
        for network in ("broker", "database")
    ),
    Fault("rolling restart of every service", _rolling_restart),
    _of_rabbitmq(0, f"short of memory, {_ALARM} s", _NO_MEMORY),
    _of_rabbitmq(0, f"short of disk, {_ALARM} s", _NO_DISK),
    *(
        [_of_service("dispatcher", "with its clock 5 minutes fast", _wrong_clock)]
        if Path(_FAKETIME).exists()
        else []
    ),
)
