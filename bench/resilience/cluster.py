"""The cluster of deploy/compose/cluster.yaml: its containers, killed, stopped and partitioned."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp

from local_stack.mongodb import answers, command

PROJECT = "company-registry-cluster"
COMPOSE = Path(__file__).resolve().parents[2] / "deploy" / "compose" / "compose"
#: Operational ports of the services.
SERVICES = {
    "gateway": 9101,
    "lookup": 9102,
    "webhook-registry": 9103,
    "dispatcher": 9104,
    "ingest": 9105,
}
#: Seconds for any one command; a service takes at most 90 to stop.
_TIMEOUT = 120.0
#: Seconds for Compose, which may wait until databases have their indexes.
_START = 420.0
#: Seconds for which a member that stepped down is not elected again.
_STEPPED_DOWN = 20
#: Seconds for everything to run again, as long as a start takes at high load, and for one request.
_HEALTHY, _RESPONSE = _START, 5.0


class Failed(Exception):
    """A command of Docker failed, or a state was not reached in time."""


async def run(
    *command: str, environment: Mapping[str, str] | None = None, timeout: float = _TIMEOUT
) -> str:
    """The standard output of a command, which ends within `timeout` seconds; raises Failed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **(environment or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise Failed(f"{' '.join(command)}: no end after {timeout:.0f} s") from None
    if process.returncode != 0:
        raise Failed(f"{' '.join(command)}: {err.decode().strip()[-500:]}")
    return out.decode().strip()


@dataclass(frozen=True)
class Network:
    """A container's place in one network."""

    name: str
    aliases: Sequence[str]
    address: str
    gateway: str


@dataclass
class Cluster:
    """The containers of one project."""

    #: HTTP_PORT, CERTIFICATES and settings without a value in the file.
    environment: Mapping[str, str]
    #: The version of our images; None is the one of the file.
    release: str | None = None

    async def compose(self, *words: str) -> str:
        given = {
            **self.environment,
            **({"RELEASE": self.release} if self.release else {}),
            "COMPOSE_FILE": "cluster.yaml",
            "COMPOSE_PROJECT_NAME": PROJECT,
        }
        return await run(str(COMPOSE), *words, environment=given, timeout=_START)

    async def containers(self, service: str) -> list[str]:
        """The names of a service's containers, stopped ones included."""
        labels = [f"project={PROJECT}", f"service={service}", "oneoff=False"]
        filters = [f"--filter=label=com.docker.compose.{label}" for label in labels]
        return sorted((await run("docker", "ps", "--all", *filters, "--format={{.Names}}")).split())

    async def kill(self, container: str) -> None:
        await run("docker", "kill", "--signal=KILL", container)

    async def start(self, container: str) -> None:
        await run("docker", "start", container)

    async def stop(self, container: str) -> None:
        """Stops it with SIGTERM."""
        await run("docker", "stop", "--time=90", container)

    async def restart(self, container: str) -> None:
        """Stops it with SIGTERM and starts it, as a rollout does."""
        await run("docker", "restart", "--time=90", container)

    async def process(self, container: str) -> int:
        """The id of its first process, as this machine counts them; 0 if it does not run."""
        return int(await run("docker", "inspect", "--format={{.State.Pid}}", container))

    async def step_down(self, container: str) -> None:
        """Makes a primary of MongoDB give way to another member."""
        host = await self._mongodb_host(container)
        waits = {"secondaryCatchUpPeriodSecs": 5}
        await asyncio.to_thread(command, host, "replSetStepDown", _STEPPED_DOWN, **waits)

    async def replace(self, service: str) -> None:
        """Replaces its containers one by one by containers of the version `release`.

        Each new one is started before the old one stops.
        """
        replaced = await self.containers(service)
        scale = f"--scale={service}={len(replaced) + 1}"
        for old in replaced:
            await self.compose("up", "--detach", "--no-deps", "--no-recreate", scale, service)
            await self.until_healthy()
            await self.stop(old)
            await run("docker", "rm", "--volumes", old)

    async def networks(self, container: str) -> list[Network]:
        found = json.loads(
            await run("docker", "inspect", "--format={{json .NetworkSettings.Networks}}", container)
        )
        return [
            Network(name, each["Aliases"] or (), each["IPAddress"], each["Gateway"])
            for name, each in found.items()
        ]

    async def network(self, container: str, suffix: str) -> Network:
        """The network of a container with this name in the file."""
        for network in await self.networks(container):
            if network.name == f"{PROJECT}_{suffix}":
                return network
        raise Failed(f"{container} is not in the network {suffix}")

    async def disconnect(self, container: str, network: Network) -> None:
        """Drops all traffic without closing connections."""
        await run("docker", "network", "disconnect", network.name, container)

    async def connect(self, container: str, network: Network) -> None:
        aliases = [f"--alias={alias}" for alias in network.aliases]
        await run("docker", "network", "connect", *aliases, network.name, container)

    async def until_healthy(self) -> None:
        """Waits for every RabbitMQ node, MongoDB member and service; raises Failed."""
        missing = ["everything"]
        try:
            async with asyncio.timeout(_HEALTHY):
                while missing := await self._missing():  # noqa: ASYNC110 (polled)
                    await asyncio.sleep(1)
        except TimeoutError:
            raise Failed(f"not back within {_HEALTHY:.0f} s: {', '.join(missing)}") from None

    async def _missing(self) -> list[str]:
        """Nodes and members that the others do not see, and services that are not ready."""
        nodes = [node for node in await self._read_management_api("nodes") if node["running"]]
        missing = ["a RabbitMQ node"] if len(nodes) < 3 else []
        if not await self._has_every_member():
            missing.append("a MongoDB member")
        for service, port in SERVICES.items():
            for container in await self.containers(service):
                if await self._get(container, f":{port}/readyz") is None:
                    missing.append(container)
        return missing

    async def _get(self, container: str, path: str, auth: aiohttp.BasicAuth | None = None) -> Any:
        """The body of a response with status 200, or None."""
        addresses = [each.address for each in await self.networks(container) if each.address]
        if not addresses:
            return None
        timeout = aiohttp.ClientTimeout(total=_RESPONSE)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, auth=auth) as session,
                session.get(f"http://{addresses[0]}{path}") as response,
            ):
                return await response.read() if response.status == 200 else None
        except (aiohttp.ClientError, TimeoutError):
            return None

    async def _read_management_api(self, what: Literal["nodes", "queues", "overview"]) -> Any:
        """The response of the first reachable node; empty if there is none."""
        trial = aiohttp.BasicAuth("trial", "trial")
        for container in await self._of_three("rabbitmq"):
            body = await self._get(container, f":15672/api/{what}", trial)
            if body is not None:
                return json.loads(body)
        return []

    async def _of_three(self, name: str) -> list[str]:
        return [(await self.containers(f"{name}-{number}"))[0] for number in (1, 2, 3)]

    async def rabbitmq_nodes(self) -> list[str]:
        """The containers of the nodes, the leaders of the most queues first."""
        led = [
            queue.get("leader") or queue["node"]
            for queue in await self._read_management_api("queues")
        ]
        counts = [led.count(f"rabbit@rabbitmq-{number}") for number in (1, 2, 3)]
        ranked = sorted(zip(counts, await self._of_three("rabbitmq"), strict=True), reverse=True)
        return [container for _, container in ranked]

    async def has_alarm(self) -> bool:
        """True if a node of RabbitMQ is short of memory or disk."""
        nodes = await self._read_management_api("nodes")
        return any(node["mem_alarm"] or node["disk_free_alarm"] for node in nodes)

    async def mongodb_members(self) -> list[str]:
        """The containers of the members, the primary first."""
        names = await self._of_three("mongodb")
        primary = {name: (await self._hello(name)).get("isWritablePrimary") for name in names}
        return sorted(names, key=lambda name: not primary[name])

    async def _has_every_member(self) -> bool:
        """True if every member is up and one of them is the primary."""
        states = [await self._hello(name) for name in await self._of_three("mongodb")]
        primaries = sum(state.get("isWritablePrimary", False) for state in states)
        return (primaries, sum(state.get("secondary", False) for state in states)) == (1, 2)

    async def _hello(self, container: str) -> Mapping[str, Any]:
        """How a member describes itself; empty if it does not answer."""
        host = await self._mongodb_host(container)
        if not await asyncio.to_thread(answers, host):
            return {}
        return await asyncio.to_thread(command, host, "hello")

    async def _mongodb_host(self, container: str) -> str:
        return f"{(await self.network(container, 'database')).address}:27017"

    async def versions(self) -> str:
        """The versions of RabbitMQ and MongoDB."""
        overview = await self._read_management_api("overview")
        [first, *_] = await self._of_three("mongodb")
        built = await asyncio.to_thread(command, await self._mongodb_host(first), "buildInfo")
        return f"RabbitMQ {overview['rabbitmq_version']} and MongoDB {built['version']}"
